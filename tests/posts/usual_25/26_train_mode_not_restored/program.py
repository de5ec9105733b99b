import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class CellImages(Dataset):
    def __init__(self, n, seed, augment=False):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 2, (n,), generator=g)
        self.images = torch.rand(n, 3, 32, 32, generator=g)
        rows = torch.randint(4, 20, (n,), generator=g).tolist()
        for i, r in enumerate(rows):
            if self.labels[i] == 1:
                self.images[i, 0, r : r + 8, r : r + 8] += 0.35
        flips = [transforms.RandomHorizontalFlip(), transforms.RandomVerticalFlip()]
        norm = [transforms.Normalize([0.5] * 3, [0.3] * 3)]
        self.transform = transforms.Compose(flips + norm if augment else norm)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        return self.transform(self.images[idx]), self.labels[idx]


class CellNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(32 * 8 * 8, 2))

    def forward(self, x):
        return self.classifier(self.features(x))


class Trainer:
    def __init__(self, model, train_loader, val_loader, lr=1e-3):
        self.model = model
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def train_step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        loss, correct, n = 0.0, 0, 0
        for x, y in self.val_loader:
            out = self.model(x)
            loss += self.criterion(out, y).item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
            n += len(y)
        return loss / n, correct / n

    def fit(self, epochs):
        self.model.train()
        for epoch in range(epochs):
            losses = [self.train_step(x, y) for x, y in self.train_loader]
            val_loss, val_acc = self.evaluate()
            print(f"epoch {epoch + 1}: train {sum(losses) / len(losses):.4f} "
                  f"val {val_loss:.4f} acc {val_acc:.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(CellImages(200, 0, augment=True), batch_size=20, shuffle=True)
    val_loader = DataLoader(CellImages(100, 1), batch_size=50)
    Trainer(CellNet(), train_loader, val_loader).fit(epochs=6)
