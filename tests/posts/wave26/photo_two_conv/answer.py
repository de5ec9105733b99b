import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class PhotoNet(nn.Module):
    """LeNet style network for colour photographs in three categories."""

    def __init__(self, num_classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 5)
        self.conv2 = nn.Conv2d(8, 16, 5)
        self.fc1 = nn.Linear(16 * 34 * 22, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        return self.fc1(x)


def load_photos(count, height, width):
    images = torch.rand(count, 3, height, width)
    labels = torch.randint(0, 3, (count,))
    for i, label in enumerate(labels):
        images[i, label] += 0.3
    return TensorDataset((images - 0.5) / 0.5, labels)


def run_epoch(model, loader, criterion, optimizer):
    model.train()
    total, correct, seen = 0.0, 0, 0
    for images, labels in loader:
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * images.size(0)
        correct += (outputs.argmax(1) == labels).sum().item()
        seen += images.size(0)
    return total / seen, correct / seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_set = load_photos(24, height=150, width=100)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)

    model = PhotoNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    for epoch in range(args.epochs):
        loss, accuracy = run_epoch(model, train_loader, criterion, optimizer)
        print(f"epoch {epoch + 1}: loss {loss:.3f}, accuracy {accuracy:.2f}")


if __name__ == "__main__":
    main()
