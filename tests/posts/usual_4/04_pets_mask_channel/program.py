from pathlib import Path
import shutil
import tempfile

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset, random_split
from torchvision.transforms import functional as TF

ROOT = Path(tempfile.mkdtemp())
(ROOT / "images").mkdir()
(ROOT / "trimaps").mkdir()

# trimaps as in the Oxford pets set: 1 = pet, 2 = background, 3 = outline
rng = np.random.default_rng(3)
yy, xx = np.mgrid[:80, :80]
for i in range(60):
    cy, cx, r = rng.integers(25, 55), rng.integers(25, 55), rng.integers(10, 22)
    d = np.hypot(yy - cy, xx - cx)
    tri = np.where(d < r - 2, 1, np.where(d > r + 2, 2, 3)).astype(np.uint8)
    img = rng.normal(90, 20, (80, 80, 3)) + 80 * (d < r)[..., None]
    Image.fromarray(img.clip(0, 255).astype(np.uint8)).save(ROOT / "images" / f"pet_{i:03d}.png")
    Image.fromarray(tri).save(ROOT / "trimaps" / f"pet_{i:03d}.png")


class PetSegmentation(Dataset):
    def __init__(self, root, size=64):
        self.files = sorted((root / "images").glob("*.png"))
        self.root, self.size = root, size

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        img = Image.open(self.files[i]).convert("RGB")
        mask = Image.open(self.root / "trimaps" / self.files[i].name)
        img = TF.resize(img, [self.size, self.size])
        mask = TF.resize(mask, [self.size, self.size], interpolation=TF.InterpolationMode.NEAREST)
        img = TF.normalize(TF.to_tensor(img), [0.5] * 3, [0.5] * 3)
        mask = TF.pil_to_tensor(mask).long() - 1
        return img, mask


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class SmallSegNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.d1, self.d2, self.mid = block(3, 16), block(16, 32), block(32, 64)
        self.u2, self.u1 = block(64 + 32, 32), block(32 + 16, 16)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.out = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(self.pool(a))
        c = self.mid(self.pool(b))
        b = self.u2(torch.cat([self.up(c), b], 1))
        a = self.u1(torch.cat([self.up(b), a], 1))
        return self.out(a)


ds = PetSegmentation(ROOT)
train_ds, val_ds = random_split(ds, [48, 12], generator=torch.Generator().manual_seed(0))
train_dl = DataLoader(train_ds, batch_size=8, shuffle=True)
val_dl = DataLoader(val_ds, batch_size=12)

torch.manual_seed(0)
net = SmallSegNet()
loss_fn = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 0.5, 2.0]))
opt = torch.optim.Adam(net.parameters(), 2e-3)

for epoch in range(3):
    net.train()
    for img, mask in train_dl:
        opt.zero_grad()
        loss = loss_fn(net(img), mask)
        loss.backward()
        opt.step()

    net.eval()
    inter, union = torch.zeros(3), torch.zeros(3)
    with torch.no_grad():
        for img, mask in val_dl:
            pred = net(img).argmax(1)
            for k in range(3):
                inter[k] += ((pred == k) & (mask == k)).sum()
                union[k] += ((pred == k) | (mask == k)).sum()
    print(f"epoch {epoch + 1}  loss {loss.item():.3f}  IoU {(inter / union.clamp(min=1)).numpy().round(3)}")

shutil.rmtree(ROOT)
