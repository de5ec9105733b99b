import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class RandomFlip:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, *tensors):
        if random.random() < self.p:
            tensors = tuple(t.flip(-1) for t in tensors)
        return tensors if len(tensors) > 1 else tensors[0]


class Lesions(Dataset):
    """One bright ellipse on a noisy background together with its mask."""

    def __init__(self, n, seed, flip=None):
        g = torch.Generator().manual_seed(seed)
        grid = torch.arange(24).float()
        cy, cx = 5 + 14 * torch.rand(2, n, 1, 1, generator=g)
        ry, rx = 2 + 3 * torch.rand(2, n, 1, 1, generator=g)
        inside = ((grid.view(1, -1, 1) - cy) / ry) ** 2 + ((grid.view(1, 1, -1) - cx) / rx) ** 2 < 1
        self.masks = inside.float().unsqueeze(1)
        self.images = self.masks + 0.5 * torch.randn(n, 1, 24, 24, generator=g)
        self.flip = flip

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
        if self.flip is not None:
            image = self.flip(image)
            mask = self.flip(mask)
        return image, mask


class SmallUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU())
        self.middle = nn.Sequential(nn.Conv2d(2 * c, 2 * c, 3, padding=1), nn.ReLU())
        self.up = nn.Sequential(nn.Conv2d(3 * c, c, 3, padding=1), nn.ReLU())
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.middle(self.down2(F.max_pool2d(a, 2)))
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.out(self.up(torch.cat([a, b], dim=1)))


@torch.no_grad()
def mean_iou(model, loader):
    model.eval()
    scores = []
    for image, mask in loader:
        pred = model(image) > 0
        true = mask > 0.5
        inter = (pred & true).sum(dim=(1, 2, 3)).float()
        union = (pred | true).sum(dim=(1, 2, 3)).float()
        scores.append(inter / union.clamp(min=1))
    return torch.cat(scores).mean().item()


def main():
    random.seed(0)
    torch.manual_seed(0)
    train_loader = DataLoader(Lesions(400, 0, flip=RandomFlip()), batch_size=20, shuffle=True)
    test_loader = DataLoader(Lesions(100, 1), batch_size=50)
    model = SmallUNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(6):
        model.train()
        total = 0.0
        for image, mask in train_loader:
            optimizer.zero_grad()
            loss = F.binary_cross_entropy_with_logits(model(image), mask)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1} loss {total / len(train_loader):.4f} IoU {mean_iou(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
