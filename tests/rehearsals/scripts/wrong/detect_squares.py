import argparse
import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

GRID = 4
SIZE = 32


class Squares(Dataset):
    def __init__(self, count, seed):
        self.rnd = random.Random(seed)
        self.scenes = []
        for _ in range(count):
            cells = self.rnd.sample(range(GRID * GRID), self.rnd.randint(1, 4))
            boxes, labels = [], []
            for cell in cells:
                side = self.rnd.randint(4, 7)
                x0 = (cell % GRID) * 8 + self.rnd.randint(0, 7 - side)
                y0 = (cell // GRID) * 8 + self.rnd.randint(0, 7 - side)
                boxes.append([x0, y0, x0 + side, y0 + side])
                labels.append(self.rnd.randint(0, 1))
            self.scenes.append((boxes, labels))

    def __len__(self):
        return len(self.scenes)

    def __getitem__(self, i):
        boxes, labels = self.scenes[i]
        image = torch.zeros(2, SIZE, SIZE)
        for (x0, y0, x1, y1), c in zip(boxes, labels):
            image[c, y0:y1, x0:x1] = 1.0
        target = {"boxes": torch.tensor(boxes, dtype=torch.float32), "labels": torch.tensor(labels)}
        return image, target


def collate(batch):
    images, targets = zip(*batch)
    return torch.stack(images), list(targets)


class GridDetector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.out = nn.Conv2d(32, 1 + 4 + 2, 1)

    def forward(self, x):
        return self.out(self.body(x))


def encode(targets):
    obj = torch.zeros(len(targets), GRID, GRID)
    box = torch.zeros(len(targets), 4, GRID, GRID)
    cls = torch.zeros(len(targets), GRID, GRID, dtype=torch.long)
    for b, t in enumerate(targets):
        centre = (t["boxes"][:, :2] + t["boxes"][:, 2:]) / 2
        col, row = (centre / 8).long().unbind(1)
        obj[b, row, col] = 1
        box[b, :, row, col] = t["boxes"].T / SIZE
        cls[b, row, col] = t["labels"]
    return obj, box, cls


def detection_loss(out, targets):
    obj, box, cls = encode(targets)
    mask = obj.bool()
    l_obj = F.binary_cross_entropy_with_logits(out[:, 0], obj)
    l_box = F.l1_loss(out[:, 1:5].permute(0, 2, 3, 1)[mask], box.permute(0, 2, 3, 1)[mask])
    l_cls = F.cross_entropy(out[:, 5:].permute(0, 2, 3, 1)[mask], cls[mask])
    return l_obj + 5 * l_box + l_cls


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=12)
    args = parser.parse_args()
    torch.manual_seed(0)
    train_loader = DataLoader(Squares(100, 0), batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(Squares(30, 1), batch_size=args.batch_size, collate_fn=collate)
    model = GridDetector()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(args.epochs):
        model.train()
        for images, targets in train_loader:
            loss = detection_loss(model(images), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            test = [detection_loss(model(i), t).item() for i, t in test_loader]
        print(f"epoch {epoch} train {loss.item():.3f} test {sum(test) / len(test):.3f}")


if __name__ == "__main__":
    main()
