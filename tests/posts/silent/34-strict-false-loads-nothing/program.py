import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class ConvClassifier(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(2, 16, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(1),
        )
        self.fc = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def make_loader(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    t = torch.linspace(0, 1, 64)
    x = torch.sin(2 * torch.pi * (y.view(-1, 1, 1) * 3 + 2) * t) + 0.3 * torch.randn(n, 2, 64, generator=g)
    return DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)


def train(path):
    model = nn.DataParallel(ConvClassifier())
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(4):
        for x, y in make_loader(320, seed=0):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
    print("train loss", round(loss.item(), 4))
    torch.save({"state_dict": model.state_dict(), "epoch": 4}, path)


def test(path):
    model = ConvClassifier()
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["state_dict"], strict=False)
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for x, y in make_loader(128, seed=1):
            correct += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    print(f"test accuracy {correct / total:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ckpt", default="model_ckpt.pt")
    args = parser.parse_args()
    torch.manual_seed(0)
    train(args.ckpt)
    test(args.ckpt)
