import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

CLASSES = ["water", "forest", "field", "town"]


class Satellite(Dataset):
    def __init__(self, n, size=32, seed=0):
        rng = np.random.default_rng(seed)
        coarse = rng.integers(0, len(CLASSES), (n, 4, 4))
        self.masks = coarse.repeat(size // 4, axis=1).repeat(size // 4, axis=2)
        colours = rng.random((len(CLASSES), 5))
        self.bands = colours[self.masks] + rng.normal(0, 0.1, (n, size, size, 5))

    def __len__(self):
        return len(self.masks)

    def __getitem__(self, i):
        bands = torch.tensor(self.bands[i].transpose(2, 0, 1), dtype=torch.float32)
        mask = torch.tensor(self.masks[i], dtype=torch.long)
        return bands, F.one_hot(mask, len(CLASSES)).float()


class Segmenter(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.inc = nn.Conv2d(5, width, 3, padding=1)
        self.down = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.outc = nn.Conv2d(2 * width, len(CLASSES), 1)

    def forward(self, x):
        a = F.relu(self.inc(x))
        b = F.relu(self.up(F.relu(self.down(a))))
        return self.outc(torch.cat([a, b], dim=1))


def intersection_over_union(logits, mask, classes):
    predicted, true = logits.argmax(1), mask.argmax(1)
    scores = []
    for c in range(classes):
        both = ((predicted == c) & (true == c)).sum().item()
        either = ((predicted == c) | (true == c)).sum().item()
        if either:
            scores.append(both / either)
    return sum(scores) / len(scores)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", default=2, type=int)
    parser.add_argument("--lr", default=1e-2, type=float)
    opt = parser.parse_args()
    torch.manual_seed(0)
    train_dl = DataLoader(Satellite(20), batch_size=5, shuffle=True)
    val_dl = DataLoader(Satellite(6, seed=1), batch_size=6)
    model = Segmenter()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=opt.lr)
    for epoch in range(opt.epochs):
        model.train()
        for bands, mask in train_dl:
            optimizer.zero_grad()
            loss = criterion(model(bands), mask)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            ious = [intersection_over_union(model(b), m, len(CLASSES)) for b, m in val_dl]
        print(f"epoch {epoch} loss {loss.item():.4f} IoU {np.mean(ious):.4f}")
