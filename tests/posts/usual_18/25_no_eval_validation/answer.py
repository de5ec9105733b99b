# Fruit ripeness from photos, final project. Two conv blocks with batch norm and dropout.
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader, random_split
from torchvision.transforms import v2

CLASSES = ["unripe", "ripe", "rotten"]
COLOURS = np.array([[0.3, 0.6, 0.2], [0.7, 0.3, 0.2], [0.35, 0.25, 0.15]])


class FruitDataset(Dataset):
    def __init__(self, n=210, seed=0, transform=None):
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, 3, n)
        noise = rng.normal(0, 0.25, (n, 3, 24, 24))
        self.x = (COLOURS[self.y][:, :, None, None] + noise).astype(np.float32)
        self.transform = transform

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        img = torch.from_numpy(self.x[i])
        if self.transform is not None:
            img = self.transform(img)
        return img, int(self.y[i])


class FruitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout2d(0.2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(16 * 36, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, x):
        return self.classifier(self.features(x))


def train(model, loader, criterion, optimizer):
    model.train()
    total_loss = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        total_loss += loss.item() * len(images)
    return total_loss / len(loader.dataset)


def validate(model, loader, criterion):
    model.eval()
    total_loss, correct = 0.0, 0
    with torch.no_grad():
        for images, labels in loader:
            outputs = model(images)
            total_loss += criterion(outputs, labels).item() * len(images)
            correct += (outputs.argmax(dim=1) == labels).sum().item()
    return total_loss / len(loader.dataset), correct / len(loader.dataset)


torch.manual_seed(0)
data = FruitDataset(transform=v2.RandomHorizontalFlip())
train_set, val_set = random_split(data, [160, 50])
train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
val_loader = DataLoader(val_set, batch_size=10)

model = FruitNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

best = 0.0
for epoch in range(4):
    train_loss = train(model, train_loader, criterion, optimizer)
    val_loss, val_acc = validate(model, val_loader, criterion)
    best = max(best, val_acc)
    print(f"Epoch {epoch + 1}/4 train {train_loss:.3f} val {val_loss:.3f} acc {val_acc:.2f}")
print("best accuracy", best)
