# line 35: val_hits is counted and never read: the validation accuracy is train_hits over the number of validation samples
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def rings(n):
    y = torch.randint(2, (n,))
    a, r = torch.rand(n) * 6.28, 1 + y + 0.2 * torch.randn(n)
    return TensorDataset(torch.stack([r * a.cos(), r * a.sin()], 1), y)


def train_model(model, train_loader, val_loader, lr, epochs):
    loss_fn = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    curve = {"train": [], "val": []}
    for epoch in range(epochs):
        train_hits = train_seen = 0
        model.train()
        for xb, yb in train_loader:
            scores = model(xb)
            loss = loss_fn(scores, yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            train_hits += scores.detach().max(1)[1].eq(yb).sum().item()
            train_seen += yb.numel()
        curve["train"].append(train_hits / train_seen)
        val_hits = val_seen = 0
        model.eval()
        with torch.no_grad():
            for xb, yb in val_loader:
                val_hits += model(xb).max(1)[1].eq(yb).sum().item()
                val_seen += yb.numel()
        curve["val"].append(train_hits / val_seen)
    return curve


torch.manual_seed(0)
fit_set, val_set = random_split(rings(400), [200, 200])
net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
result = train_model(net, DataLoader(fit_set, 20, shuffle=True), DataLoader(val_set, 50), 0.02, 4)
print(result)
