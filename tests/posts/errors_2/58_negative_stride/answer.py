import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Spectrograms(Dataset):
    def __init__(self, n, train=True):
        rng = np.random.default_rng(0 if train else 1)
        self.labels = rng.integers(0, 2, n)
        self.data = rng.normal(0, 0.3, size=(n, 20, 30)).astype(np.float32)
        for i, label in enumerate(self.labels):
            row = 4 if label else 14
            self.data[i, row : row + 2] += 1.0
        self.train = train
        self.rng = rng

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        spec = self.data[i]
        if self.train and self.rng.random() < 0.5:
            spec = spec[:, ::-1].copy()
        x = torch.from_numpy(spec).unsqueeze(0)
        return x, int(self.labels[i])


train_loader = DataLoader(Spectrograms(240), batch_size=24, shuffle=True)
test_loader = DataLoader(Spectrograms(80, train=False), batch_size=40)

model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(8 * 10 * 15, 2),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in test_loader)
    print(f"epoch {epoch} loss {loss.item():.3f} test acc {hits / 80:.3f}")
