import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser(description="Abstract reasoning with CNN + LSTM")
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--batch_size", type=int, default=4)
parser.add_argument("--img_size", type=int, default=80)
parser.add_argument("--lr", type=float, default=1e-4)
parser.add_argument("--seed", type=int, default=12345)
args = parser.parse_args()


class PanelDataset(Dataset):
    """Sixteen grey panels of a puzzle and the index of the right choice."""

    def __init__(self, length, img_size):
        self.length = length
        self.img_size = img_size

    def __len__(self):
        return self.length

    def __getitem__(self, idx):
        rng = np.random.default_rng(idx)
        panels = rng.integers(0, 256, size=(16, self.img_size, self.img_size)).astype(np.uint8)
        panels = torch.from_numpy(panels).float() / 255.0
        target = torch.tensor(int(rng.integers(0, 8)))
        return panels, target


class PanelEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=3, stride=2),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.Conv2d(16, 16, kernel_size=3, stride=2),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.Conv2d(16, 16, kernel_size=3, stride=2),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.Conv2d(16, 16, kernel_size=3, stride=2),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.net(x)


class CNNLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = PanelEncoder()
        self.lstm = nn.LSTM(input_size=16 * 4 * 4, hidden_size=96, batch_first=True)
        self.dropout = nn.Dropout(0.5)
        self.fc = nn.Linear(96, 8)

    def forward(self, panels):
        features = self.encoder(panels.view(-1, 1, 80, 80))
        sequence = features.view(-1, 16, 16 * 4 * 4)
        _, (hidden, _) = self.lstm(sequence)
        return self.fc(self.dropout(hidden[-1]))


def train(model, loader, optimizer, criterion, device):
    model.train()
    total, correct, loss_sum = 0, 0, 0.0
    for panels, target in loader:
        panels, target = panels.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(panels)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * target.size(0)
        correct += (output.argmax(dim=1) == target).sum().item()
        total += target.size(0)
    return loss_sum / total, correct / total


def main():
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(PanelDataset(18, args.img_size), batch_size=args.batch_size, shuffle=True)
    model = CNNLSTM().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        loss, acc = train(model, loader, optimizer, criterion, device)
        print(f"epoch {epoch + 1}: loss {loss:.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
