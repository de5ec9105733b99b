"""Multi-scale dilated convolutions for heart-beat classification (single-lead ECG, simulated)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import confusion_matrix
from torch.utils.data import DataLoader, TensorDataset

BEATS = ["normal", "premature", "wide"]
T = 80


def beats(n, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(T)
    y = rng.integers(0, 3, n)
    centre = np.where(y == 1, 26, 40) + rng.normal(0, 2, n)
    width = np.where(y == 2, 6.0, 2.0) * rng.uniform(0.9, 1.1, n)
    qrs = np.exp(-0.5 * ((t - centre[:, None]) / width[:, None]) ** 2)
    twave = 0.3 * np.exp(-0.5 * ((t - centre[:, None] - 20) / 5) ** 2)
    x = qrs + twave + 0.15 * rng.standard_normal((n, T))
    return TensorDataset(torch.tensor(x[:, None], dtype=torch.float32), torch.tensor(y))


class MultiScaleBlock(nn.Module):
    def __init__(self, channels, dilations=(1, 2, 4, 8)):
        super().__init__()
        self.branches = []
        for d in dilations:
            self.branches.append(nn.Sequential(
                nn.Conv1d(channels, channels // len(dilations), 5, padding=2 * d, dilation=d),
                nn.ReLU(),
            ))
        self.mix = nn.Conv1d(channels, channels, 1)
        self.norm = nn.GroupNorm(2, channels)

    def forward(self, x):
        y = torch.cat([branch(x) for branch in self.branches], dim=1)
        return x + F.relu(self.norm(self.mix(y)))


class BeatNet(nn.Module):
    def __init__(self, channels=16, depth=3):
        super().__init__()
        self.stem = nn.Conv1d(1, channels, 3, padding=1)
        self.blocks = nn.Sequential(*[MultiScaleBlock(channels) for _ in range(depth)])
        self.head = nn.Linear(2 * channels, len(BEATS))

    def forward(self, x):
        h = self.blocks(self.stem(x))
        pooled = torch.cat([h.mean(-1), h.amax(-1)], dim=1)
        return self.head(pooled)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(beats(360, 0), batch_size=24, shuffle=True)
    test_loader = DataLoader(beats(120, 1), batch_size=60)
    model = BeatNet()
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5)

    for epoch in range(5):
        model.train()
        running = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        scheduler.step()
        print(f"epoch {epoch}: loss {running / len(train_loader):.4f}")

    model.eval()
    truth, guess = [], []
    with torch.no_grad():
        for x, y in test_loader:
            guess += model(x).argmax(1).tolist()
            truth += y.tolist()
    print(confusion_matrix(truth, guess))
    print("accuracy", np.mean(np.array(truth) == np.array(guess)).round(3))


if __name__ == "__main__":
    main()
