"""Point-process model of earthquake aftershocks: recurrent intensity, trained by likelihood."""
import math

import numpy as np
import torch
import torch.nn as nn


def simulate(n_seq=120, length=30, seed=0):
    rng = np.random.default_rng(seed)
    gaps = np.zeros((n_seq, length), dtype=np.float32)
    for i in range(n_seq):
        rate = 0.3
        for j in range(length):
            gaps[i, j] = rng.exponential(1.0 / rate)
            rate = 0.3 + (rate + 1.0) * math.exp(-gaps[i, j])
    lengths = rng.integers(length // 2, length + 1, n_seq)
    return torch.from_numpy(gaps), torch.from_numpy(lengths)


class Intensity(nn.Module):
    """Rate of the next event given the history: softplus of a GRU's output."""

    def __init__(self, hidden=16):
        super().__init__()
        self.cell = nn.GRU(1, hidden, batch_first=True)
        self.rate = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, gaps):
        h, _ = self.cell(gaps.log1p().unsqueeze(-1))
        return torch.exp(self.rate(h).squeeze(-1).clamp(-6, 6))


def negative_log_likelihood(model, gaps, lengths):
    rate = model(gaps[:, :-1])
    target = gaps[:, 1:]
    steps = torch.arange(target.size(1))
    padding = steps[None, :] >= (lengths - 1)[:, None]

    rate[padding] = 1.0
    loglik = torch.log(rate) - rate * target
    loglik = loglik.masked_fill(padding, 0.0)
    return -loglik.sum() / (~padding).sum()


def iterate(gaps, lengths, size, shuffle):
    idx = torch.randperm(len(gaps)) if shuffle else torch.arange(len(gaps))
    for part in idx.split(size):
        yield gaps[part], lengths[part]


def fit(epochs=5, lr=1e-2):
    gaps, lengths = simulate()
    val = simulate(40, seed=1)
    model = Intensity()
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for g, n in iterate(gaps, lengths, 24, True):
            loss = negative_log_likelihood(model, g, n)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            total += loss.item()
        sched.step()
        model.eval()
        with torch.no_grad():
            v = negative_log_likelihood(model, *val).item()
        print(f"epoch {epoch}  train nll {total / 5:.4f}  val nll {v:.4f}")
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    fit()
