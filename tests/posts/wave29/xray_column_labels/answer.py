import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class ChestScans(Dataset):
    """64x64 scans with a finding: 0 clear, 1 opacity, 2 effusion."""

    def __init__(self, count, seed):
        gen = torch.Generator().manual_seed(seed)
        self.scans = torch.rand(count, 1, 64, 64, generator=gen)
        self.findings = torch.randint(0, 3, (count,), generator=gen)
        for i in range(count):
            if self.findings[i] == 1:
                self.scans[i, 0, 10:30, 10:30] += 0.8
            elif self.findings[i] == 2:
                self.scans[i, 0, 44:, :] += 0.8

    def __len__(self):
        return len(self.scans)

    def __getitem__(self, idx):
        return self.scans[idx], self.findings[idx]


class ScanNet(nn.Module):
    def __init__(self, n_findings):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 5, stride=2, padding=2)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(4)
        self.fc1 = nn.Linear(16 * 4 * 4, 32)
        self.fc2 = nn.Linear(32, n_findings)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.pool(x).flatten(1)
        return self.fc2(F.relu(self.fc1(x)))


def train_epoch(net, loader, criterion, optimizer, device):
    net.train()
    total = 0.0
    for scans, findings in loader:
        scans = scans.to(device)
        findings = findings.to(device).long()

        optimizer.zero_grad()
        scores = net(scans)
        loss = criterion(scores, findings)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(scans)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(net, loader, device):
    net.eval()
    hits = 0
    for scans, findings in loader:
        guess = net(scans.to(device)).argmax(1).cpu()
        hits += (guess == findings).sum().item()
    return hits / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=24)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(ChestScans(240, 1), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(ChestScans(60, 2), batch_size=args.batch_size)

    net = ScanNet(n_findings=3).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        loss = train_epoch(net, train_loader, criterion, optimizer, device)
        print(f"epoch {epoch + 1}: loss {loss:.4f}  val acc {evaluate(net, val_loader, device):.3f}")


if __name__ == "__main__":
    main()
