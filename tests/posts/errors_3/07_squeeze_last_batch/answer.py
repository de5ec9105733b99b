import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class RiskModel(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


def collect_predictions(model, loader):
    rows = []
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            scores = torch.sigmoid(model(x)).squeeze(1)
            for s, target in zip(scores, y):
                rows.append((s.item(), int(target)))
    return rows


x = torch.randn(257, 12)
y = (x[:, :3].sum(1) > 0).float()
train = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True, drop_last=True)
valid = DataLoader(TensorDataset(x, y), batch_size=64)

model = RiskModel(12)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.BCEWithLogitsLoss()
for epoch in range(5):
    model.train()
    for xb, yb in train:
        loss = loss_fn(model(xb).squeeze(1), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()

rows = collect_predictions(model, valid)
correct = sum((s > 0.5) == bool(t) for s, t in rows)
print(f"{correct}/{len(rows)} correct")
