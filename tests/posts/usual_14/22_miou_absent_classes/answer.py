"""Land-cover segmentation: training and a per-tile mIoU report for the weekly dashboard."""
from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

CLASSES = ["background", "field", "forest", "water", "urban", "road"]
TILE = 32


class Tiles(Dataset):
    """Every tile holds background plus two or three of the other classes."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        spectra = torch.tensor([[0.1, 0.1, 0.1], [0.8, 0.7, 0.2], [0.1, 0.5, 0.1],
                                [0.0, 0.2, 0.8], [0.7, 0.3, 0.3], [0.5, 0.5, 0.5]])
        self.masks = torch.zeros(n, TILE, TILE, dtype=torch.long)
        for mask in self.masks:
            k = int(torch.randint(2, 4, (1,), generator=g))
            for c in (torch.randperm(5, generator=g)[:k] + 1).tolist():
                r, s = torch.randint(0, TILE - 10, (2,), generator=g).tolist()
                h, w = torch.randint(6, 18, (2,), generator=g).tolist()
                mask[r:r + h, s:s + w] = c
        clean = spectra[self.masks].permute(0, 3, 1, 2)
        self.images = clean + 0.1 * torch.randn(clean.shape, generator=g)

    def __len__(self):
        return len(self.masks)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


class SegNet(nn.Module):
    def __init__(self, n_classes, width=24):
        super().__init__()
        self.down1 = self._block(3, width)
        self.down2 = self._block(width, 2 * width)
        self.up = self._block(3 * width, width)
        self.out = nn.Conv2d(width, n_classes, 1)

    @staticmethod
    def _block(c_in, c_out):
        return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU())

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.out(self.up(torch.cat([a, b], dim=1)))


def tile_iou(pred, mask, n_classes):
    """IoU of each class on one tile."""
    ious = torch.zeros(n_classes)
    for c in range(n_classes):
        p, t = pred == c, mask == c
        inter = (p & t).sum()
        union = (p | t).sum()
        ious[c] = inter / union if union > 0 else float("nan")
    return ious


@torch.no_grad()
def report(model, loader):
    model.eval()
    per_tile, per_class = [], defaultdict(list)
    right = total = 0
    for images, masks in loader:
        pred = model(images).argmax(dim=1)
        right += (pred == masks).sum().item()
        total += masks.numel()
        for p, m in zip(pred, masks):
            ious = tile_iou(p, m, len(CLASSES))
            per_tile.append(ious.nanmean())
            for name, value in zip(CLASSES, ious.tolist()):
                if value == value:
                    per_class[name].append(value)
    scores = {name: sum(v) / len(v) for name, v in per_class.items()}
    return torch.stack(per_tile).mean().item(), scores, right / total


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(Tiles(240, 0), batch_size=16, shuffle=True)
    val_loader = DataLoader(Tiles(60, 1), batch_size=30)
    model = SegNet(len(CLASSES))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

    for epoch in range(1, 5):
        model.train()
        for images, masks in train_loader:
            loss = F.cross_entropy(model(images), masks)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        miou, scores, acc = report(model, val_loader)
        print(f"epoch {epoch} loss {loss.item():.3f} pixel acc {acc:.3f} mIoU {miou:.3f}")
    print({name: round(v, 3) for name, v in scores.items()})
