import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader, Subset

SEED = 7
random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)


class Sensors(Dataset):
    """Readings of nine sensors of a pump, and whether it failed within a week."""

    def __init__(self, count=161, sensors=9):
        self.readings = np.random.randn(count, sensors).astype(np.float32)
        risk = self.readings[:, :3].sum(axis=1)
        self.failed = (risk > 0.5).astype(np.int64)

    def __len__(self):
        return len(self.readings)

    def __getitem__(self, index):
        return torch.from_numpy(self.readings[index]), int(self.failed[index])


class PumpNet(nn.Module):
    def __init__(self, sensors=9, hidden=24):
        super().__init__()
        self.fc1 = nn.Linear(sensors, hidden)
        self.bn1 = nn.BatchNorm1d(hidden)
        self.fc2 = nn.Linear(hidden, 2)

    def forward(self, x):
        x = torch.relu(self.bn1(self.fc1(x)))
        return self.fc2(x)


data = Sensors()
order = list(range(len(data)))
random.shuffle(order)
train_set, test_set = Subset(data, order[:129]), Subset(data, order[129:])
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
test_loader = DataLoader(test_set, batch_size=32)

net = PumpNet()
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)

for epoch in range(3):
    net.train()
    for x, y in train_loader:
        opt.zero_grad()
        loss = loss_fn(net(x), y)
        loss.backward()
        opt.step()

    net.eval()
    hits = 0
    with torch.no_grad():
        for x, y in test_loader:
            hits += (net(x).argmax(dim=1) == y).sum().item()
    print(f"epoch {epoch}: last loss {loss.item():.4f}, accuracy {hits / len(test_set):.3f}")
