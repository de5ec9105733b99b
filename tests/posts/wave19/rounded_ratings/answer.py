import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split


class ReviewScores(Dataset):
    """Eight numeric features of a product review and the stars (1 to 5) given."""

    def __init__(self, n=1200, seed=3):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, 8))
        hidden = 3 + 0.9 * x[:, 0] - 0.6 * x[:, 1] + 0.5 * np.tanh(x[:, 2] * x[:, 3]) + 0.2 * rng.normal(size=n)
        self.x = torch.tensor(x, dtype=torch.float32)
        self.y = torch.tensor(np.clip(np.rint(hidden), 1, 5), dtype=torch.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class StarNet(nn.Module):
    def __init__(self, n_features=8, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_features, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        stars = 3 + self.net(x).squeeze(1)
        return stars


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    total, hits, count = 0.0, 0, 0
    for x, y in loader:
        with torch.set_grad_enabled(optimizer is not None):
            pred = model(x)
            loss = criterion(pred, y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item() * len(y)
        hits += (pred.round().clamp(1, 5) == y).sum().item()
        count += len(y)
    return total / count, hits / count


def main():
    torch.manual_seed(0)
    data = ReviewScores()
    train_set, val_set = random_split(data, [1000, 200])
    train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=200)

    model = StarNet()
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, 21):
        train_loss, train_acc = run_epoch(model, train_loader, criterion, optimizer)
        val_loss, val_acc = run_epoch(model, val_loader, criterion)
        if epoch % 5 == 0 or epoch == 1:
            print(f"{epoch:3d} train {train_loss:.3f} ({train_acc:.1%})  val {val_loss:.3f} ({val_acc:.1%})")


if __name__ == "__main__":
    main()
