import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split
from torchvision import transforms


class ShapeDataset(Dataset):
    def __init__(self, n, transform=None, seed=0):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 2, size=n)
        self.images = rng.integers(0, 90, size=(n, 32, 32, 3), dtype=np.uint8)
        for img, lab in zip(self.images, self.labels):
            if lab:
                img[8:24, 8:24] += 120
            else:
                img[12:20, :] += 120
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = Image.fromarray(self.images[i])
        if self.transform is not None:
            img = self.transform(img)
        return img, int(self.labels[i])


train_tf = transforms.Compose([
    transforms.RandomResizedCrop(32, scale=(0.3, 1.0)),
    transforms.RandomRotation(30),
    transforms.ColorJitter(0.4, 0.4),
    transforms.ToTensor(),
])

split = torch.Generator().manual_seed(1)
train_set, val_set = random_split(ShapeDataset(500, transform=train_tf), [400, 100], generator=split)
train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
val_loader = DataLoader(val_set, batch_size=50)

model = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(1024, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(6):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        correct = sum((model(x).argmax(1) == y).sum().item() for x, y in val_loader)
    print(f"epoch {epoch}: val accuracy {correct / len(val_set):.2f}")
