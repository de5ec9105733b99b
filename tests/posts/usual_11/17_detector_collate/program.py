"""CenterNet-style parts detector on conveyor images."""
import json
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

ROOT = Path("conveyor")
STRIDE, SIZE = 4, 96
CLASSES = {"bolt": 0, "nut": 1}


def prepare(n=48):
    ROOT.mkdir(exist_ok=True)
    rng = np.random.default_rng(5)
    images = rng.integers(0, 40, (n, SIZE, SIZE), dtype=np.uint8)
    ann = []
    for im in images:
        objs = []
        for _ in range(rng.integers(1, 5)):
            w, h = rng.integers(8, 20, 2)
            x, y = rng.integers(0, SIZE - w), rng.integers(0, SIZE - h)
            name = "bolt" if h > w else "nut"
            im[y:y + h, x:x + w] = 220 if name == "bolt" else 140
            objs.append({"bbox": [int(x), int(y), int(w), int(h)], "category": name})
        ann.append(objs)
    np.save(ROOT / "images.npy", images)
    (ROOT / "ann.json").write_text(json.dumps(ann))


class ConveyorDataset(Dataset):
    def __init__(self):
        self.images = np.load(ROOT / "images.npy")
        self.ann = json.loads((ROOT / "ann.json").read_text())

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img = torch.from_numpy(self.images[i]).float().div(255).unsqueeze(0)
        boxes = torch.tensor([o["bbox"] for o in self.ann[i]], dtype=torch.float32)
        boxes[:, 2:] += boxes[:, :2]
        labels = torch.tensor([CLASSES[o["category"]] for o in self.ann[i]])
        return img, {"boxes": boxes, "labels": labels}


class CenterNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()

        def block(i, o, s):
            return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())
        self.backbone = nn.Sequential(block(1, 16, 2), block(16, 32, 2), block(32, 32, 1), block(32, 32, 1))
        self.heat = nn.Conv2d(32, n_classes, 1)
        self.size = nn.Conv2d(32, 2, 1)
        nn.init.constant_(self.heat.bias, -2.19)

    def forward(self, x):
        f = self.backbone(x)
        return self.heat(f), self.size(f)


def build_targets(targets, shape):
    B, C, H, W = shape
    heat = torch.zeros(shape)
    size = torch.zeros(B, 2, H, W)
    mask = torch.zeros(B, 1, H, W)
    grid_y, grid_x = torch.meshgrid(torch.arange(H), torch.arange(W), indexing="ij")
    for b, t in enumerate(targets):
        for (x1, y1, x2, y2), c in zip(t["boxes"] / STRIDE, t["labels"]):
            cx, cy = int((x1 + x2) / 2), int((y1 + y2) / 2)
            g = torch.exp(-((grid_x - cx) ** 2 + (grid_y - cy) ** 2) / 2.0)
            heat[b, c] = torch.maximum(heat[b, c], g)
            size[b, :, cy, cx] = torch.stack([x2 - x1, y2 - y1])
            mask[b, 0, cy, cx] = 1
    return heat, size, mask


def focal(logits, heat):
    p = torch.sigmoid(logits).clamp(1e-4, 1 - 1e-4)
    pos = heat.eq(1).float()
    loss = -(pos * (1 - p) ** 2 * p.log() + (1 - pos) * (1 - heat) ** 4 * p ** 2 * (1 - p).log())
    return loss.sum() / pos.sum().clamp(min=1)


def main():
    torch.manual_seed(0)
    prepare()
    loader = DataLoader(ConveyorDataset(), batch_size=8, shuffle=True)
    model = CenterNet(len(CLASSES))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(2):
        model.train()
        log = np.zeros(2)
        for images, targets in loader:
            heat_pred, size_pred = model(images)
            heat, size, mask = build_targets(targets, heat_pred.shape)
            hm_loss = focal(heat_pred, heat)
            wh_loss = F.l1_loss(size_pred * mask, size, reduction="sum") / mask.sum()
            opt.zero_grad()
            (hm_loss + 0.1 * wh_loss).backward()
            opt.step()
            log += [hm_loss.item(), wh_loss.item()]
        print("epoch", epoch, "heatmap %.3f size %.3f" % tuple(log / len(loader)))


if __name__ == "__main__":
    main()
