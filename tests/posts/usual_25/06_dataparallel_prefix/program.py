import os
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CKPT = "best_model.pt"


class LeafNet(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        )
        self.classifier = nn.Linear(32, num_classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def get_loader(n, train):
    g = torch.Generator().manual_seed(0 if train else 1)
    x = torch.rand(n, 3, 32, 32, generator=g)
    y = torch.randint(0, 5, (n,), generator=g)
    return DataLoader(TensorDataset(x, y), batch_size=32, shuffle=train)


def train(device):
    model = nn.DataParallel(LeafNet()).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    loader = get_loader(128, True)
    for epoch in range(2):
        model.train()
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")
    torch.save({"epoch": 2, "state_dict": model.state_dict()}, CKPT)


def test(device):
    model = LeafNet().to(device)
    checkpoint = torch.load(CKPT, map_location=device)
    model.load_state_dict(checkpoint["state_dict"])
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for x, y in get_loader(64, False):
            pred = model(x.to(device)).argmax(1).cpu()
            correct += (pred == y).sum().item()
            total += y.numel()
    print(f"test accuracy {correct / total:.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train(device)
    test(device)
    os.remove(CKPT)
