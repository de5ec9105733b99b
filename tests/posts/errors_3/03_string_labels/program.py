import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

rng = np.random.default_rng(3)
SPECIES = ["setosa", "versicolor", "virginica"]


def make_records(n=150):
    rows = []
    for i in range(n):
        k = i % 3
        measures = rng.normal(loc=[5 + k, 3 - 0.2 * k, 1.5 + 2 * k, 0.3 + k], scale=0.3)
        rows.append((measures.astype("float32"), SPECIES[k]))
    return rows


class FlowerDataset(Dataset):
    def __init__(self, records):
        self.x = torch.tensor(np.stack([m for m, _ in records]))
        self.y = torch.tensor([s for _, s in records])

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


train = FlowerDataset(make_records())
loader = DataLoader(train, batch_size=30, shuffle=True)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(5):
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
