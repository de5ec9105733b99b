import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset, random_split
from torchvision import transforms

torch.manual_seed(0)

train_transform = transforms.Compose([
    transforms.RandomResizedCrop(32, scale=(0.6, 1.0)),
    transforms.RandomHorizontalFlip(),
    transforms.ColorJitter(brightness=0.3),
    transforms.ToTensor(),
])
val_transform = transforms.Compose([transforms.Resize((32, 32)), transforms.ToTensor()])


class ShapesDataset(Dataset):
    def __init__(self, n=200, transform=None):
        rng = np.random.default_rng(0)
        self.pixels = rng.integers(0, 256, (n, 40, 40, 3), dtype=np.uint8)
        self.labels = rng.integers(0, 3, n)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        image = Image.fromarray(self.pixels[idx])
        if self.transform:
            image = self.transform(image)
        return image, int(self.labels[idx])


full = ShapesDataset()
train_set, val_set = random_split(full, [160, 40])
train_set.dataset.transform = train_transform
val_set.dataset.transform = val_transform

train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=32)

model = nn.Sequential(
    nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 3),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    model.train()
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        correct = sum((model(x).argmax(1) == y).sum().item() for x, y in val_loader)
    print(f"epoch {epoch}: loss {loss.item():.3f} val acc {correct / len(val_set):.3f}")

first, second = train_set[0][0], train_set[0][0]
print("same training image twice:", torch.equal(first, second))
