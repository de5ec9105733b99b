import math
import random

import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

SAMPLE_RATE = 8000


class KeywordDataset(Dataset):
    """Clips of spoken keywords, as waveforms of shape (1, num_samples)."""

    labels = ["yes", "no", "stop", "go"]

    def __init__(self, size=120):
        rnd = random.Random(3)
        self.items = []
        for _ in range(size):
            label = rnd.randrange(len(self.labels))
            duration = rnd.uniform(0.6, 1.0)
            t = torch.arange(int(duration * SAMPLE_RATE)) / SAMPLE_RATE
            wave = torch.sin(2 * math.pi * (200 + 150 * label) * t)
            wave = wave + 0.1 * torch.randn_like(wave)
            self.items.append((wave.unsqueeze(0), label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


class M3(nn.Module):
    def __init__(self, n_classes=4, channels=32):
        super().__init__()
        self.conv1 = nn.Conv1d(1, channels, kernel_size=80, stride=16)
        self.bn1 = nn.BatchNorm1d(channels)
        self.pool1 = nn.MaxPool1d(4)
        self.conv2 = nn.Conv1d(channels, channels, kernel_size=3)
        self.bn2 = nn.BatchNorm1d(channels)
        self.fc = nn.Linear(channels, n_classes)

    def forward(self, x):
        x = self.pool1(torch.relu(self.bn1(self.conv1(x))))
        x = torch.relu(self.bn2(self.conv2(x)))
        x = x.mean(dim=-1)
        return self.fc(x)


def train(model, loader, optimizer, epoch):
    model.train()
    criterion = nn.CrossEntropyLoss()
    for batch_idx, (data, target) in enumerate(loader):
        output = model(data)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"Train epoch {epoch} loss {loss.item():.4f}")


torch.manual_seed(0)
train_set = KeywordDataset()
train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
model = M3()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(1, 4):
    train(model, train_loader, optimizer, epoch)
