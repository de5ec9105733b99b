import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import Dataset, DataLoader
from torchvision import transforms
from torchvision.transforms import InterpolationMode

np.random.seed(0)
torch.manual_seed(0)

NUM_CLASSES = 3          # background, road, car
SIZE = 48


class StreetDataset(Dataset):
    def __init__(self, n):
        self.samples = [self._draw() for _ in range(n)]
        self.image_tf = transforms.Compose([
            transforms.Resize((SIZE, SIZE)),
            transforms.ToTensor(),
        ])
        self.mask_tf = transforms.Compose([
            transforms.Resize((SIZE, SIZE), interpolation=InterpolationMode.NEAREST),
            transforms.PILToTensor(),
        ])

    def _draw(self):
        img = np.random.randint(0, 60, (64, 64, 3), dtype=np.uint8)
        mask = np.zeros((64, 64), dtype=np.uint8)
        img[40:] += 80
        mask[40:] = 1
        x = np.random.randint(0, 50)
        img[42:52, x:x + 12, 0] = 230
        mask[42:52, x:x + 12] = 2
        return Image.fromarray(img), Image.fromarray(mask)

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, idx):
        image, mask = self.samples[idx]
        return self.image_tf(image), self.mask_tf(mask).long()


class SmallFCN(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU())
        self.score = nn.Conv2d(32, num_classes, 1)

    def forward(self, x):
        size = x.shape[-2:]
        x = self.down2(self.down1(x))
        x = self.score(x)
        return F.interpolate(x, size=size, mode="bilinear", align_corners=False)


def mean_iou(pred, target):
    ious = []
    for c in range(NUM_CLASSES):
        inter = ((pred == c) & (target == c)).sum().item()
        union = ((pred == c) | (target == c)).sum().item()
        if union > 0:
            ious.append(inter / union)
    return sum(ious) / len(ious)


train_loader = DataLoader(StreetDataset(64), batch_size=8, shuffle=True)
val_loader = DataLoader(StreetDataset(16), batch_size=8)

model = SmallFCN(NUM_CLASSES)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(4):
    model.train()
    for images, masks in train_loader:
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, masks.squeeze(1))
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1}, loss {loss.item():.4f}")

model.eval()
scores = []
with torch.no_grad():
    for images, masks in val_loader:
        pred = model(images).argmax(dim=1)
        scores.append(mean_iou(pred, masks.squeeze(1)))
print("mean IoU:", np.mean(scores))
