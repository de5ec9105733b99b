import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

NUM_POINTS = 128
NUM_SHAPES = 4


def sample_cloud(kind, n):
    u = torch.rand(n) * 2 * math.pi
    v = torch.rand(n) * 2 - 1
    if kind == 0:  # sphere
        r = torch.sqrt(1 - v ** 2)
        pts = torch.stack([r * torch.cos(u), r * torch.sin(u), v], dim=1)
    elif kind == 1:  # cylinder
        pts = torch.stack([torch.cos(u), torch.sin(u), v], dim=1)
    elif kind == 2:  # cube
        pts = torch.rand(n, 3) * 2 - 1
        axis = torch.randint(0, 3, (n,))
        pts[torch.arange(n), axis] = torch.sign(torch.randn(n))
    else:  # cone
        h = (v + 1) / 2
        pts = torch.stack([h * torch.cos(u), h * torch.sin(u), h * 2 - 1], dim=1)
    return pts + 0.02 * torch.randn(n, 3)


def build_set(per_class):
    clouds, labels = [], []
    for kind in range(NUM_SHAPES):
        for _ in range(per_class):
            clouds.append(sample_cloud(kind, NUM_POINTS).t())
            labels.append(kind)
    return TensorDataset(torch.stack(clouds), torch.tensor(labels))


class ChannelGate(nn.Module):
    """One weight per feature channel."""

    def __init__(self, channels):
        super(ChannelGate, self).__init__()
        self.mlp_avg = nn.Sequential(
            nn.Conv1d(channels, channels // 2, 1, bias=False), nn.ReLU(inplace=True),
            nn.Conv1d(channels // 2, channels, 1, bias=False))
        self.mlp_max = nn.Sequential(
            nn.Conv1d(channels, channels // 2, 1, bias=False), nn.ReLU(inplace=True),
            nn.Conv1d(channels // 2, channels, 1, bias=False))

    def forward(self, x):
        avg = x.mean(dim=2, keepdim=True)
        top = x.max(dim=2, keepdim=True)[0]
        return torch.sigmoid(self.mlp_avg(avg) + self.mlp_max(top))


class SpatialGate(nn.Module):
    """One weight per point of the cloud."""

    def __init__(self, channels, num_points):
        super(SpatialGate, self).__init__()
        self.mlp_avg = nn.Sequential(
            nn.Conv1d(channels, channels // 2, 1, bias=False), nn.ReLU(inplace=True),
            nn.Conv1d(channels // 2, num_points, 1, bias=False))
        self.mlp_max = nn.Sequential(
            nn.Conv1d(channels, channels // 2, 1, bias=False), nn.ReLU(inplace=True),
            nn.Conv1d(channels // 2, num_points, 1, bias=False))

    def forward(self, x):
        batch, _, num_points = x.shape
        avg = x.mean(dim=2, keepdim=True)
        top = x.max(dim=2, keepdim=True)[0]
        avg = self.mlp_avg(avg).view(batch, 1, num_points)
        top = self.mlp_max(top).view(batch, 1, num_points)
        return torch.sigmoid(avg + top)


class CloudNet(nn.Module):
    def __init__(self, num_points, num_classes):
        super(CloudNet, self).__init__()
        self.embed = nn.Sequential(
            nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU(),
            nn.Conv1d(32, 64, 1), nn.BatchNorm1d(64), nn.ReLU())
        self.channel_gate = ChannelGate(64)
        self.spatial_gate = SpatialGate(64, num_points)
        self.lift = nn.Sequential(nn.Conv1d(64, 128, 1), nn.BatchNorm1d(128), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, num_classes))

    def forward(self, pts):
        feat = self.embed(pts)
        feat = feat * self.channel_gate(feat) * self.spatial_gate(feat)
        pooled = self.lift(feat).max(dim=2)[0]
        return F.log_softmax(self.head(pooled), dim=-1)


def run_epoch(net, loader, optimizer=None):
    net.train(optimizer is not None)
    total, correct = 0.0, 0
    for pts, label in loader:
        with torch.set_grad_enabled(optimizer is not None):
            logp = net(pts)
            loss = F.nll_loss(logp, label)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item() * len(label)
        correct += (logp.argmax(1) == label).sum().item()
    return total / len(loader.dataset), correct / len(loader.dataset)


if __name__ == '__main__':
    torch.manual_seed(1)
    train_loader = DataLoader(build_set(40), batch_size=16, shuffle=True)
    test_loader = DataLoader(build_set(10), batch_size=16)
    net = CloudNet(NUM_POINTS, NUM_SHAPES)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(5):
        tr = run_epoch(net, train_loader, opt)
        te = run_epoch(net, test_loader)
        print('epoch %d  train %.4f/%.3f  test %.4f/%.3f' % (epoch, *tr, *te))
