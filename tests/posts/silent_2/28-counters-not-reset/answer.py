import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_loaders(batch_size):
    x = torch.randn(1000, 3, 8, 8)
    y = (x.mean(dim=(2, 3)).argmax(dim=1)).long()
    train = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=batch_size, shuffle=True)
    test = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=batch_size)
    return train, test


class LeNetish(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 4, classes)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.conv1(x).relu(), 2)
        x = nn.functional.max_pool2d(self.conv2(x).relu(), 2)
        return self.fc(x.flatten(1))


def test_accuracy(net, loader, device):
    net.eval()
    n_right, n = 0, 0
    with torch.no_grad():
        for x, y in loader:
            n_right += (net(x.to(device)).argmax(1) == y.to(device)).sum().item()
            n += y.size(0)
    return n_right / n


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch_size", type=int, default=50)
    p.add_argument("--lr", type=float, default=0.02)
    cfg = p.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader, test_loader = get_loaders(cfg.batch_size)
    net = LeNetish().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=cfg.lr, momentum=0.9)

    for epoch in range(cfg.epochs):
        net.train()
        correct, total, loss_sum = 0, 0, 0.0
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            out = net(x)
            loss = criterion(out, y)
            loss.backward()
            optimizer.step()
            loss_sum += loss.item() * y.size(0)
            correct += (out.argmax(1) == y).sum().item()
            total += y.size(0)
        train_loss, train_acc = loss_sum / total, correct / total
        test_acc = test_accuracy(net, test_loader, device)
        print(f"epoch {epoch + 1}: {train_loss:.4f} train {train_acc:.4f} test {test_acc:.4f}")


if __name__ == "__main__":
    main()
