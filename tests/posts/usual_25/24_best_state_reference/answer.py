import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_series(n=900, seed=0):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(n, dtype=torch.float32)
    load = torch.sin(2 * torch.pi * t / 24) + 0.5 * torch.sin(2 * torch.pi * t / 168)
    return load + 0.6 * torch.randn(n, generator=g)


def make_windows(series, length=48):
    x = series.unfold(0, length + 1, 1)
    return x[:, :-1].unsqueeze(-1), x[:, -1]


class LoadGRU(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        _, h = self.gru(x)
        return self.head(h[-1]).squeeze(-1)


class EarlyStopping:
    def __init__(self, patience=8):
        self.patience = patience
        self.best_loss = float("inf")
        self.best_state = None
        self.counter = 0

    def step(self, val_loss, model):
        if val_loss < self.best_loss:
            self.best_loss = val_loss
            self.best_state = copy.deepcopy(model.state_dict())
            self.counter = 0
        else:
            self.counter += 1
        return self.counter >= self.patience


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x), y).item()


def main():
    torch.manual_seed(0)
    series = make_series()
    x_train, y_train = make_windows(series[:300])
    x_val, y_val = make_windows(series[300:600])
    x_test, y_test = make_windows(series[600:])
    loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)

    model = LoadGRU()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    stopper = EarlyStopping()
    for epoch in range(40):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        val_loss = evaluate(model, x_val, y_val)
        if stopper.step(val_loss, model):
            print(f"stopped at epoch {epoch}, last val {val_loss:.4f}")
            break

    model.load_state_dict(stopper.best_state)
    print(f"best val {stopper.best_loss:.4f}, restored val {evaluate(model, x_val, y_val):.4f}")
    print(f"test mse {evaluate(model, x_test, y_test):.4f}")


if __name__ == "__main__":
    main()
