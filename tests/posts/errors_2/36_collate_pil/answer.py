import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset, random_split
from torchvision import transforms


class Shapes(Dataset):
    def __init__(self, n, transform=None):
        self.n = n
        self.transform = transform

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        canvas = rng.integers(0, 60, size=(32, 32), dtype=np.uint8)
        label = i % 2
        r, c = rng.integers(4, 20, size=2)
        if label:
            canvas[r : r + 8, c : c + 8] = 255
        else:
            canvas[r : r + 2, c : c + 12] = 255
        img = Image.fromarray(canvas)
        if self.transform:
            img = self.transform(img)
        return img, label


train_tf = transforms.Compose(
    [
        transforms.RandomHorizontalFlip(),
        transforms.RandomRotation(10),
        transforms.Resize((28, 28)),
        transforms.ToTensor(),
    ]
)
train_set, val_set = random_split(Shapes(200, train_tf), [160, 40])
train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
val_loader = DataLoader(val_set, batch_size=40)

model = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 13 * 13, 2)
)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(3):
    for images, labels in train_loader:
        opt.zero_grad()
        loss_fn(model(images), labels).backward()
        opt.step()
    with torch.no_grad():
        acc = [(model(a).argmax(1) == b).float().mean().item() for a, b in val_loader]
    print(epoch, sum(acc) / len(acc))
