"""Churn prediction on tabular features with a plain MLP."""
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Config:
    n_features: int = 29
    hidden: list[int] = field(default_factory=lambda: [64, 32])
    head_in: int = 16
    n_classes: int = 2
    dropout: float = 0.1


class Model(nn.Module):
    def __init__(self, cfg: Config = Config()):
        super().__init__()
        layers = []
        width = cfg.n_features
        for h in cfg.hidden:
            layers += [nn.Linear(width, h), nn.GELU(), nn.Dropout(cfg.dropout)]
            width = h
        self.body = nn.Sequential(*layers)
        self.norm = nn.BatchNorm1d(cfg.n_features)
        self.head = nn.Linear(cfg.head_in, cfg.n_classes)

    def forward(self, features):
        features = self.norm(features)
        hidden = self.body(features)
        return self.head(hidden)


def example_inputs():
    return (torch.rand(20, 29),)
