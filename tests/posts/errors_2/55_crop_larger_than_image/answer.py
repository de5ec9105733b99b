import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

torch.manual_seed(0)
data = load_digits()


class DigitImages(Dataset):
    def __init__(self, images, labels, transform):
        self.images = images
        self.labels = labels
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = Image.fromarray((self.images[i] * 15).astype(np.uint8))
        return self.transform(img), int(self.labels[i])


SIZE = 24
train_tf = transforms.Compose(
    [
        transforms.Resize(SIZE),
        transforms.RandomCrop(SIZE, padding=4),
        transforms.RandomAffine(degrees=5),
        transforms.ToTensor(),
    ]
)
test_tf = transforms.Compose([transforms.Resize(SIZE), transforms.ToTensor()])

train_set = DigitImages(data.images[:1000], data.target[:1000], train_tf)
test_set = DigitImages(data.images[1400:], data.target[1400:], test_tf)
train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
test_loader = DataLoader(test_set, batch_size=100)

model = nn.Sequential(
    nn.Conv2d(1, 16, 5, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
    nn.Flatten(), nn.LazyLinear(10),
)
model(torch.zeros(1, 1, SIZE, SIZE))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(2):
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in test_loader)
    print(f"epoch {epoch} test acc {hits / len(test_set):.3f}")
