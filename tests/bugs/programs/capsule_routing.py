import torch
import torch.nn as nn
import torch.nn.functional as F


def squash(s, dim=-1):
    n2 = s.pow(2).sum(dim=dim, keepdim=True)
    return n2 / (1 + n2) * s / (n2 + 1e-8).sqrt()


class DigitCaps(nn.Module):
    def __init__(self, n_in, d_in, n_out=10, d_out=8, n_iter=3):
        super().__init__()
        self.n_iter = n_iter
        self.W = nn.Parameter(0.05 * torch.randn(1, n_out, n_in, d_out, d_in))

    def forward(self, u):
        # u (B, n_in, d_in) -> (B, 1, n_in, d_in, 1)
        u = u.unsqueeze(1).unsqueeze(4)
        u_hat = torch.matmul(self.W, u).squeeze(4)
        frozen = u_hat.detach()
        b = torch.zeros(*frozen.shape[:3], 1, device=u.device)
        for _ in range(self.n_iter - 1):
            c = b.softmax(dim=1)
            v = squash((c * frozen).sum(dim=2))
            b = b + torch.matmul(frozen, v.unsqueeze(-1))
        c = b.softmax(dim=1)
        return squash((c * u_hat).sum(dim=2))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 9)
        self.primary = nn.Conv2d(16, 32, 9, stride=2)
        self.digits = DigitCaps(n_in=8 * 36, d_in=4)

    def forward(self, x):
        x = F.relu(self.conv(x))
        x = self.primary(x)
        u = x.view(x.size(0), 4, -1).transpose(1, 2)
        caps = self.digits(squash(u))
        return caps.norm(dim=-1), caps


def example_inputs():
    return (torch.rand(3, 1, 28, 28),)
