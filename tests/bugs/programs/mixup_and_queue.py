import torch
import torch.nn as nn
import torch.nn.functional as F


def concat_all(*parts):
    return torch.cat(parts, dim=1)


class Model(nn.Module):
    """Momentum contrast on mixed-up features."""

    def __init__(self, n_in=15, dim=8, K=20, T=0.2, lam=0.7):
        super().__init__()
        self.K, self.T, self.lam = K, T, lam
        self.enc_q = nn.Linear(n_in, dim)
        self.enc_k = nn.Linear(n_in, dim)
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def enqueue(self, keys):
        n = keys.size(0)
        at = (int(self.ptr) + torch.arange(n, device=keys.device)) % self.K
        self.queue[:, at] = keys.T
        self.ptr[0] = (int(self.ptr) + n) % self.K

    def forward(self, x_q, x_k):
        perm = torch.randperm(x_q.size(0), device=x_q.device)
        mixed = self.lam * x_q + (1 - self.lam) * x_q[perm]
        q = F.normalize(self.enc_q(mixed), dim=1)
        with torch.no_grad():
            k = F.normalize(self.enc_k(x_k), dim=1)
        l_pos = torch.einsum("nc,nc->n", q, k).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", q, self.queue.clone().detach())
        logits = concat_all(l_pos, l_neg) / self.T
        labels = torch.zeros(len(logits), dtype=torch.long, device=q.device)
        self.enqueue(k)
        return logits, F.cross_entropy(logits, labels), self.queue


def example_inputs():
    return torch.randn(6, 15), torch.randn(6, 15)
