import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

config = dict(height=48, width=64, n_train=96, n_val=32, batch_size=8, epochs=6, lr=2e-3, seed=7)


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class RoomDepth(Dataset):
    """Rendered rooms: boxes in front of a wall, nearer surfaces are brighter."""

    def __init__(self, n, h, w, offset):
        self.n, self.h, self.w, self.offset = n, h, w, offset

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        rng = np.random.default_rng(self.offset + idx)
        depth = np.full((self.h, self.w), rng.uniform(3.5, 5.0), dtype=np.float32)
        for _ in range(3):
            y, x = rng.integers(0, self.h - 16), rng.integers(0, self.w - 16)
            depth[y:y + 16, x:x + 16] = rng.uniform(1.0, 3.0)
        light = 255 * np.exp(-0.4 * depth)
        image = light[None] * np.array([1.0, 0.9, 0.8])[:, None, None]
        image = image + rng.normal(0, 5, image.shape)
        image = image.clip(0, 255).astype(np.uint8)
        return torch.from_numpy(image), torch.from_numpy(depth)


def conv_bn(c_in, c_out, stride=1):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(c_out),
        nn.ReLU(inplace=True),
    )


class DepthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc1 = conv_bn(3, 16)
        self.enc2 = conv_bn(16, 32, stride=2)
        self.mid = conv_bn(32, 32)
        self.dec1 = conv_bn(32, 16)
        self.out = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.mid(self.enc2(e1))
        up = F.interpolate(e2, scale_factor=2, mode="bilinear", align_corners=False)
        d1 = self.dec1(torch.cat([up, e1], dim=1))
        return F.softplus(self.out(d1))


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        size = (cfg["height"], cfg["width"])
        self.train_dl = DataLoader(RoomDepth(cfg["n_train"], *size, 0), cfg["batch_size"], shuffle=True)
        self.val_dl = DataLoader(RoomDepth(cfg["n_val"], *size, 10000), cfg["batch_size"])
        self.net = DepthNet()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=cfg["lr"])

    def step(self, image, depth):
        loss = F.l1_loss(self.net(image), depth)
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()
        return loss.item()

    @torch.no_grad()
    def validate(self):
        self.net.eval()
        errors = [F.l1_loss(self.net(image), depth).item() for image, depth in self.val_dl]
        return float(np.mean(errors))

    def run(self):
        for epoch in range(self.cfg["epochs"]):
            self.net.train()
            losses = [self.step(image, depth) for image, depth in self.train_dl]
            print(f"epoch {epoch + 1:02d} train L1 {np.mean(losses):.3f} m  val L1 {self.validate():.3f} m")


seed_everything(config["seed"])
Trainer(config).run()
