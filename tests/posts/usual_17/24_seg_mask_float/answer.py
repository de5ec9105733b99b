import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader
from torchvision import transforms
from PIL import Image

torch.manual_seed(0)
np.random.seed(0)
NUM_CLASSES = 4
SIZE = 48


def render_scene():
    img = np.random.randint(0, 60, (SIZE, SIZE, 3), dtype=np.uint8)
    mask = np.zeros((SIZE, SIZE), dtype=np.uint8)
    for c in range(1, NUM_CLASSES):
        y, x = np.random.randint(0, SIZE - 16, 2)
        img[y:y + 14, x:x + 14, c - 1] += 150
        mask[y:y + 14, x:x + 14] = c
    return Image.fromarray(img), Image.fromarray(mask)


class RoadScenes(Dataset):
    def __init__(self, n):
        self.samples = [render_scene() for _ in range(n)]
        self.img_tf = transforms.Compose([
            transforms.ToTensor(),
            transforms.Normalize((0.3, 0.3, 0.3), (0.25, 0.25, 0.25)),
        ])

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, idx):
        img, mask = self.samples[idx]
        img = self.img_tf(img)
        mask = torch.from_numpy(np.array(mask)).long()
        return img, mask


class SmallFCN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.enc1 = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.enc2 = nn.Sequential(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU())
        self.enc3 = nn.Sequential(nn.Conv2d(32, 32, 3, padding=2, dilation=2), nn.ReLU())
        self.cls = nn.Conv2d(32, n_classes, 1)

    def forward(self, x):
        h = self.enc3(self.enc2(self.enc1(x)))
        return F.interpolate(self.cls(h), size=x.shape[-2:], mode='bilinear', align_corners=False)


def mean_iou(pred, target):
    ious = []
    for c in range(NUM_CLASSES):
        inter = ((pred == c) & (target == c)).sum().item()
        union = ((pred == c) | (target == c)).sum().item()
        if union:
            ious.append(inter / union)
    return float(np.mean(ious))


train_loader = DataLoader(RoadScenes(64), batch_size=8, shuffle=True)
val_loader = DataLoader(RoadScenes(16), batch_size=8)
model = SmallFCN(NUM_CLASSES)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(3):
    model.train()
    for imgs, masks in train_loader:
        optimizer.zero_grad()
        logits = model(imgs)
        loss = criterion(logits, masks)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        scores = [mean_iou(model(i).argmax(1), m) for i, m in val_loader]
    print(f'epoch {epoch} loss {loss.item():.3f} mIoU {np.mean(scores):.3f}')
