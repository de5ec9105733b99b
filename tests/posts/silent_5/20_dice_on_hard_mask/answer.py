import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class Blobs(Dataset):
    def __init__(self, n, size=32):
        self.n, self.size = n, size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        cy, cx = torch.randint(5, self.size - 5, (2,), generator=g).tolist()
        yy, xx = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing="ij")
        mask = ((yy - cy) ** 2 + (xx - cx) ** 2 < 9).float()[None]
        return mask + 0.7 * torch.randn(1, self.size, self.size, generator=g), mask


def dice_loss(logits, target, eps=1.0):
    prob = torch.sigmoid(logits)
    pred = prob
    inter = (pred * target).sum(dim=(1, 2, 3))
    total = pred.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3))
    return (1 - (2 * inter + eps) / (total + eps)).mean()


net = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(),
    nn.Conv2d(12, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(),
    nn.Conv2d(12, 1, 1),
)
train_loader = DataLoader(Blobs(320), batch_size=16, shuffle=True)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(4):
    net.train()
    bce_sum = dice_sum = 0.0
    for image, mask in train_loader:
        logits = net(image)
        bce = F.binary_cross_entropy_with_logits(logits, mask)
        dice = dice_loss(logits, mask)
        loss = bce + 2.0 * dice
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bce_sum += bce.item()
        dice_sum += dice.item()
    print(f"epoch {epoch} bce {bce_sum / len(train_loader):.3f} dice {dice_sum / len(train_loader):.3f}")
