import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class WindowDataset(Dataset):
    def __init__(self, series, window=24):
        self.series = torch.tensor(series, dtype=torch.float32)
        self.window = window

    def __len__(self):
        return len(self.series) - self.window

    def __getitem__(self, i):
        x = self.series[i:i + self.window].unsqueeze(-1)
        y = self.series[i + self.window]
        return x, y


class GRUForecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.gru(x)
        return self.fc(out[:, -1, :]).squeeze(-1)


def load_demand(n=900):
    rng = np.random.default_rng(4)
    t = np.arange(n)
    demand = 10 + 3 * np.sin(2 * np.pi * t / 24) + np.sin(2 * np.pi * t / 168) + 0.2 * rng.normal(size=n)
    return (demand - demand.mean()) / demand.std()


def train(model, loader, epochs=6, lr=5e-3):
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        losses = []
        for x, y in loader:
            pred = model(x)
            loss = loss_fn(pred, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1}: mse {np.mean(losses):.4f}")


torch.manual_seed(0)
series = load_demand()
train_loader = DataLoader(WindowDataset(series[:700]), batch_size=32, shuffle=True)
model = GRUForecaster()
train(model, train_loader)

model.eval()
test_set = WindowDataset(series[700:])
with torch.no_grad():
    preds = [model(x.unsqueeze(0)).item() for x, _ in test_set]
print("std of predictions:", np.std(preds), "std of demand:", np.std(series[700:]))
