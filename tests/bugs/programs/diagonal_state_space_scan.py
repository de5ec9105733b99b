import torch
from torch import nn


class DiagonalSSM(nn.Module):
    def __init__(self, d_model, n_state):
        super().__init__()
        a = torch.arange(1, n_state + 1).float()
        self.log_a = nn.Parameter(a.log().repeat(d_model, 1))
        self.b = nn.Parameter(torch.randn(d_model, n_state) / n_state)
        self.c = nn.Parameter(torch.randn(d_model, n_state))
        self.log_dt = nn.Parameter(torch.full((d_model,), -3.0))
        self.skip = nn.Parameter(torch.ones(d_model))

    def discrete(self):
        dt = self.log_dt.exp()[:, None]
        decay = torch.exp(-dt * self.log_a.exp())
        return decay, self.b * dt

    def kernel(self, length):
        decay, b = self.discrete()
        powers = decay[..., None] ** torch.arange(length, device=decay.device)
        return torch.einsum("dn,dn,dnl->dl", self.c, b, powers)

    def forward(self, u):
        k = self.kernel(u.size(1))
        n = 2 * u.size(1)
        y = torch.fft.irfft(torch.fft.rfft(u, n, 1) * torch.fft.rfft(k, n).mT, n, 1)
        return y[:, : u.size(1)] + u * self.skip

    def recurrent(self, u):
        decay, b = self.discrete()
        h = u.new_zeros(len(u), *decay.shape)
        out = []
        for x in u.unbind(1):
            h = decay * h + b * x[..., None]
            out.append((h * self.c).sum(-1))
        return torch.stack(out, 1) + u * self.skip


class Model(nn.Module):
    def __init__(self, d_model=6, n_state=4):
        super().__init__()
        self.ssm = DiagonalSSM(d_model, n_state)
        self.gate = nn.Linear(d_model, 2 * d_model)

    def forward(self, u):
        y, z = self.ssm(u), self.ssm.recurrent(u)
        a, g = self.gate(y).chunk(2, -1)
        return a * g.sigmoid(), (y - z).abs().amax((1, 2))


def example_inputs():
    return (torch.randn(3, 21, 6),)
