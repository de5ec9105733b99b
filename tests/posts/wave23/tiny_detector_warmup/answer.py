import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

GRID, STRIDE, NUM_CLASSES = 8, 8, 3


class ShapesDataset(Dataset):
    """Camera frames; some of them show nothing at all."""

    def __init__(self, n, seed=0):
        rng = np.random.default_rng(seed)
        self.seeds = rng.integers(0, 2**31, size=n)
        self.empty = rng.random(n) < 0.6

    def __len__(self):
        return len(self.seeds)

    def __getitem__(self, idx):
        rng = np.random.default_rng(self.seeds[idx])
        image = rng.normal(0, 0.1, size=(3, 64, 64)).astype(np.float32)
        labels = torch.full((GRID, GRID), -1, dtype=torch.long)
        boxes = torch.zeros(GRID, GRID, 4)
        if not self.empty[idx]:
            row, col = rng.integers(0, GRID, size=2)
            label = int(rng.integers(0, NUM_CLASSES))
            image[label, row * STRIDE:(row + 1) * STRIDE, col * STRIDE:(col + 1) * STRIDE] += 1.0
            labels[row, col] = label
            boxes[row, col] = torch.tensor([0.5, 0.5, 0.5, 0.5])
        return torch.from_numpy(image), labels, boxes


class Head(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.cls = nn.Conv2d(channels, NUM_CLASSES, 1)
        self.reg = nn.Conv2d(channels, 4, 1)

    def forward(self, x):
        return self.cls(x).permute(0, 2, 3, 1), self.reg(x).permute(0, 2, 3, 1)

    def loss(self, cls_pred, reg_pred, labels, boxes):
        pos = labels >= 0
        num_pos = pos.sum().item()
        if num_pos > 0:
            target = torch.zeros_like(cls_pred)
            target[pos] = F.one_hot(labels[pos], NUM_CLASSES).float()
            loss_cls = F.binary_cross_entropy_with_logits(cls_pred, target, reduction="sum") / num_pos
            loss_box = F.l1_loss(reg_pred[pos], boxes[pos])
        else:
            loss_cls = torch.tensor(0, dtype=torch.float32, device=cls_pred.device, requires_grad=True)
            loss_box = torch.tensor(0, dtype=torch.float32, device=cls_pred.device, requires_grad=True)
        return loss_cls + 2.0 * loss_box, {"cls": loss_cls.item(), "box": loss_box.item()}


class TinyDetector(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        layers, c_in = [], 3
        for c_out in (width, width * 2, width * 2):
            layers += [nn.Conv2d(c_in, c_out, 3, stride=2, padding=1), nn.BatchNorm2d(c_out), nn.ReLU()]
            c_in = c_out
        self.backbone = nn.Sequential(*layers)
        self.head = Head(c_in)

    def forward(self, images):
        return self.head(self.backbone(images))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(ShapesDataset(96), batch_size=4, shuffle=True)
    model = TinyDetector().to(device)
    base_lr, warmup_steps = 0.01, 10
    optimizer = torch.optim.SGD(model.parameters(), lr=base_lr, momentum=0.9)
    step = 0
    for epoch in range(2):
        for images, labels, boxes in loader:
            lr = base_lr * min(1.0, (step + 1) / warmup_steps)
            for group in optimizer.param_groups:
                group["lr"] = lr
            cls_pred, reg_pred = model(images.to(device))
            loss, states = model.head.loss(cls_pred, reg_pred, labels.to(device), boxes.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
        print(f"epoch {epoch}: step {step} cls {states['cls']:.3f} box {states['box']:.3f}")


if __name__ == "__main__":
    main()
