"""Crystal-phase classification from sets of diffraction peaks with a set transformer."""
from typing import List, Tuple

import torch
import torch.nn as nn
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

PHASES: List[str] = ["sc", "bcc", "fcc", "diamond"]
ALLOWED = {
    "sc": [1, 2, 3, 4, 5, 6, 8, 9],
    "bcc": [2, 4, 6, 8, 10, 12, 14, 16],
    "fcc": [3, 4, 8, 11, 12, 16, 19, 20],
    "diamond": [3, 8, 11, 16, 19, 24, 27, 32],
}
WAVELENGTH = 1.5406


def peak_sets(n: int, seed: int) -> TensorDataset:
    g = torch.Generator().manual_seed(seed)
    label = torch.randint(0, len(PHASES), (n,), generator=g)
    s2 = torch.tensor([ALLOWED[p] for p in PHASES], dtype=torch.float32)[label]
    a = 5.5 + 3.0 * torch.rand(n, 1, generator=g)
    theta = torch.asin((WAVELENGTH * s2.sqrt() / (2 * a)).clamp(max=0.99))
    theta = theta + 0.002 * torch.randn(theta.shape, generator=g)
    intensity = torch.rand(theta.shape, generator=g)
    peaks = torch.stack([theta / theta[:, :1], theta * 2, intensity], dim=-1)
    perm = torch.argsort(torch.rand(theta.shape, generator=g), dim=1)
    peaks = torch.gather(peaks, 1, perm.unsqueeze(-1).expand(-1, -1, 3))
    return TensorDataset(peaks, label)


class SetAttentionBlock(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm1(x)
        x = x + self.attn(h, h, h)
        return x + self.ff(self.norm2(x))


class PhaseNet(nn.Module):
    def __init__(self, dim: int = 48, depth: int = 2, heads: int = 4):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(3, dim), nn.GELU(), nn.Linear(dim, dim))
        self.blocks = nn.ModuleList(SetAttentionBlock(dim, heads) for _ in range(depth))
        self.head = nn.Linear(dim, len(PHASES))

    def forward(self, peaks: Tensor) -> Tensor:
        x = self.embed(peaks)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(dim=1))


def train_epoch(model: nn.Module, loader: DataLoader, opt: torch.optim.Optimizer) -> float:
    model.train()
    total = 0.0
    for peaks, label in loader:
        loss = nn.functional.cross_entropy(model(peaks), label)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(label)
    return total / len(loader.dataset)


@torch.no_grad()
def test(model: nn.Module, loader: DataLoader) -> Tuple[float, Tensor]:
    model.eval()
    confusion = torch.zeros(len(PHASES), len(PHASES), dtype=torch.long)
    for peaks, label in loader:
        pred = model(peaks).argmax(dim=-1)
        confusion.index_put_((label, pred), torch.ones_like(label), accumulate=True)
    return confusion.diag().sum().item() / len(loader.dataset), confusion


if __name__ == "__main__":
    torch.manual_seed(5)
    train_dl = DataLoader(peak_sets(1200, 1), batch_size=50, shuffle=True)
    test_dl = DataLoader(peak_sets(300, 2), batch_size=100)
    model = PhaseNet()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(5):
        loss = train_epoch(model, train_dl, opt)
        acc, confusion = test(model, test_dl)
        print(f"epoch {epoch}: loss {loss:.3f}  test acc {acc:.3f}")
    print(confusion)
