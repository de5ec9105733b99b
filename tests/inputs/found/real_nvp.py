"""Affine coupling layers over vectors."""

import math

import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, mask, hidden):
        super().__init__()
        self.register_buffer("mask", mask)
        dim = len(mask)
        self.net = nn.Sequential(
            nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, 2 * dim)
        )

    def forward(self, x, reverse):
        kept = x * self.mask
        log_scale, shift = self.net(kept).chunk(2, dim=-1)
        log_scale = torch.tanh(log_scale) * (1 - self.mask)
        shift = shift * (1 - self.mask)
        if reverse:
            return (x - shift) * torch.exp(-log_scale), -log_scale.sum(-1)
        return x * torch.exp(log_scale) + shift, log_scale.sum(-1)


class RealNVP(nn.Module):
    def __init__(self, dim=6, layers=4, hidden=16):
        super().__init__()
        self.dim = dim
        mask = torch.arange(dim) % 2
        masks = [(mask if i % 2 else 1 - mask).float() for i in range(layers)]
        self.flows = nn.ModuleList([Coupling(m, hidden) for m in masks])

    def forward(self, x, reverse=False):
        log_det = x.new_zeros(x.shape[0])
        flows = reversed(self.flows) if reverse else self.flows
        for flow in flows:
            x, change = flow(x, reverse)
            log_det = log_det + change
        prior = -0.5 * (x**2 + math.log(2 * math.pi)).sum(dim=1)
        return x, prior + log_det
