from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    cells: int = 5
    cell: int = 8
    epochs: int = 4
    batch_size: int = 14
    lr: float = 3e-3
    seed: int = 0


class Cells(Dataset):
    """Dark squares in noise; some images have none."""

    def __init__(self, cfg, n, seed):
        rng = np.random.default_rng(seed)
        side = cfg.cells * cfg.cell
        self.items = []
        for _ in range(n):
            image = rng.normal(0, 0.2, (1, side, side)).astype(np.float32)
            boxes = []
            for cell in rng.choice(cfg.cells ** 2, rng.integers(0, 4), replace=False):
                r, c = divmod(int(cell), cfg.cells)
                s = int(rng.integers(3, 7))
                y, x = r * cfg.cell + int(rng.integers(0, 8 - s)), c * cfg.cell + int(rng.integers(0, 8 - s))
                image[0, y:y + s, x:x + s] += 1
                boxes.append([x, y, x + s, y + s])
            self.items.append((torch.from_numpy(image), torch.tensor(boxes, dtype=torch.float32).reshape(-1, 4)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    return torch.stack([b[0] for b in batch]), [b[1] for b in batch]


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        layers, c = [], 1
        for w in (8, 16, 32):
            layers += [nn.Conv2d(c, w, 3, stride=2, padding=1), nn.BatchNorm2d(w), nn.ReLU()]
            c = w
        self.body = nn.Sequential(*layers)
        self.score, self.box = nn.Conv2d(c, 1, 1), nn.Conv2d(c, 4, 1)

    def forward(self, x):
        f = self.body(x)
        return self.score(f).squeeze(1), self.box(f).permute(0, 2, 3, 1)


def loss_fn(cfg, scores, boxes, targets):
    want = torch.zeros_like(scores)
    box_loss, count = scores.new_zeros(()), 0
    for b, target in enumerate(targets):
        if len(target) == 0:
            continue
        centre = ((target[:, :2] + target[:, 2:]) / 2 / cfg.cell).long()
        want[b, centre[:, 1], centre[:, 0]] = 1
        box_loss = box_loss + F.smooth_l1_loss(boxes[b, centre[:, 1], centre[:, 0]], target / 10, reduction="sum")
        count += len(target)
    return F.binary_cross_entropy_with_logits(scores, want) + box_loss / max(count, 1)


def iou(a, b):
    lt, rb = torch.maximum(a[:, None, :2], b[None, :, :2]), torch.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    area = lambda t: (t[:, 2:] - t[:, :2]).clamp(min=0).prod(-1)
    return inter / (area(a)[:, None] + area(b)[None] - inter).clamp(min=1e-6)


@torch.no_grad()
def average_precision(model, loader, threshold=0.3):
    model.eval()
    confidence, hits, positives = [], [], 0
    for images, targets in loader:
        scores, boxes = model(images)
        for s, b, t in zip(scores.sigmoid(), boxes * 10, targets):
            positives += len(t)
            top, where = s.flatten().topk(4)
            if len(t):
                found = iou(b.flatten(0, 1)[where], t).amax(1) > threshold
            else:
                found = torch.zeros(4, dtype=torch.bool)
            confidence.append(top)
            hits.append(found)
    order = torch.cat(confidence).argsort(descending=True)
    tp = torch.cat(hits)[order].float()
    precision = tp.cumsum(0) / torch.arange(1, len(tp) + 1)
    return ((precision * tp).sum() / max(positives, 1)).item()


cfg = Config()
torch.manual_seed(cfg.seed)
train_loader = DataLoader(Cells(cfg, 120, 0), cfg.batch_size, shuffle=True, collate_fn=collate)
val_loader = DataLoader(Cells(cfg, 40, 1), cfg.batch_size, collate_fn=collate)
model = Detector()
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
for epoch in range(cfg.epochs):
    model.train()
    for images, targets in train_loader:
        loss = loss_fn(cfg, *model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f} ap {average_precision(model, val_loader):.3f}")
