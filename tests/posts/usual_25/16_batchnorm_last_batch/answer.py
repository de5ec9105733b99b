import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class ShapePoints(Dataset):
    """Point clouds of spheres, cubes and cylinders."""

    def __init__(self, n, n_points=128, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.data = []
        for i in range(n):
            label = i % 3
            p = torch.randn(n_points, 3, generator=g)
            if label == 0:
                p = F.normalize(p, dim=1)
            elif label == 1:
                p = p / p.abs().max(dim=1, keepdim=True).values
            else:
                p[:, :2] = F.normalize(p[:, :2], dim=1)
                p[:, 2] = p[:, 2].clamp(-1, 1)
            self.data.append((p, label))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i]


class PointNetCls(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.conv1 = nn.Conv1d(3, 32, 1)
        self.conv2 = nn.Conv1d(32, 64, 1)
        self.bn1 = nn.BatchNorm1d(32)
        self.bn2 = nn.BatchNorm1d(64)
        self.fc1 = nn.Linear(64, 32)
        self.bn3 = nn.BatchNorm1d(32)
        self.fc2 = nn.Linear(32, num_classes)

    def forward(self, points):
        x = points.transpose(1, 2)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = x.max(dim=2).values
        x = F.relu(self.bn3(self.fc1(x)))
        return self.fc2(x)


class Trainer:
    def __init__(self, model, train_set, test_set, batch_size=16, lr=1e-3):
        self.model = model
        self.train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True, drop_last=True)
        self.test_loader = DataLoader(test_set, batch_size=batch_size)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def train_epoch(self):
        self.model.train()
        total, count = 0.0, 0
        for points, labels in self.train_loader:
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(points), labels)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(labels)
            count += len(labels)
        return total / count

    @torch.no_grad()
    def test(self):
        self.model.eval()
        hits = sum((self.model(p).argmax(1) == y).sum().item() for p, y in self.test_loader)
        return hits / len(self.test_loader.dataset)

    def fit(self, epochs):
        for epoch in range(epochs):
            loss = self.train_epoch()
            print(f"epoch {epoch}: loss {loss:.4f} test acc {self.test():.3f}")


torch.manual_seed(0)
trainer = Trainer(PointNetCls(), ShapePoints(241), ShapePoints(60, seed=1))
trainer.fit(4)
