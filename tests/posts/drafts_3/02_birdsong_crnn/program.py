import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class BirdDataset(Dataset):
    """Log-mel spectrograms (64 mels x 100 frames) of five species."""

    def __init__(self, n_clips=160, n_mels=64, n_frames=100, n_species=5):
        self.labels = torch.arange(n_clips) % n_species
        self.specs = torch.randn(n_clips, n_mels, n_frames)
        for i, y in enumerate(self.labels.tolist()):
            self.specs[i, 10 * y:10 * y + 6, 20:60] += 2.0

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        spec = self.specs[idx]
        spec = (spec - spec.mean()) / (spec.std() + 1e-6)
        return spec, self.labels[idx]


class CRNN(nn.Module):
    def __init__(self, n_mels, n_species, hidden=48):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.gru = nn.GRU(32 * n_mels // 2, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, n_species)

    def forward(self, x):
        x = self.conv(x)
        b, c, f, t = x.shape
        x = x.view(b, t, c * f)
        out, _ = self.gru(x)
        return self.head(out.mean(dim=1))


def evaluate(model, loader):
    model.eval()
    hits, total = 0, 0
    with torch.no_grad():
        for spec, label in loader:
            hits += (model(spec).argmax(dim=1) == label).sum().item()
            total += label.size(0)
    return hits / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    torch.manual_seed(1)
    data = BirdDataset()
    train_set, val_set = random_split(data, [128, 32])
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)

    model = CRNN(n_mels=64, n_species=5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loss_fn = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for spec, label in train_loader:
            loss = loss_fn(model(spec), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(train_loader):.3f}, "
              f"val acc {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
