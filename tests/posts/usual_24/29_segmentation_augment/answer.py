import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class RoadSegmentation(Dataset):
    def __init__(self, n, seed, augment=False):
        g = torch.Generator().manual_seed(seed)
        self.images, self.masks = [], []
        for _ in range(n):
            mask = torch.zeros(1, 48, 48)
            left = torch.randint(2, 16, (1,), generator=g).item()
            top = torch.randint(2, 24, (1,), generator=g).item()
            mask[:, top : top + 20, left : left + 12] = 1.0
            image = 0.35 * torch.rand(3, 48, 48, generator=g) + 0.4 * mask
            self.images.append(image)
            self.masks.append(mask)
        self.augment = augment
        self.transform = transforms.Compose([
            transforms.RandomHorizontalFlip(p=0.5),
            transforms.RandomVerticalFlip(p=0.5),
        ])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        image, mask = self.images[idx], self.masks[idx]
        if self.augment:
            both = self.transform(torch.cat([image, mask]))
            image, mask = both[:3], both[3:]
        return image, mask


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU())


def iou(logits, mask):
    pred = logits > 0
    target = mask > 0.5
    inter = (pred & target).sum().item()
    union = (pred | target).sum().item()
    return inter, union


torch.manual_seed(0)
train_loader = DataLoader(RoadSegmentation(96, seed=0, augment=True), batch_size=8, shuffle=True)
val_loader = DataLoader(RoadSegmentation(32, seed=1), batch_size=8)

model = nn.Sequential(conv_block(3, 16), conv_block(16, 16), nn.Conv2d(16, 1, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(6):
    model.train()
    train_loss = 0.0
    for images, masks in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(images), masks)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()

    model.eval()
    inter = union = 0
    with torch.no_grad():
        for images, masks in val_loader:
            i, u = iou(model(images), masks)
            inter, union = inter + i, union + u
    print(f"epoch {epoch}: loss {train_loss / len(train_loader):.4f}, val IoU {inter / max(union, 1):.3f}")
