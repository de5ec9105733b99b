import os
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

SHAPES = ["sphere", "cube", "torus", "cylinder"]


def sample_shape(kind, n):
    if kind == "sphere":
        p = F.normalize(torch.randn(n, 3), dim=1)
    elif kind == "cube":
        p = torch.rand(n, 3) * 2 - 1
        axis = torch.randint(0, 3, (n,))
        p[torch.arange(n), axis] = torch.sign(torch.randn(n))
    elif kind == "torus":
        u, v = torch.rand(2, n) * 2 * math.pi
        p = torch.stack([(1 + 0.35 * v.cos()) * u.cos(), (1 + 0.35 * v.cos()) * u.sin(), 0.35 * v.sin()], 1)
    else:
        u = torch.rand(n) * 2 * math.pi
        p = torch.stack([u.cos(), u.sin(), torch.rand(n) * 2 - 1], 1)
    p = p - p.mean(0)
    return p / p.norm(dim=1).max()


class ShapeSet(Dataset):
    def __init__(self, n, n_points=96, train=True):
        self.y = torch.randint(0, len(SHAPES), (n,))
        self.p = torch.stack([sample_shape(SHAPES[k], n_points) for k in self.y])
        self.train = train

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        p = self.p[i]
        if self.train:
            p = p * (torch.rand(1, 3) * 0.3 + 0.85) + torch.randn_like(p).clamp(-2, 2) * 0.01
        return p.t().contiguous(), self.y[i]


def knn(x, k):
    inner = -2 * torch.matmul(x.transpose(2, 1), x)
    xx = torch.sum(x ** 2, dim=1, keepdim=True)
    pairwise_distance = -xx - inner - xx.transpose(2, 1)
    return pairwise_distance.topk(k=k, dim=-1)[1]          # (batch_size, num_points, k)


def get_graph_feature(x, k):
    batch_size, num_dims, num_points = x.size()
    idx = knn(x, k=k).view(-1)
    x = x.transpose(2, 1).contiguous()
    feature = x.view(batch_size * num_points, -1)[idx, :]
    feature = feature.view(batch_size, num_points, k, num_dims)
    x = x.view(batch_size, num_points, 1, num_dims).repeat(1, 1, k, 1)
    return torch.cat((feature - x, x), dim=3).permute(0, 3, 1, 2).contiguous()


def edge_conv(i, o):
    return nn.Sequential(nn.Conv2d(i * 2, o, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.2))


class DGCNN(nn.Module):
    def __init__(self, k=8, n_classes=len(SHAPES)):
        super().__init__()
        self.k = k
        self.conv1, self.conv2 = edge_conv(3, 32), edge_conv(32, 32)
        self.conv3 = nn.Sequential(nn.Conv1d(64, 128, 1, bias=False), nn.BatchNorm1d(128), nn.LeakyReLU(0.2))
        self.head = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, n_classes))

    def forward(self, x):
        x1 = self.conv1(get_graph_feature(x, self.k)).max(dim=-1)[0]
        x2 = self.conv2(get_graph_feature(x1, self.k)).max(dim=-1)[0]
        x = self.conv3(torch.cat((x1, x2), dim=1))
        return self.head(x.max(dim=-1)[0])


if __name__ == "__main__":
    torch.manual_seed(int(os.environ.get("SEED", 1)))
    train_loader = DataLoader(ShapeSet(320), batch_size=16, shuffle=True, drop_last=True)
    test_loader = DataLoader(ShapeSet(96, train=False), batch_size=16)
    model = DGCNN()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 4, eta_min=1e-3)
    for epoch in range(4):
        model.train()
        seen, total = 0, 0.0
        for pts, y in train_loader:
            opt.zero_grad()
            loss = F.cross_entropy(model(pts), y, label_smoothing=0.1)
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
            seen += len(y)
        sched.step()
        model.eval()
        with torch.no_grad():
            hits = sum((model(p).argmax(1) == y).sum().item() for p, y in test_loader)
        print(f"Train {epoch}, loss: {total / seen:.4f}, test acc: {hits / len(test_loader.dataset):.4f}")
