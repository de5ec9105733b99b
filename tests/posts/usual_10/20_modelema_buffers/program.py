import copy
import logging

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("train")


class ConvBNAct(nn.Sequential):
    def __init__(self, cin, cout, stride=1):
        super().__init__(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.SiLU())


class DefectNet(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.stem = ConvBNAct(1, 16, 2)
        self.stages = nn.Sequential(ConvBNAct(16, 32, 2), ConvBNAct(32, 32), ConvBNAct(32, 64, 2))
        self.head = nn.Linear(64, n_classes)

    def forward(self, x):
        return self.head(self.stages(self.stem(x)).mean((2, 3)))


class ModelEMA:
    """Exponential moving average of a model, used for validation and for the exported weights."""

    def __init__(self, model, decay=0.99):
        self.module = copy.deepcopy(model).eval()
        for p in self.module.parameters():
            p.requires_grad_(False)
        self.decay = decay
        self.updates = 0

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        d = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for e, p in zip(self.module.parameters(), model.parameters()):
            e.mul_(d).add_(p.detach(), alpha=1 - d)


def surface_images(n, rng):
    y = rng.integers(0, 4, n)
    x = 120 + 15 * rng.normal(size=(n, 32, 32))
    for i in range(n):
        r, c = rng.integers(4, 26, 2)
        if y[i] == 1:
            x[i, r:r + 2, :] += 60
        elif y[i] == 2:
            x[i, :, c:c + 2] += 60
        elif y[i] == 3:
            x[i, r:r + 6, c:c + 6] -= 80
    x = ((x - 120) / 30).astype(np.float32)
    return TensorDataset(torch.from_numpy(x[:, None]), torch.from_numpy(y))


@torch.no_grad()
def validate(model, loader):
    model.eval()
    hits, loss = 0, 0.0
    for x, y in loader:
        out = model(x)
        loss += F.cross_entropy(out, y, reduction="sum").item()
        hits += (out.argmax(1) == y).sum().item()
    return loss / len(loader.dataset), hits / len(loader.dataset)


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    train = DataLoader(surface_images(640, rng), batch_size=32, shuffle=True)
    val = DataLoader(surface_images(200, rng), batch_size=50)
    model = DefectNet()
    ema = ModelEMA(model)
    epochs = 5
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=epochs * len(train))
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in train:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            ema.update(model)
            total += loss.item() * len(y)
        vl, va = validate(ema.module, val)
        log.info("epoch %d train %.4f | ema val %.4f acc %.3f", epoch, total / len(train.dataset), vl, va)


if __name__ == "__main__":
    main()
