from dataclasses import dataclass, field

import torch
import torch.nn as nn


@dataclass
class Heads:
    count: int = 4
    size: int = 12


@dataclass
class CrossConfig:
    context: int = 30
    heads: Heads = field(default_factory=Heads)

    @property
    def width(self):
        return self.heads.count * self.heads.size


class Model(nn.Module):
    """Queries look at an encoded document."""

    def __init__(self, cfg=CrossConfig()):
        super().__init__()
        self.heads = cfg.heads
        self.to_q = nn.Linear(cfg.width, cfg.width, bias=False)
        self.to_kv = nn.Linear(cfg.context, 2 * cfg.width, bias=False)
        self.to_out = nn.Linear(cfg.width, cfg.width)

    def forward(self, x, document):
        b, i, _ = x.shape
        j = document.shape[1]
        h, d = self.heads.count, self.heads.size
        q = self.to_q(x).view(b, i, h, d)
        k, v = self.to_kv(document).chunk(2, dim=-1)
        k = k.view(b, j, h, d)
        v = v.view(b, j, h, d)
        sim = torch.einsum("bhid,bhjd->bhij", q, k) * d**-0.5
        attn = sim.softmax(dim=-1)
        out = torch.einsum("bhij,bjhd->bihd", attn, v)
        return self.to_out(out.reshape(b, i, h * d))


def example_inputs():
    return torch.randn(2, 7, 48), torch.randn(2, 10, 30)
