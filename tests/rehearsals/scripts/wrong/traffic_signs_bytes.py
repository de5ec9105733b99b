import argparse

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset, random_split


def make_signs(count, classes, seed=0):
    """Coloured squares, one colour for each class, with noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, count)
    colours = rng.integers(40, 215, (classes, 3))
    images = colours[labels][:, :, None, None] + rng.integers(-40, 40, (count, 3, 24, 24))
    return images.astype(np.uint8), labels


class SignNet(nn.Module):
    def __init__(self, classes):
        super(SignNet, self).__init__()
        self.conv1 = nn.Conv2d(3, 16, 5)
        self.conv2 = nn.Conv2d(16, 32, 3)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(32 * 4 * 4, classes)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        return self.fc(x.flatten(1))


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    loss_sum, correct = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for images, labels in loader:
            logits = model(images)
            loss = criterion(logits, labels)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * images.size(0)
            correct += (logits.argmax(1) == labels).sum().item()
    count = len(loader.dataset)
    return loss_sum / count, correct / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--classes", type=int, default=6)
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()

    torch.manual_seed(1)
    images, labels = make_signs(120, args.classes)
    dataset = TensorDataset(torch.from_numpy(images), torch.from_numpy(labels))
    train_set, val_set = random_split(dataset, [96, 24])
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)

    model = SignNet(args.classes)
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, args.epochs + 1):
        train_loss, train_acc = run_epoch(model, train_loader, criterion, optimizer)
        val_loss, val_acc = run_epoch(model, val_loader, criterion)
        print(f"{epoch:3d} | train {train_loss:.3f} {train_acc:.2%}"
              f" | val {val_loss:.3f} {val_acc:.2%}")


if __name__ == "__main__":
    main()
