import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class VibrationDataset(Dataset):
    """Windows of a vibration sensor, one of 10 machine states."""

    def __init__(self, n=600, seed=0):
        g = torch.Generator().manual_seed(seed)
        t = torch.arange(128) / 128
        self.y = torch.randint(0, 10, (n,), generator=g)
        freq = 3 + 2 * self.y.float()
        phase = 6.28 * torch.rand(n, 1, generator=g)
        clean = torch.sin(6.28 * freq.unsqueeze(1) * t + phase)
        self.x = (clean + 0.4 * torch.randn(n, 128, generator=g)).unsqueeze(1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class StateNet(nn.Module):
    def __init__(self, n_states=10):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 7, padding=3)
        self.conv2 = nn.Conv1d(16, 32, 7, padding=3)
        self.pool = nn.MaxPool1d(4)
        self.fc1 = nn.Linear(32 * 8, 64)
        self.fc2 = nn.Linear(64, n_states)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return F.softmax(x, dim=1)


def accuracy(model, loader):
    model.eval()
    hits, n = 0, 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()
            n += len(y)
    return hits / n


torch.manual_seed(0)
train_loader = DataLoader(VibrationDataset(600, 0), batch_size=32, shuffle=True)
test_loader = DataLoader(VibrationDataset(200, 1), batch_size=100)

model = StateNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(8):
    model.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch}: loss {running / len(train_loader):.4f} test acc {accuracy(model, test_loader):.3f}")
