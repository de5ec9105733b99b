import argparse
from collections import Counter

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD_LABEL = -100


class ResidueDataset(Dataset):
    """Per-residue embeddings with one structure class for every residue."""

    def __init__(self, n_proteins, n_features, n_classes, seed):
        g = torch.Generator().manual_seed(seed)
        centres = torch.randn(n_classes, n_features, generator=torch.Generator().manual_seed(99))
        freq = torch.tensor([1.0 / (c + 1) ** 2 for c in range(n_classes)])
        self.items = []
        for _ in range(n_proteins):
            length = int(torch.randint(20, 60, (1,), generator=g))
            y = torch.multinomial(freq, length, replacement=True, generator=g)
            x = centres[y] + torch.randn(length, n_features, generator=g)
            self.items.append((x, y))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        return self.items[idx]


def collate(batch):
    xs, ys = zip(*batch)
    return pad_sequence(xs, batch_first=True), pad_sequence(ys, batch_first=True, padding_value=PAD_LABEL)


class ResidueCNN(nn.Module):
    def __init__(self, n_features, n_classes):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(n_features, 32, kernel_size=7, padding=3),
            nn.ReLU(),
            nn.Dropout(0.25),
            nn.Conv1d(32, n_classes, kernel_size=7, padding=3))

    def forward(self, x):
        return self.conv(x.transpose(1, 2))


def compute_class_weights(dataset, n_classes):
    counts = Counter()
    for _, y in dataset:
        counts.update(y.tolist())
    total = sum(counts.values())
    return torch.tensor([total / (n_classes * max(counts[c], 1)) for c in range(n_classes)])


def get_loss(use_class_weights, class_weights, device):
    if use_class_weights:
        return nn.CrossEntropyLoss(weight=class_weights, ignore_index=PAD_LABEL)
    return nn.CrossEntropyLoss(ignore_index=PAD_LABEL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--no-class-weights", dest="use_class_weights", action="store_false")
    args = parser.parse_args()

    torch.manual_seed(42)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    n_features, n_classes = 24, 8
    train_set = ResidueDataset(64, n_features, n_classes, seed=1)
    val_set = ResidueDataset(16, n_features, n_classes, seed=2)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, collate_fn=collate)
    val_loader = DataLoader(val_set, args.batch_size, collate_fn=collate)

    model = ResidueCNN(n_features, n_classes).to(device)
    class_weights = compute_class_weights(train_set, n_classes)
    print("class weights:", [round(w, 2) for w in class_weights.tolist()])
    criterion = get_loss(args.use_class_weights, class_weights, device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()

        model.eval()
        correct = total = 0
        with torch.no_grad():
            for x, y in val_loader:
                x, y = x.to(device), y.to(device)
                pred = model(x).argmax(dim=1)
                valid = y != PAD_LABEL
                correct += (pred[valid] == y[valid]).sum().item()
                total += valid.sum().item()
        print("epoch %d  loss %.4f  val acc %.3f" % (epoch, running / len(train_loader), correct / total))


if __name__ == "__main__":
    main()
