import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class SlumpTiles(Dataset):
    """Tiles with a bright scar on darker tundra; outlines were digitised by hand."""

    def __init__(self, n_tiles, size=48, seed=0):
        gen = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        self.images, self.masks = [], []
        for _ in range(n_tiles):
            cy, cx = torch.randint(12, size - 12, (2,), generator=gen)
            radius = torch.randint(5, 12, (1,), generator=gen)
            scar = ((yy - cy) ** 2 + (xx - cx) ** 2 <= radius ** 2).float()
            drawn = torch.roll(scar, shifts=int(torch.randint(-1, 2, (1,), generator=gen)), dims=0)
            image = 0.3 + 0.4 * scar + 0.15 * torch.randn(4, size, size, generator=gen)
            self.images.append(image)
            self.masks.append(drawn.unsqueeze(0))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


class SoftBCELoss(nn.Module):
    """Binary cross entropy against targets drawn towards 0.5."""

    def __init__(self, softness=0.1):
        super().__init__()
        self.softness = softness

    def forward(self, logits, target):
        target = target * (1 - self.softness) + 0.5 * self.softness
        return F.binary_cross_entropy_with_logits(logits, target)


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits, target):
        bce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return ((1 - torch.exp(-bce)) ** self.gamma * bce).mean()


LOSSES = {"BCE": nn.BCEWithLogitsLoss, "SoftBCE": SoftBCELoss, "Focal": FocalLoss}


def create_loss(name):
    return LOSSES[name]()


class SegNet(nn.Module):
    def __init__(self, bands=4, width=16):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(bands, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.mid = nn.Sequential(
            nn.MaxPool2d(2), nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.ConvTranspose2d(2 * width, width, 2, stride=2),
        )
        self.head = nn.Sequential(nn.Conv2d(2 * width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 1, 1))

    def forward(self, x):
        skip = self.down(x)
        return self.head(torch.cat([skip, self.mid(skip)], dim=1))


def iou(prob, mask):
    pred = prob > 0.5
    inter = (pred & (mask > 0.5)).sum().item()
    union = (pred | (mask > 0.5)).sum().item()
    return inter / max(union, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--loss", choices=LOSSES, default="SoftBCE")
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(SlumpTiles(64), batch_size=8, shuffle=True)
    val_loader = DataLoader(SlumpTiles(16, seed=1), batch_size=16)
    model = SegNet()
    criterion = create_loss(args.loss)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        model.train()
        losses = []
        for image, mask in train_loader:
            loss = criterion(model(image), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            image, mask = next(iter(val_loader))
            prob = model(image).sigmoid()
        print(f"{args.loss} epoch {epoch}: loss {sum(losses) / len(losses):.4f} IoU {iou(prob, mask):.3f} "
              f"p range {prob.min():.3f}..{prob.max():.3f}")


if __name__ == "__main__":
    main()
