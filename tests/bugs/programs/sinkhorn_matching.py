import torch
from torch import nn


def log_sinkhorn(z, log_mu, log_nu, iters):
    u, v = torch.zeros_like(log_mu), torch.zeros_like(log_nu)
    for _ in range(iters):
        u = log_mu - torch.logsumexp(z + v.unsqueeze(1), dim=2)
        v = log_nu - torch.logsumexp(z + u.unsqueeze(2), dim=1)
    return z + u.unsqueeze(2) + v.unsqueeze(1)


class Model(nn.Module):
    """Keypoint matching by optimal transport."""

    def __init__(self, dim=12, iters=15):
        super().__init__()
        self.iters = iters
        self.proj = nn.Conv1d(dim, dim, 1)
        self.bin_score = nn.Parameter(torch.tensor(1.0))

    def forward(self, desc0, desc1):
        # descriptors are (B, D, N)
        d0, d1 = self.proj(desc0), self.proj(desc1)
        scores = torch.einsum("bdn,bdm->bnm", d0, d1) / d0.shape[1] ** 0.5
        b, m, n = scores.shape
        bins0 = self.bin_score.expand(b, m, 1)
        bins1 = self.bin_score.expand(b, 1, n)
        corner = self.bin_score.expand(b, 1, 1)
        z = torch.cat([torch.cat([scores, bins0], -1), torch.cat([bins1, corner], -1)], 1)
        norm = -torch.log(torch.tensor(float(m + n), device=z.device))
        log_mu = torch.cat([norm.expand(m), norm + torch.tensor([float(n)]).log().to(norm)])
        log_nu = torch.cat([norm.expand(n), norm + torch.tensor([float(m)]).log().to(norm)])
        z = log_sinkhorn(z, log_mu.expand(b, -1), log_nu.expand(b, -1), self.iters) - norm
        match = z[:, :-1].argmax(2)
        return z, match, (match == n).float().mean()


def example_inputs():
    return torch.randn(2, 12, 7), torch.randn(2, 12, 9)
