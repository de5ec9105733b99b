import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class PolypDataset(Dataset):
    """Synthetic endoscopy frames: a bright disk on a noisy background, and its mask."""

    def __init__(self, n=64, size=48):
        g = torch.Generator().manual_seed(4)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        self.items = []
        for _ in range(n):
            cy, cx = torch.randint(12, size - 12, (2,), generator=g).tolist()
            r = torch.randint(5, 11, (1,), generator=g).item()
            mask = (((yy - cy) ** 2 + (xx - cx) ** 2) < r * r).float().unsqueeze(0)
            image = 0.3 * torch.rand(3, size, size, generator=g) + 0.5 * mask
            self.items.append((image, mask))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class SmallUNet(nn.Module):
    def __init__(self, base=8):
        super().__init__()
        self.enc1 = conv_block(3, base)
        self.enc2 = conv_block(base, 2 * base)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(2 * base, base, 2, stride=2)
        self.dec = conv_block(2 * base, base)
        self.out = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        d = self.dec(torch.cat([e1, self.up(e2)], dim=1))
        return self.out(d)


class DiceLoss(nn.Module):
    def __init__(self, smooth=1.0, threshold=0.5):
        super().__init__()
        self.smooth = smooth
        self.threshold = threshold

    def forward(self, logits, target):
        probs = torch.sigmoid(logits)
        pred = probs.flatten(1)
        target = target.flatten(1)
        inter = (pred * target).sum(1)
        dice = (2 * inter + self.smooth) / (pred.sum(1) + target.sum(1) + self.smooth)
        return 1 - dice.mean()


torch.manual_seed(0)
loader = DataLoader(PolypDataset(), batch_size=8, shuffle=True)
model = SmallUNet()
criterion = DiceLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    model.train()
    total = 0.0
    for images, masks in loader:
        optimizer.zero_grad()
        logits = model(images)
        loss = criterion(logits, masks)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: dice loss {total / len(loader):.4f}")
