import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class ShapesDataset(Dataset):
    """point clouds sampled on a sphere (0), a cube (1) or a cylinder (2)"""

    def __init__(self, n=60, n_points=256, seed=0):
        self.n, self.n_points = n, n_points
        self.rng = np.random.default_rng(seed)
        self.labels = self.rng.integers(0, 3, n)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        label = self.labels[i]
        pts = self.rng.normal(size=(self.n_points, 3))
        if label == 0:
            pts /= np.linalg.norm(pts, axis=1, keepdims=True)
        elif label == 1:
            pts /= np.abs(pts).max(axis=1, keepdims=True)
        else:
            pts[:, :2] /= np.linalg.norm(pts[:, :2], axis=1, keepdims=True)
            pts[:, 2] = self.rng.uniform(-1, 1, self.n_points)
        pts += self.rng.normal(scale=0.02, size=pts.shape)
        return torch.tensor(pts.T, dtype=torch.float32), int(label)


class TNet(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.k = k
        self.conv1 = nn.Conv1d(k, 64, 1)
        self.conv2 = nn.Conv1d(64, 128, 1)
        self.fc1 = nn.Linear(128, 64)
        self.fc2 = nn.Linear(64, k * k)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = torch.max(x, 2)[0]
        x = F.relu(self.fc1(x))
        eye = torch.eye(self.k).flatten()
        return (self.fc2(x) + eye).view(-1, self.k, self.k)


class PointNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.tnet = TNet(3)
        self.mlp = nn.Sequential(
            nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Conv1d(64, 256, 1), nn.BatchNorm1d(256), nn.ReLU(),
        )
        self.fc = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, n_classes))

    def forward(self, pts):
        trans = self.tnet(pts)
        pts = torch.bmm(trans, pts)
        feat = self.mlp(pts).amax(dim=2)
        return self.fc(feat)


train_loader = DataLoader(ShapesDataset(), batch_size=12, shuffle=True)
model = PointNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    correct = 0
    for points, label in train_loader:
        optimizer.zero_grad()
        pred = model(points)
        loss = criterion(pred, label)
        loss.backward()
        optimizer.step()
        correct += (pred.argmax(1) == label).sum().item()
    print("epoch %d loss %.4f acc %.3f" % (epoch, loss.item(), correct / len(train_loader.dataset)))
