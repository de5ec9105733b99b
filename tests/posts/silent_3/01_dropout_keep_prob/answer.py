import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

KEEP_PROB = 0.9
EPOCHS = 12
BATCH_SIZE = 64


def make_glyphs(n, rng):
    prototypes = np.random.default_rng(3).random((10, 64)) > 0.55
    y = rng.integers(0, 10, size=n)
    x = prototypes[y].astype(np.float32)
    noise = rng.random(x.shape) < 0.18
    x = np.where(noise, 1 - x, x) + 0.25 * rng.standard_normal(x.shape)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


class GlyphNet(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.fc1 = nn.Linear(64, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 10)
        self.drop = nn.Dropout(1 - KEEP_PROB)

    def forward(self, x):
        x = self.drop(torch.relu(self.fc1(x)))
        x = self.drop(torch.relu(self.fc2(x)))
        return self.out(x)


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(dim=1) == y).sum().item()
    return correct / len(loader.dataset)


torch.manual_seed(0)
rng = np.random.default_rng(0)
train_loader = DataLoader(TensorDataset(*make_glyphs(3000, rng)), batch_size=BATCH_SIZE, shuffle=True)
test_loader = DataLoader(TensorDataset(*make_glyphs(1000, rng)), batch_size=BATCH_SIZE)

model = GlyphNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    print(f"epoch {epoch + 1:2d}  train loss {total / len(train_loader.dataset):.3f}  "
          f"test acc {evaluate(model, test_loader):.3f}")
