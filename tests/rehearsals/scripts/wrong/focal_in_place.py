import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Galaxies(Dataset):
    """Which of five features does a galaxy show? Several may be true, all are rare."""

    def __init__(self, n=80):
        rng = np.random.default_rng(6)
        self.x = rng.normal(size=(n, 1, 24, 24)).astype(np.float32)
        self.y = (rng.random((n, 5)) < 0.15).astype(np.float32)
        self.x[:, 0, :5, :5] += self.y[:, None, :]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), torch.from_numpy(self.y[i])


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=0.25, smooth=0.02):
        super().__init__()
        self.gamma, self.alpha, self.smooth = gamma, alpha, smooth

    def forward(self, logits, targets):
        p = torch.sigmoid(logits)
        focus = targets * (1 - p) ** self.gamma + (1 - targets) * p ** self.gamma
        p.mul_(1 - 2 * self.smooth).add_(self.smooth)
        entropy = -(targets * p.log() + (1 - targets) * (1 - p).log())
        weight = targets * self.alpha + (1 - targets) * (1 - self.alpha)
        return (weight * focus * entropy).mean()


def build():
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * 4 * 4, 5))


def main():
    torch.manual_seed(0)
    loader = DataLoader(Galaxies(), batch_size=16, shuffle=True)
    model, criterion = build(), FocalLoss()
    optimizer = optim.RMSprop(model.parameters(), lr=1e-3)
    for epoch in range(2):
        model.train()
        epoch_loss = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item() * x.size(0)
        print("epoch", epoch, "loss", round(epoch_loss / len(loader.dataset), 5))


if __name__ == "__main__":
    main()
