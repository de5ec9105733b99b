from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class SessionConfig:
    n_items: int = 90
    hidden: int = 16
    half: float = 4.0
    dropout: float = 0.0


class Model(nn.Module):
    """Session recommendation: what was seen last counts most."""

    def __init__(self, cfg=SessionConfig()):
        super().__init__()
        self.cfg = cfg
        self.item = nn.Embedding(cfg.n_items + 1, cfg.hidden, padding_idx=0)
        self.mlp = nn.Sequential(
            nn.Linear(2 * cfg.hidden, cfg.hidden),
            nn.ReLU(),
            nn.Dropout(cfg.dropout),
            nn.Linear(cfg.hidden, cfg.hidden),
        )
        self.bias = nn.Parameter(torch.zeros(cfg.n_items + 1))

    def weights(self, items):
        age = torch.linspace(items.size(1) - 1, 0, steps=items.size(1))
        return torch.exp2(-age / self.cfg.half)

    def forward(self, items):
        decay = self.weights(items)
        x = self.item(items)
        x = x * decay[:, None]
        session = torch.cat([x.sum(dim=1), self.item(items[:, -1])], dim=-1)
        return self.mlp(session) @ self.item.weight.T + self.bias


def example_inputs():
    return (torch.randint(1, 91, (3, 14)),)
