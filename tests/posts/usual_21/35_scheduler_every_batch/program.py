import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class SpectrogramDataset(Dataset):
    def __init__(self, n, seed, n_mels=32, frames=40, n_classes=4):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, n_classes, (n,), generator=g)
        self.x = torch.randn(n, 1, n_mels, frames, generator=g)
        for i, k in enumerate(self.y.tolist()):
            start = int(torch.randint(0, frames - 15, (1,), generator=g))
            self.x[i, 0, 8 * k:8 * k + 4, start:start + 15] += 1.5

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class AudioCNN(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.fc = nn.Linear(16 * 8 * 10, n_classes)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def accuracy(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(dim=1) == y).sum().item()
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(SpectrogramDataset(480, 0), batch_size=32, shuffle=True)
    valid_loader = DataLoader(SpectrogramDataset(160, 1), batch_size=80)
    model = AudioCNN()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.1)

    for epoch in range(8):
        model.train()
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item() * len(y)
        lr = optimizer.param_groups[0]["lr"]
        print(f"epoch {epoch}: lr {lr:.1e} loss {total / 480:.4f} valid acc {accuracy(model, valid_loader):.3f}")


if __name__ == "__main__":
    main()
