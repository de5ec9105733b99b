#!/usr/bin/env python
"""BYOL for accelerometer windows. Keeps the best encoder seen so far for the downstream task."""
import copy
import logging

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("byol")


def windows(n, rng):
    t = np.linspace(0, 2, 100)
    kind = rng.integers(0, 3, n)
    freq = np.array([1.5, 3.0, 5.5])[kind]
    phase = rng.uniform(0, 2 * np.pi, (n, 3))
    x = np.sin(2 * np.pi * freq[:, None, None] * t + phase[:, :, None]) + 0.1 * rng.normal(size=(n, 3, 100))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(kind)


def augment(x):
    scale = 1 + 0.2 * torch.randn(x.size(0), 3, 1)
    jitter = 0.1 * torch.randn_like(x)
    shift = int(torch.randint(0, x.size(-1), (1,)))
    return torch.roll(x * scale + jitter, shift, dims=-1)


class Encoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(3, width, 7, stride=2, padding=3), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, width, 5, stride=2, padding=2), nn.BatchNorm1d(width), nn.ReLU(),
        )
        self.projector = nn.Sequential(nn.Linear(width, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
        self.representation = None

    def forward(self, x):
        h = self.conv(x).mean(dim=-1)
        self.representation = h.detach()
        return self.projector(h)


class BYOL(nn.Module):
    def __init__(self, tau=0.98):
        super().__init__()
        self.online = Encoder()
        self.predictor = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False
        self.tau = tau

    @torch.no_grad()
    def update_target(self):
        for po, pt in zip(self.online.parameters(), self.target.parameters()):
            pt.mul_(self.tau).add_(po, alpha=1 - self.tau)

    def forward(self, v1, v2):
        p1, p2 = self.predictor(self.online(v1)), self.predictor(self.online(v2))
        with torch.no_grad():
            t1, t2 = self.target(v1), self.target(v2)
        return (4 - 2 * F.cosine_similarity(p1, t2).mean() - 2 * F.cosine_similarity(p2, t1).mean())


def knn_accuracy(encoder, xb, yb, xq, yq, k=5):
    encoder.eval()
    with torch.no_grad():
        encoder(xb)
        bank = F.normalize(encoder.representation, dim=1)
        encoder(xq)
        query = F.normalize(encoder.representation, dim=1)
    votes = yb[(query @ bank.T).topk(k, dim=1).indices]
    encoder.train()
    return (votes.mode(dim=1).values == yq).float().mean().item()


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    x, _ = windows(512, rng)
    xb, yb = windows(90, rng)
    xq, yq = windows(60, rng)
    byol = BYOL()
    trained = list(byol.online.parameters()) + list(byol.predictor.parameters())
    opt = torch.optim.Adam(trained, lr=1e-3)

    best_loss, best_encoder = float("inf"), None
    for epoch in range(5):
        total = 0.0
        for idx in torch.randperm(len(x)).split(64):
            loss = byol(augment(x[idx]), augment(x[idx]))
            opt.zero_grad()
            loss.backward()
            opt.step()
            byol.update_target()
            total += loss.item() * len(idx)
        total /= len(x)
        if total < best_loss:
            best_loss, best_encoder = total, copy.deepcopy(byol.online)
        log.info("epoch %d  loss %.4f", epoch, total)
    log.info("kNN accuracy of the best encoder: %.3f", knn_accuracy(best_encoder, xb, yb, xq, yq))


if __name__ == "__main__":
    main()
