import copy
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class BoxDataset(Dataset):
    """one bright rectangle per picture; the label is its box as (cx, cy, w, h)"""

    def __init__(self, n=240, size=32, seed=0):
        g = torch.Generator().manual_seed(seed)
        wh = 0.2 + 0.4 * torch.rand(n, 2, generator=g)
        cxy = wh / 2 + (1 - wh) * torch.rand(n, 2, generator=g)
        self.boxes = torch.cat([cxy, wh], dim=1)
        grid = (torch.arange(size) + 0.5) / size
        in_x = (grid - cxy[:, :1]).abs() < wh[:, :1] / 2
        in_y = (grid - cxy[:, 1:]).abs() < wh[:, 1:] / 2
        picture = (in_y[:, :, None] & in_x[:, None, :]).float()
        self.images = (picture + 0.2 * torch.randn(n, size, size, generator=g)).unsqueeze(1)

    def __len__(self):
        return len(self.boxes)

    def __getitem__(self, i):
        return self.images[i], self.boxes[i]


class TinyDetector(nn.Module):
    def __init__(self):
        super().__init__()
        conv = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, 2, 1, bias=False), nn.BatchNorm2d(o), nn.SiLU())
        self.backbone = nn.Sequential(conv(1, 16), conv(16, 32), conv(32, 32))
        self.head = nn.Linear(32 * 4 * 4, 4)

    def forward(self, x):
        return self.head(self.backbone(x).flatten(1)).sigmoid()


class ModelEMA:
    def __init__(self, model, decay=0.99, tau=20):
        self.ema = copy.deepcopy(model).eval()
        self.updates = 0
        self.decay = lambda x: decay * (1 - math.exp(-x / tau))

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        d = self.decay(self.updates)
        for k, v in self.ema.state_dict().items():
            if v.dtype.is_floating_point:
                v.mul_(d).add_(model.state_dict()[k], alpha=1 - d)


class Trainer:
    def __init__(self, epochs=8, batch=20, nbs=100, lr=0.05):
        self.epochs = epochs
        self.train_loader = DataLoader(BoxDataset(), batch_size=batch, shuffle=True)
        self.val_set = BoxDataset(80, seed=9)
        self.model = TinyDetector()
        self.ema = ModelEMA(self.model)
        self.accumulate = max(round(nbs / batch), 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9, nesterov=True)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda e: (1 - e / self.epochs) * 0.99 + 0.01)

    def optimizer_step(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=10.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.ema.update(self.model)

    def train(self):
        nb = len(self.train_loader)
        last_opt_step = -1
        self.optimizer.zero_grad()
        for epoch in range(self.epochs):
            self.model.train()
            self.optimizer.zero_grad()
            tloss = 0.0
            start = time.time()
            for i, (img, box) in enumerate(self.train_loader):
                ni = i + nb * epoch
                loss = F.smooth_l1_loss(self.model(img), box, beta=0.05) * len(img)
                tloss = (tloss * i + loss.item() / len(img)) / (i + 1)
                loss.backward()
                if ni - last_opt_step >= self.accumulate:
                    self.optimizer_step()
                    last_opt_step = ni
            self.scheduler.step()
            print(f'{epoch + 1}/{self.epochs}  box_loss {tloss:.4f}  val {self.validate():.4f}  '
                  f'{time.time() - start:.1f}s  updates {self.ema.updates}')

    @torch.no_grad()
    def validate(self):
        pred = self.ema.ema(self.val_set.images)
        return (pred - self.val_set.boxes).abs().mean().item()


if __name__ == '__main__':
    torch.manual_seed(0)
    Trainer().train()
