# line 29: the augmentation helper changes the copy of the cloud but has no return, so the loop gets None; mended by: returning the cloud
import math

import torch
import torch.nn as nn


def sample_shape(kind, n):
    p = torch.randn(n, 3)
    if kind == 0:
        p = p / p.norm(dim=1, keepdim=True)
    elif kind == 1:
        p = p / p.abs().amax(dim=1, keepdim=True)
    else:
        ang = torch.rand(n) * 2 * math.pi
        p = torch.stack([ang.cos(), ang.sin(), torch.rand(n) * 2 - 1], dim=1)
    return p


def rotate_z(cloud):
    a = torch.rand(cloud.size(0)) * 2 * math.pi
    c, s, o, l = a.cos(), a.sin(), torch.zeros_like(a), torch.ones_like(a)
    R = torch.stack([c, -s, o, s, c, o, o, o, l], dim=1).view(-1, 3, 3)
    return cloud @ R


def jitter(cloud, sigma=0.01, clip=0.03):
    noise = (sigma * torch.randn_like(cloud)).clamp(-clip, clip)
    cloud = cloud + noise


class Compose:
    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x


class PointNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Conv1d(3, 24, 1), nn.BatchNorm1d(24), nn.ReLU(),
            nn.Conv1d(24, 48, 1), nn.BatchNorm1d(48), nn.ReLU(),
        )
        self.fc = nn.Linear(48, n_classes)

    def forward(self, cloud):
        f = self.mlp(cloud.transpose(1, 2))
        return self.fc(f.max(dim=2).values)


torch.manual_seed(0)
augment = Compose(rotate_z, jitter)
labels = torch.arange(60) % 3
clouds = torch.stack([sample_shape(int(k), 64) for k in labels])
net = PointNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(4):
    for idx in torch.randperm(60).split(15):
        out = net(augment(clouds[idx]))
        loss = nn.functional.cross_entropy(out, labels[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(clouds).argmax(1) == labels).float().mean().item()
    net.train()
    print("epoch", epoch, "loss", round(loss.item(), 3), "acc", round(acc, 3))
