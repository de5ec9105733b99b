import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SHAPES = ["sphere", "cube", "cylinder", "cone", "torus", "plane", "helix", "cross"]
POINTS = 64


def sample_shape(kind, g):
    u = torch.rand(POINTS, generator=g)
    v = torch.rand(POINTS, generator=g)
    a = 6.2832 * u
    if kind == 0:
        z = 2 * v - 1
        r = (1 - z * z).sqrt()
        pts = torch.stack([r * a.cos(), r * a.sin(), z], 1)
    elif kind == 1:
        pts = 2 * torch.rand(POINTS, 3, generator=g) - 1
        axis = pts.abs().argmax(1, keepdim=True)
        pts = pts.scatter(1, axis, pts.gather(1, axis).sign())
    elif kind == 2:
        pts = torch.stack([a.cos(), a.sin(), 2 * v - 1], 1)
    elif kind == 3:
        pts = torch.stack([(1 - v) * a.cos(), (1 - v) * a.sin(), 2 * v - 1], 1)
    elif kind == 4:
        b = 6.2832 * v
        pts = torch.stack([(0.7 + 0.3 * b.cos()) * a.cos(), (0.7 + 0.3 * b.cos()) * a.sin(), 0.3 * b.sin()], 1)
    elif kind == 5:
        pts = torch.stack([2 * u - 1, 2 * v - 1, torch.zeros(POINTS)], 1)
    elif kind == 6:
        pts = torch.stack([(2 * a).cos(), (2 * a).sin(), 2 * u - 1], 1)
    else:
        pts = torch.zeros(POINTS, 3)
        pts[torch.arange(POINTS), torch.randint(0, 3, (POINTS,), generator=g)] = 2 * v - 1
    pts = pts * (0.7 + 0.6 * torch.rand(1, generator=g))
    return pts + 0.08 * torch.randn(POINTS, 3, generator=g)


class PointClouds(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, len(SHAPES), (n,), generator=g)
        self.clouds = torch.stack([sample_shape(int(k), g) for k in self.labels])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.clouds[i], self.labels[i]


class PointNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.point_mlp = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 96), nn.ReLU())
        self.fc1 = nn.Linear(96, 64)
        self.fc2 = nn.Linear(64, num_classes)

    def forward(self, cloud):
        h = self.point_mlp(cloud).amax(dim=1)
        h = F.relu(self.fc1(h))
        return F.softmax(self.fc2(h), dim=1)


torch.manual_seed(0)
train_loader = DataLoader(PointClouds(800, 0), batch_size=32, shuffle=True)
test_set = PointClouds(400, 1)

net = PointNet(len(SHAPES))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)

for epoch in range(20):
    net.train()
    total = 0.0
    for cloud, label in train_loader:
        scores = net(cloud)
        loss = criterion(scores, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    net.eval()
    with torch.no_grad():
        acc = (net(test_set.clouds).argmax(1) == test_set.labels).float().mean().item()
    if epoch % 2 == 1:
        print(f"epoch {epoch + 1:2d}  loss {total / len(train_loader):.3f}  test acc {acc:.3f}")
