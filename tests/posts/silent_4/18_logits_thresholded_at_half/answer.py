import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class FraudDataset(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, 10)).astype(np.float32)
        score = 1.2 * x[:, 0] - 0.8 * x[:, 4] + rng.logistic(scale=0.8, size=n) - 0.3
        self.x = torch.from_numpy(x)
        self.y = torch.from_numpy((score > 0).astype(np.float32))

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


train_loader = DataLoader(FraudDataset(2000, 0), batch_size=50, shuffle=True)
test_loader = DataLoader(FraudDataset(1000, 1), batch_size=200)

net = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 1), nn.Flatten(0))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

for epoch in range(8):
    net.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()

net.eval()
tp = fp = fn = tn = 0
with torch.no_grad():
    for x, y in test_loader:
        output = net(x)
        pred = (torch.sigmoid(output) > 0.5).float()
        tp += ((pred == 1) & (y == 1)).sum().item()
        fp += ((pred == 1) & (y == 0)).sum().item()
        fn += ((pred == 0) & (y == 1)).sum().item()
        tn += ((pred == 0) & (y == 0)).sum().item()

print(f"accuracy {(tp + tn) / (tp + fp + fn + tn):.3f}")
print(f"precision {tp / (tp + fp):.3f} recall {tp / (tp + fn):.3f}")
