import numpy as np
import torch
import torch.nn as nn
import torchvision.transforms as T
from PIL import Image
from torch.utils.data import Dataset, DataLoader, random_split

MEAN, STD = (0.7, 0.55, 0.5), (0.15, 0.15, 0.15)

train_transform = T.Compose([
    T.RandomResizedCrop(32, scale=(0.6, 1.0)),
    T.RandomHorizontalFlip(),
    T.RandomVerticalFlip(),
    T.ColorJitter(0.2, 0.2),
    T.ToTensor(),
    T.Normalize(MEAN, STD),
])
val_transform = T.Compose([
    T.Resize(36),
    T.CenterCrop(32),
    T.ToTensor(),
    T.Normalize(MEAN, STD),
])


class LesionDataset(Dataset):
    """Dermoscopy photographs, benign (0) or malignant (1)."""

    def __init__(self, n=240, transform=None):
        rng = np.random.default_rng(12)
        self.labels = rng.integers(0, 2, n)
        self.photos = []
        for y in self.labels:
            a = rng.normal(170 - 15 * y, 30, (40, 40, 3)).clip(0, 255).astype(np.uint8)
            self.photos.append(Image.fromarray(a))
        self.transform = transform

    def __len__(self):
        return len(self.photos)

    def __getitem__(self, i):
        img = self.photos[i]
        if self.transform is not None:
            img = self.transform(img)
        return img, int(self.labels[i])


dataset = LesionDataset(transform=train_transform)
val_dataset = LesionDataset(transform=val_transform)
n_val = len(dataset) // 5
generator = torch.Generator().manual_seed(42)
train_set, val_set = random_split(dataset, [len(dataset) - n_val, n_val], generator=generator)
val_set = torch.utils.data.Subset(val_dataset, val_set.indices)

train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=48)

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
    nn.AdaptiveAvgPool2d(4), nn.Flatten(),
    nn.Linear(32 * 16, 2),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(4):
    model.train()
    losses = []
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    model.eval()
    with torch.no_grad():
        correct = sum((model(x).argmax(1) == y).sum().item() for x, y in val_loader)
    print(f"epoch {epoch}: train loss {np.mean(losses):.4f}, val acc {correct / n_val:.3f}")
