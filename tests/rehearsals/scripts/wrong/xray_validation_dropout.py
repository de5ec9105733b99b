import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split


class Xrays(Dataset):
    """Images in .npy files, one folder for each finding."""

    def __init__(self, root, findings=("clear", "opaque"), each=30):
        self.paths, self.labels = [], []
        rng = np.random.RandomState(0)
        for label, finding in enumerate(findings):
            os.makedirs(os.path.join(root, finding), exist_ok=True)
            for i in range(each):
                path = os.path.join(root, finding, f"{i:03d}.npy")
                image = rng.rand(40, 40) * 0.5
                image[10:30, 10:30] += 0.3 * label
                np.save(path, (image * 255).astype(np.uint8))
                self.paths.append(path)
                self.labels.append(label)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        image = np.load(self.paths[i]).astype(np.float32) / 255
        return torch.from_numpy(image)[None], self.labels[i]


class XrayNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 8, 3, stride=2), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 16, 3, stride=2), nn.BatchNorm2d(16)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(16, 2)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(self.drop(F.adaptive_avg_pool2d(x, 1).flatten(1)))


def train_one_epoch(model, loader, optimizer):
    model.train()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def validate(model, loader):
    loss, correct, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            logits = model(x)
            loss += F.cross_entropy(logits, y, reduction="sum").item()
            correct += (logits.argmax(1) == y).sum().item()
            count += len(y)
    return loss / count, correct / count


def main(args):
    torch.manual_seed(args.seed)
    data = Xrays(tempfile.mkdtemp())
    train_set, val_set = random_split(data, [44, 16])
    train_loader = DataLoader(train_set, batch_size=11, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=8)
    model = XrayNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train_loader, optimizer)
        val_loss, val_accuracy = validate(model, val_loader)
        print(f"{epoch}: train {loss:.4f} val {val_loss:.4f} {val_accuracy:.2%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
