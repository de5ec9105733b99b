import torch
from torch import nn, optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset


class SpiralDataset(Dataset):
    def __init__(self, per_arm, arms=3, noise=0.15, seed=0):
        g = torch.Generator().manual_seed(seed)
        xs, ys = [], []
        for arm in range(arms):
            r = torch.linspace(0.1, 1.0, per_arm)
            theta = torch.linspace(arm * 4.0, arm * 4.0 + 4.0, per_arm)
            theta = theta + noise * torch.randn(per_arm, generator=g)
            xs.append(torch.stack([r * theta.sin(), r * theta.cos()], dim=1))
            ys.append(torch.full((per_arm,), arm))
        self.x, self.y = torch.cat(xs), torch.cat(ys)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class FourierFeatures(nn.Module):
    def __init__(self, n, scale):
        super().__init__()
        self.register_buffer("freq", torch.randn(2, n) * scale)

    def forward(self, x):
        z = x @ self.freq
        return torch.cat([z.sin(), z.cos()], dim=-1)


class SpiralNet(nn.Module):
    def __init__(self, n_freq=16, width=64, n_classes=3):
        super().__init__()
        self.feats = FourierFeatures(n_freq, scale=1.0)
        self.body = nn.Sequential(
            nn.Linear(2 * n_freq, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
        )
        self.head = nn.Linear(width, n_classes)

    def forward(self, x):
        return self.head(self.body(self.feats(x)))


class Runner:
    def __init__(self, model, train_loader, test_loader, epochs):
        self.model = model
        self.train_loader = train_loader
        self.test_loader = test_loader
        self.epochs = epochs
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
        self.scheduler = StepLR(self.optimizer, step_size=10, gamma=0.3)

    def train_epoch(self):
        self.model.train()
        losses = []
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    @torch.no_grad()
    def test(self):
        self.model.eval()
        correct = 0
        for x, y in self.test_loader:
            correct += (self.model(x).argmax(1) == y).sum().item()
        return correct / len(self.test_loader.dataset)

    def run(self):
        for epoch in range(1, self.epochs + 1):
            loss = self.train_epoch()
            if epoch % 6 == 0:
                print(f"epoch {epoch:3d}  loss {loss:.4f}  test acc {self.test():.3f}")


if __name__ == "__main__":
    torch.manual_seed(77)
    train_loader = DataLoader(SpiralDataset(200, seed=1), batch_size=32, shuffle=True)
    test_loader = DataLoader(SpiralDataset(60, seed=2), batch_size=180)
    Runner(SpiralNet(), train_loader, test_loader, epochs=30).run()
