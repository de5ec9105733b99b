import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class FramePairs(Dataset):
    """Two following frames of a camera and whether something entered the scene."""

    def __init__(self, n, size=24):
        self.first = torch.randint(90, 110, (n, 1, size, size), dtype=torch.uint8)
        drift = torch.randint(-6, 7, (n, 1, size, size))
        self.second = (self.first.int() + drift).to(torch.uint8)
        self.moved = torch.randint(0, 2, (n,))
        for i in range(n):
            if self.moved[i]:
                r, c = torch.randint(0, size - 6, (2,)).tolist()
                self.second[i, :, r:r + 6, c:c + 6] += 20

    def __len__(self):
        return len(self.moved)

    def __getitem__(self, i):
        diff = self.second[i] - self.first[i]
        return diff.float() / 255.0, self.moved[i]


class MotionNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 5, padding=2), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.AdaptiveMaxPool2d(1),
        )
        self.classifier = nn.Linear(16, 2)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def train(model, loader, optimizer, criterion, device):
    model.train()
    total = 0.0
    for diff, moved in loader:
        diff, moved = diff.to(device), moved.to(device)
        optimizer.zero_grad()
        loss = criterion(model(diff), moved)
        loss.backward()
        optimizer.step()
        total += loss.item() * moved.numel()
    return total / len(loader.dataset)


def test(model, loader, device):
    model.eval()
    good = 0
    with torch.no_grad():
        for diff, moved in loader:
            good += (model(diff.to(device)).argmax(1).cpu() == moved).sum().item()
    return good / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(FramePairs(320), batch_size=32, shuffle=True)
    test_loader = DataLoader(FramePairs(96), batch_size=32)
    model = MotionNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, 6):
        loss = train(model, train_loader, optimizer, criterion, device)
        print(f"epoch {epoch} loss {loss:.4f} acc {test(model, test_loader, device):.3f}")
