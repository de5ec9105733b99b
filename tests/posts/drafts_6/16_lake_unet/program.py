# Lake segmentation on satellite tiles
import numpy as np
import torch
import torch.nn as nn
from PIL import Image, ImageDraw
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import functional as TF

TILE = 50
torch.manual_seed(15)


class LakeTiles(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.tiles = []
        for _ in range(n):
            mask = Image.new("L", (TILE, TILE), 0)
            draw = ImageDraw.Draw(mask)
            for _ in range(rng.integers(1, 4)):
                x, y = rng.integers(2, TILE - 22, 2)
                w, h = rng.integers(8, 22, 2)
                draw.ellipse([int(x), int(y), int(x + w), int(y + h)], fill=255)
            water = np.array(mask) > 0
            land = rng.normal([110, 120, 80], 18, (TILE, TILE, 3))
            lake = rng.normal([50, 80, 120], 18, (TILE, TILE, 3))
            photo = np.where(water[..., None], lake, land).clip(0, 255).astype(np.uint8)
            self.tiles.append((Image.fromarray(photo), mask))

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, i):
        photo, mask = self.tiles[i]
        photo = TF.normalize(TF.to_tensor(photo), [0.5] * 3, [0.25] * 3)
        mask = torch.from_numpy(np.array(mask)).float()
        return photo, mask


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, widths=(8, 16, 32, 64)):
        super().__init__()
        self.downs = nn.ModuleList()
        cin = 3
        for w in widths[:-1]:
            self.downs.append(double_conv(cin, w))
            cin = w
        self.pool = nn.MaxPool2d(2)
        self.bottom = double_conv(widths[-2], widths[-1])
        self.ups = nn.ModuleList()
        self.up_convs = nn.ModuleList()
        for w in reversed(widths[:-1]):
            self.ups.append(nn.ConvTranspose2d(w * 2, w, 2, stride=2))
            self.up_convs.append(double_conv(w * 2, w))
        self.last = nn.Conv2d(widths[0], 1, 1)

    def forward(self, x):
        skips = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
            x = self.pool(x)
        x = self.bottom(x)
        for up, conv, skip in zip(self.ups, self.up_convs, reversed(skips)):
            x = up(x)
            x = torch.cat([skip, x], dim=1)
            x = conv(x)
        return self.last(x)


def iou(pred, mask):
    inter = (pred & mask).sum().item()
    union = (pred | mask).sum().item()
    return inter / max(union, 1)


train_loader = DataLoader(LakeTiles(128, 1), batch_size=8, shuffle=True)
val_loader = DataLoader(LakeTiles(16, 2), batch_size=8)

model = UNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(8):
    model.train()
    train_loss = 0.0
    for photos, masks in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(photos), masks)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()

    model.eval()
    scores = []
    with torch.no_grad():
        for photos, masks in val_loader:
            pred = torch.sigmoid(model(photos)) > 0.5
            scores.append(iou(pred, masks > 0))
    print(f"epoch {epoch + 1}: loss {train_loss / len(train_loader):.3f}, IoU {np.mean(scores):.3f}")
