"""Find broken pumps from vibration signals with a convolutional autoencoder."""
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import roc_auc_score
from torch.utils.data import DataLoader, TensorDataset

LENGTH = 128
SENSORS = 3


def vibration(n, broken, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(LENGTH) / LENGTH
    signals = np.zeros((n, LENGTH, SENSORS), dtype=np.float32)
    for i in range(n):
        freq = rng.uniform(6, 8)
        for s in range(SENSORS):
            signals[i, :, s] = np.sin(2 * np.pi * freq * t + s + rng.uniform(-0.2, 0.2))
            if broken[i]:
                signals[i, :, s] += 0.5 * np.sin(2 * np.pi * 25 * t) * (rng.random(LENGTH) < 0.5)
        signals[i] += 0.1 * rng.standard_normal((LENGTH, SENSORS))
    return torch.from_numpy(signals).permute(0, 2, 1)


class ConvAutoencoder(nn.Module):
    def __init__(self, channels=SENSORS, hidden=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(channels, hidden, 7, stride=2, padding=3),
            nn.ReLU(),
            nn.Conv1d(hidden, hidden // 2, 5, stride=4, padding=2),
            nn.ReLU(),
        )
        self.decoder = nn.Sequential(
            nn.Upsample(scale_factor=4),
            nn.Conv1d(hidden // 2, hidden, 5, padding=2),
            nn.ReLU(),
            nn.Upsample(scale_factor=2),
            nn.Conv1d(hidden, channels, 7, padding=3),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Trainer:
    def __init__(self, model, lr=3e-3, patience=3, path=None):
        self.model = model
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.patience = patience
        self.path = path
        self.best = float("inf")
        self.waiting = 0

    def run_epoch(self, loader, train):
        self.model.train(train)
        losses = []
        for (x,) in loader:
            with torch.set_grad_enabled(train):
                loss = self.criterion(self.model(x), x)
            if train:
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            losses.append(loss.item())
        return float(np.mean(losses))

    def fit(self, train_loader, val_loader, epochs):
        for epoch in range(epochs):
            train_loss = self.run_epoch(train_loader, True)
            val_loss = self.run_epoch(val_loader, False)
            print(f"epoch {epoch + 1:2d}  train {train_loss:.4f}  val {val_loss:.4f}")
            if val_loss < self.best:
                self.best, self.waiting = val_loss, 0
                torch.save(self.model, self.path)
            else:
                self.waiting += 1
                if self.waiting >= self.patience:
                    print("early stop")
                    break

    def load_best(self):
        self.model = torch.load(self.path, weights_only=False)
        self.model.eval()
        return self.model


def main():
    torch.manual_seed(14)
    train_x = vibration(400, np.zeros(400), 1)
    val_x = vibration(80, np.zeros(80), 2)
    broken = np.random.default_rng(3).random(120) < 0.3
    test_x = vibration(120, broken, 4)
    train_loader = DataLoader(TensorDataset(train_x), batch_size=32, shuffle=True)
    val_loader = DataLoader(TensorDataset(val_x), batch_size=32)

    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(ConvAutoencoder(), path=os.path.join(folder, "best.pt"))
        trainer.fit(train_loader, val_loader, epochs=10)
        model = trainer.load_best()

    with torch.no_grad():
        errors = ((model(test_x) - test_x) ** 2).mean(dim=(1, 2))
    print(f"AUC on {broken.sum()} broken of {len(broken)} pumps: {roc_auc_score(broken, errors.numpy()):.3f}")


if __name__ == "__main__":
    main()
