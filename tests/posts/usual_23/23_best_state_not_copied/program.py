import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def load_series(n=400, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    return (np.sin(t / 6) + 0.5 * np.sin(t / 17) + 0.4 * rng.normal(size=n)).astype(np.float32)


def windows(series, lookback):
    x = np.stack([series[i : i + lookback] for i in range(len(series) - lookback)])
    y = series[lookback:]
    return torch.from_numpy(x).unsqueeze(-1), torch.from_numpy(y).unsqueeze(-1)


class GRUForecaster(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.gru(x)
        return self.fc(out[:, -1])


class Trainer:
    def __init__(self, model, lr=1e-2, patience=8):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.MSELoss()
        self.patience = patience
        self.best_loss = float("inf")
        self.best_state = None

    def validate(self, loader):
        self.model.eval()
        total = 0.0
        with torch.no_grad():
            for x, y in loader:
                total += self.criterion(self.model(x), y).item() * len(x)
        return total / len(loader.dataset)

    def fit(self, train_loader, val_loader, max_epochs=60):
        wait = 0
        for epoch in range(max_epochs):
            self.model.train()
            for x, y in train_loader:
                self.optimizer.zero_grad()
                self.criterion(self.model(x), y).backward()
                self.optimizer.step()
            val_loss = self.validate(val_loader)
            if val_loss < self.best_loss:
                self.best_loss = val_loss
                self.best_state = self.model.state_dict()
                wait = 0
            else:
                wait += 1
                if wait >= self.patience:
                    print(f"early stop at epoch {epoch}, best val {self.best_loss:.4f}")
                    break
        self.model.load_state_dict(self.best_state)


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    series = load_series()
    lookback = 20
    train_x, train_y = windows(series[:250], lookback)
    val_x, val_y = windows(series[250:320], lookback)
    test_x, test_y = windows(series[320:], lookback)

    train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=16, shuffle=True)
    val_loader = DataLoader(TensorDataset(val_x, val_y), batch_size=64)
    test_loader = DataLoader(TensorDataset(test_x, test_y), batch_size=64)

    trainer = Trainer(GRUForecaster())
    trainer.fit(train_loader, val_loader)
    print(f"restored model: val {trainer.validate(val_loader):.4f} test {trainer.validate(test_loader):.4f}")
