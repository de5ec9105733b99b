import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_windows(series, window, horizon=1):
    xs, ys = [], []
    for i in range(len(series) - window - horizon + 1):
        xs.append(series[i:i + window])
        ys.append(series[i + window:i + window + horizon])
    return torch.tensor(np.array(xs), dtype=torch.float32), torch.tensor(np.array(ys), dtype=torch.float32)


class TCN(nn.Module):
    def __init__(self, window, channels=32):
        super().__init__()
        self.conv1 = nn.Conv1d(1, channels, 3, padding=1)
        self.conv2 = nn.Conv1d(channels, channels, 3, padding=2, dilation=2)
        self.head = nn.Linear(channels * window, 1)

    def forward(self, x):
        h = torch.relu(self.conv1(x.unsqueeze(1)))
        h = torch.relu(self.conv2(h))
        return self.head(h.flatten(1))


class Trainer:
    def __init__(self, model, lr=3e-3, patience=5):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.MSELoss()
        self.patience = patience
        self.best_loss = float("inf")
        self.best_state = None

    def validate(self, loader):
        self.model.eval()
        total, n = 0.0, 0
        with torch.no_grad():
            for x, y in loader:
                total += self.criterion(self.model(x), y).item() * len(x)
                n += len(x)
        return total / n

    def fit(self, train_loader, val_loader, epochs=40):
        wait = 0
        for epoch in range(epochs):
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
                    print("early stop at epoch", epoch)
                    break
        self.model.load_state_dict(self.best_state)


if __name__ == "__main__":
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    t = np.arange(500)
    series = np.sin(2 * np.pi * t / 25) + 0.3 * rng.standard_normal(500)
    train_x, train_y = make_windows(series[:350], 20)
    val_x, val_y = make_windows(series[350:], 20)
    train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=32, shuffle=True)
    val_loader = DataLoader(TensorDataset(val_x, val_y), batch_size=64)

    trainer = Trainer(TCN(20))
    trainer.fit(train_loader, val_loader)
    print("best val loss", trainer.best_loss)
    print("val loss of the restored model", trainer.validate(val_loader))
