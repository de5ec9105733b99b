import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import Dataset, DataLoader

CLASSES = ["forest", "river", "residential", "highway", "pasture"]


class TileDataset(Dataset):
    """RGB satellite tiles stored as one big uint8 array, as written by rasterio/cv2."""

    def __init__(self, images, labels):
        self.images = images
        self.labels = labels

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        img = self.images[idx].astype(np.float32) / 255.0
        img = torch.from_numpy(img)
        label = torch.tensor(int(self.labels[idx]))
        return img, label


class TileNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 32, kernel_size=3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, kernel_size=3, padding=1),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.classifier = nn.Linear(64, n_classes)

    def forward(self, x):
        x = self.features(x)
        x = torch.flatten(x, 1)
        return self.classifier(x)


rng = np.random.default_rng(0)
images = rng.integers(0, 256, size=(200, 64, 64, 3), dtype=np.uint8)
labels = rng.integers(0, len(CLASSES), size=200)

train_loader = DataLoader(TileDataset(images[:160], labels[:160]), batch_size=16, shuffle=True)
test_loader = DataLoader(TileDataset(images[160:], labels[160:]), batch_size=16)

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = TileNet(len(CLASSES)).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(2):
    model.train()
    running = 0.0
    for inputs, targets in train_loader:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        running += loss.item()

    model.eval()
    correct = 0
    with torch.no_grad():
        for inputs, targets in test_loader:
            pred = model(inputs.to(device)).argmax(1).cpu()
            correct += (pred == targets).sum().item()
    print(f"epoch {epoch}: loss {running / len(train_loader):.4f}, acc {correct / len(test_loader.dataset):.3f}")
