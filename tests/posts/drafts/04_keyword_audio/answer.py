import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

KEYWORDS = ["yes", "no", "up", "down", "stop", "go"]


class KeywordDataset(Dataset):
    """Log-mel spectrograms of one-second clips, stored as (frames, mels)."""

    def __init__(self, size, n_frames=101, n_mels=40, seed=0):
        rng = np.random.default_rng(seed)
        self.names = rng.choice(KEYWORDS, size=size)
        self.mels = rng.normal(size=(size, n_frames, n_mels)).astype(np.float32)

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        mel = torch.from_numpy(self.mels[i])
        label = torch.tensor(KEYWORDS.index(self.names[i]), dtype=torch.long)
        return mel, label


class KeywordNet(nn.Module):
    def __init__(self, n_mels, n_classes):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(n_mels, 64, kernel_size=5, padding=2),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(64, 128, kernel_size=3, padding=1),
            nn.BatchNorm1d(128),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
        )
        self.head = nn.Linear(128, n_classes)

    def forward(self, mel):
        x = self.conv(mel.transpose(1, 2))
        return self.head(x.squeeze(-1))


def evaluate(model, loader):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for mel, label in loader:
            pred = model(mel).argmax(dim=1)
            correct += (pred == label).sum().item()
            total += label.size(0)
    return correct / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.manual_seed(0)

    train_loader = DataLoader(KeywordDataset(256), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(KeywordDataset(64, seed=1), batch_size=args.batch_size)
    model = KeywordNet(40, len(KEYWORDS))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        for mel, label in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(mel), label)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: last loss {loss.item():.3f}, val acc {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
