import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class BikeRentals(Dataset):
    def __init__(self, hours=144):
        rng = np.random.RandomState(2)
        hour = np.arange(hours) % 24
        temperature = 15 + 10 * np.sin(hour / 24 * 2 * np.pi) + rng.randn(hours)
        self.features = np.stack([np.sin(hour / 24 * 6.28), np.cos(hour / 24 * 6.28),
                                  temperature / 30], axis=1).astype("float32")
        self.counts = rng.poisson(np.maximum(temperature, 1) * 4)

    def __len__(self):
        return len(self.counts)

    def __getitem__(self, i):
        features = torch.tensor(self.features[i])
        count = torch.tensor([self.counts[i]])
        return features, count


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


def fit(model, loader, epochs, lr):
    criterion = nn.HuberLoss(delta=10.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    history = []
    for epoch in range(epochs):
        total, n = 0.0, 0
        for x, y in loader:
            pred = model(x)
            loss = criterion(pred, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * x.shape[0]
            n += x.shape[0]
        history.append(total / n)
    return history


torch.manual_seed(0)
history = fit(Model(), DataLoader(BikeRentals(), batch_size=24, shuffle=True), epochs=3, lr=1e-2)
print([round(h, 2) for h in history])
