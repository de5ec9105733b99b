import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

D, LATENT, K = 40, 4, 8


def make_binary(n, seed):
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(3, D, generator=torch.Generator().manual_seed(99)) * 2.0
    h = torch.randn(n, 3, generator=g)
    p = torch.sigmoid(h @ w)
    return (torch.rand(n, D, generator=g) < p).float()


class IWAE(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(D, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, LATENT)
        self.log_var = nn.Linear(hidden, LATENT)
        self.dec = nn.Sequential(nn.Linear(LATENT, hidden), nn.ReLU(), nn.Linear(hidden, D))

    def bound(self, x, k):
        h = self.enc(x)
        mu = self.mu(h).repeat_interleave(k, dim=0)
        log_var = self.log_var(h).repeat_interleave(k, dim=0)
        eps = torch.randn_like(mu)
        z = mu + torch.exp(0.5 * log_var) * eps
        logits = self.dec(z)
        target = x.repeat(k, 1)
        log_px = -F.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(1)
        log_pz = (-0.5 * z ** 2 - 0.5 * math.log(2 * math.pi)).sum(1)
        log_qz = (-0.5 * eps ** 2 - 0.5 * log_var - 0.5 * math.log(2 * math.pi)).sum(1)
        log_w = (log_px + log_pz - log_qz).view(len(x), k)
        return (torch.logsumexp(log_w, dim=1) - math.log(k)).mean()


def main():
    torch.manual_seed(0)
    train, test = make_binary(3000, seed=1), make_binary(500, seed=2)
    loader = DataLoader(TensorDataset(train), batch_size=100, shuffle=True)
    p = train.mean(0).clamp(1e-4, 1 - 1e-4)
    independent = (test * p.log() + (1 - test) * (1 - p).log()).sum(1).mean()
    print(f"independent Bernoulli baseline: {independent:.3f}")

    model = IWAE()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(12):
        model.train()
        total = 0.0
        for (x,) in loader:
            loss = -model.bound(x, K)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total -= loss.item() * len(x)
        if epoch % 3 == 2:
            model.eval()
            with torch.no_grad():
                test_bound = model.bound(test, 64)
            print(f"epoch {epoch + 1}: train bound {total / len(train):.3f}  test bound (k=64) {test_bound:.3f}")


if __name__ == "__main__":
    main()
