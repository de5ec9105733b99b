import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class WaferMaps(Dataset):
    """Binary maps of failing dies with one of five defect patterns."""

    def __init__(self, n, seed):
        gen = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.linspace(-1, 1, 26), torch.linspace(-1, 1, 26), indexing="ij")
        radius = (xx ** 2 + yy ** 2).sqrt()
        self.labels = torch.randint(0, 5, (n,), generator=gen)
        patterns = torch.stack([
            (radius < 0.35).float(),
            ((radius > 0.4) & (radius < 0.7)).float(),
            (radius > 0.8).float(),
            (xx.abs() < 0.12).float(),
            torch.zeros_like(radius),
        ])
        prob = 0.15 + 0.35 * patterns[self.labels]
        self.maps = torch.bernoulli(prob, generator=gen).unsqueeze(1)

    def __len__(self):
        return len(self.maps)

    def __getitem__(self, i):
        return self.maps[i], self.labels[i]


class WaferNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(32 * 16, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, classes)
        )

    def forward(self, x):
        return self.classifier(self.features(x))


class Trainer:
    def __init__(self, model, train_loader, valid_loader, lr=1e-3):
        self.model = model
        self.train_loader = train_loader
        self.valid_loader = valid_loader
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def train_epoch(self):
        total = 0.0
        for maps, labels in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(maps), labels)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * labels.size(0)
        return total / len(self.train_loader.dataset)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        correct = 0
        for maps, labels in self.valid_loader:
            correct += (self.model(maps).argmax(dim=1) == labels).sum().item()
        return correct / len(self.valid_loader.dataset)

    def fit(self, epochs):
        self.model.train()
        history = []
        for epoch in range(epochs):
            train_loss = self.train_epoch()
            accuracy = self.evaluate()
            history.append((train_loss, accuracy))
            print(f"[{epoch + 1}/{epochs}] loss {train_loss:.4f} acc {accuracy:.3f}")
        return history


if __name__ == "__main__":
    torch.manual_seed(11)
    train_loader = DataLoader(WaferMaps(400, seed=1), batch_size=32, shuffle=True)
    valid_loader = DataLoader(WaferMaps(200, seed=2), batch_size=64)
    trainer = Trainer(WaferNet(), train_loader, valid_loader)
    history = trainer.fit(5)
    print("best", max(acc for _, acc in history))
