import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import Dataset, DataLoader
from torchvision import transforms

DEVICE = 'cuda' if torch.cuda.is_available() else 'cpu'
CLASSES = ['background', 'leaf']


def make_photos(n, seed=0):
    rng = np.random.default_rng(seed)
    photos = []
    for _ in range(n):
        h = int(rng.integers(6, 10)) * 8
        w = int(rng.integers(6, 12)) * 8
        mask = np.zeros((h, w), dtype=np.uint8)
        cy, cx, r = rng.integers(16, h - 16), rng.integers(16, w - 16), rng.integers(8, 16)
        yy, xx = np.ogrid[:h, :w]
        mask[(yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2] = 1
        image = rng.integers(0, 120, (h, w, 3)).astype(np.uint8)
        image[mask == 1, 1] += 120
        photos.append((Image.fromarray(image), mask))
    return photos


class LeafDataset(Dataset):
    def __init__(self, photos):
        self.photos = photos
        self.preprocess = transforms.Compose([
            transforms.ToTensor(),
            transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
        ])

    def __len__(self):
        return len(self.photos)

    def __getitem__(self, i):
        image, mask = self.photos[i]
        image = self.preprocess(image)
        mask = torch.from_numpy(mask).unsqueeze(0).float()
        return image, mask


def block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class SmallUnet(nn.Module):
    def __init__(self, classes=1):
        super().__init__()
        self.enc1 = block(3, 16)
        self.enc2 = block(16, 32)
        self.enc3 = block(32, 64)
        self.dec2 = block(64 + 32, 32)
        self.dec1 = block(32 + 16, 16)
        self.head = nn.Conv2d(16, classes, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(F.max_pool2d(e1, 2))
        e3 = self.enc3(F.max_pool2d(e2, 2))
        d2 = self.dec2(torch.cat([F.interpolate(e3, scale_factor=2), e2], dim=1))
        d1 = self.dec1(torch.cat([F.interpolate(d2, scale_factor=2), e1], dim=1))
        return self.head(d1)


def dice_loss(logits, target, eps=1.0):
    prob = torch.sigmoid(logits)
    inter = (prob * target).sum()
    return 1 - (2 * inter + eps) / (prob.sum() + target.sum() + eps)


torch.manual_seed(0)
train_set = LeafDataset(make_photos(24))
valid_set = LeafDataset(make_photos(4, seed=1))
train_loader = DataLoader(train_set, batch_size=8, shuffle=True)
valid_loader = DataLoader(valid_set, batch_size=1, shuffle=False)

model = SmallUnet().to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    model.train()
    for images, masks in train_loader:
        images, masks = images.to(DEVICE), masks.to(DEVICE)
        optimizer.zero_grad()
        loss = dice_loss(model(images), masks)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        scores = [1 - dice_loss(model(x.to(DEVICE)), y.to(DEVICE)).item() for x, y in valid_loader]
    print('epoch', epoch, 'train loss', round(loss.item(), 4), 'valid dice', round(float(np.mean(scores)), 4))
