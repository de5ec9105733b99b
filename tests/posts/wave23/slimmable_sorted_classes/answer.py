import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

CLASSES = 4


class FolderLikeDataset(Dataset):
    def __init__(self, per_class, seed):
        rng = np.random.default_rng(seed)
        centers = np.random.default_rng(99).normal(0, 1, size=(CLASSES, 3, 8, 8))
        images, targets = [], []
        for c in range(CLASSES):
            noise = rng.normal(0, 1.0, size=(per_class, 3, 8, 8))
            images.append(centers[c] + noise)
            targets += [c] * per_class
        self.images = torch.from_numpy(np.concatenate(images)).float()
        self.targets = torch.tensor(targets)

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        return self.images[i], self.targets[i]


class SlimConvNet(nn.Module):
    widths = (8, 16, 24)

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, max(self.widths), 3, padding=1)
        self.conv2 = nn.Conv2d(max(self.widths), 32, 3, padding=1)
        self.fc = nn.Linear(32, CLASSES)

    def forward(self, x, width=None):
        width = width or max(self.widths)
        x = F.conv2d(x, self.conv1.weight[:width], self.conv1.bias[:width], padding=1)
        x = F.relu(x)
        x = F.conv2d(x, self.conv2.weight[:, :width], self.conv2.bias, padding=1)
        x = F.adaptive_avg_pool2d(F.relu(x), 1).flatten(1)
        return self.fc(x)


def soft_cross_entropy(logits, prob):
    return -(prob * F.log_softmax(logits, dim=1)).sum(1).mean()


def train_epoch(model, loader, optimizer):
    model.train()
    meter = []
    for images, targets in loader:
        optimizer.zero_grad()
        out = model(images)
        loss = F.cross_entropy(out, targets)
        loss.backward()
        meter.append(loss.item())
        prob = out.detach().softmax(1)
        for width in (min(model.widths), random.choice(model.widths)):
            soft_cross_entropy(model(images, width), prob).backward()
        optimizer.step()
    return meter


@torch.no_grad()
def accuracy(model, loader, width=None):
    model.eval()
    hits = sum((model(x, width).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(0)
    random.seed(0)
    train_set, val_set = FolderLikeDataset(120, seed=0), FolderLikeDataset(40, seed=1)
    train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=40)
    model = SlimConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(8):
        losses = train_epoch(model, train_loader, optimizer)
        print(f"epoch {epoch} first {losses[0]:.4f} lowest {min(losses):.4f} last {losses[-1]:.4f} "
              f"val acc {accuracy(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
