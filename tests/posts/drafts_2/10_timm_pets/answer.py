import argparse

import timm
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

BREEDS = ["beagle", "boxer", "pug", "persian", "siamese"]


class PetDataset(Dataset):
    def __init__(self, n, size=64, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.targets = torch.randint(0, len(BREEDS), (n,), generator=g)
        self.images = torch.randn(n, 3, size, size, generator=g) * 0.3
        for i, t in enumerate(self.targets.tolist()):
            self.images[i, t % 3] += 0.8 * (1 + t // 3)

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        return self.images[i], self.targets[i]


def build_model(n_classes):
    backbone = timm.create_model("mobilenetv3_small_050", pretrained=False, num_classes=0)
    head = nn.Sequential(
        nn.Dropout(0.2),
        nn.Linear(backbone.head_hidden_size, n_classes),
    )
    return nn.Sequential(backbone, head)


def train_one_epoch(model, loader, criterion, optimizer, device):
    model.train()
    losses = []
    for images, targets in loader:
        images, targets = images.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = criterion(model(images), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def evaluate(model, loader, device):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, targets in loader:
            preds = model(images.to(device)).argmax(1)
            correct += (preds == targets.to(device)).sum().item()
    return correct / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_loader = DataLoader(PetDataset(160, seed=0), args.batch_size, shuffle=True)
    val_loader = DataLoader(PetDataset(48, seed=1), args.batch_size)

    model = build_model(len(BREEDS)).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train_loader, criterion, optimizer, device)
        acc = evaluate(model, val_loader, device)
        print(f"epoch {epoch}: loss {loss:.3f}, acc {acc:.3f}")


if __name__ == "__main__":
    main()
