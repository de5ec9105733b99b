import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

NAMES = ["sphere", "cube", "cylinder"]


def sample_shape(kind, n, rng):
    if kind == 0:
        p = rng.normal(size=(n, 3))
        return p / np.linalg.norm(p, axis=1, keepdims=True)
    if kind == 1:
        p = rng.uniform(-1, 1, (n, 3))
        axis = rng.integers(0, 3, n)
        p[np.arange(n), axis] = np.sign(p[np.arange(n), axis])
        return p
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.stack([np.cos(angle), np.sin(angle), rng.uniform(-1, 1, n)], axis=1)


class ShapeScans(Dataset):
    def __init__(self, count, n_points=128, seed=0):
        rng = np.random.default_rng(seed)
        self.n_points = n_points
        self.items = []
        for _ in range(count):
            kind = int(rng.integers(len(NAMES)))
            cloud = sample_shape(kind, int(rng.integers(100, 300)), rng)
            cloud = cloud + rng.normal(0, 0.03, cloud.shape)
            self.items.append((cloud, kind))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        cloud, label = self.items[index]
        cloud = cloud - cloud.mean(axis=0)
        return torch.from_numpy(cloud).float().T, label


class PointNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.conv1 = nn.Conv1d(3, 32, 1)
        self.conv2 = nn.Conv1d(32, 64, 1)
        self.conv3 = nn.Conv1d(64, 128, 1)
        self.bn1 = nn.BatchNorm1d(32)
        self.bn2 = nn.BatchNorm1d(64)
        self.bn3 = nn.BatchNorm1d(128)
        self.classifier = nn.Sequential(
            nn.Linear(128, 64),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.Linear(64, n_classes),
        )

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = F.relu(self.bn3(self.conv3(x)))
        x = x.max(dim=2)
        return self.classifier(x)


def train(epoch):
    model.train()
    total = 0.0
    for points, label in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(points), label)
        loss.backward()
        optimizer.step()
        total += loss.item() * points.size(0)
    print('Epoch: {} \tLoss: {:.4f}'.format(epoch, total / len(train_loader.dataset)))


def test():
    model.eval()
    correct = 0
    with torch.no_grad():
        for points, label in test_loader:
            pred = model(points).data.max(1, keepdim=True)[1]
            correct += pred.eq(label.view_as(pred)).sum().item()
    print('Test accuracy: {}/{} ({:.1f}%)'.format(
        correct, len(test_loader.dataset), 100. * correct / len(test_loader.dataset)))


np.random.seed(1)
torch.manual_seed(1)
train_loader = DataLoader(ShapeScans(320, seed=1), batch_size=32, shuffle=True)
test_loader = DataLoader(ShapeScans(80, seed=2), batch_size=32, shuffle=False)
model = PointNet(len(NAMES))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.NLLLoss()

for epoch in range(1, 6):
    train(epoch)
    test()
