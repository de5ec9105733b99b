import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

GENRES = ["action", "comedy", "drama", "horror"]


class PosterDataset(Dataset):
    """Scraped movie posters and their genre."""

    def __init__(self, n=48, transform=None, seed=0):
        rng = np.random.default_rng(seed)
        self.posters = []
        for _ in range(n):
            w = int(rng.integers(90, 120))
            h = int(rng.integers(130, 180))
            self.posters.append(rng.integers(0, 256, (h, w, 3), dtype=np.uint8))
        self.labels = rng.integers(0, len(GENRES), n)
        self.transform = transform

    def __len__(self):
        return len(self.posters)

    def __getitem__(self, idx):
        image = Image.fromarray(self.posters[idx]).convert("RGB")
        if self.transform:
            image = self.transform(image)
        return image, int(self.labels[idx])


class PosterCNN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        )
        self.head = nn.Linear(64, n_classes)

    def forward(self, x):
        return self.head(self.conv(x).flatten(1))


transform = transforms.Compose([
    transforms.Resize((64, 64)),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
])

torch.manual_seed(0)
dataset = PosterDataset(transform=transform)
loader = DataLoader(dataset, batch_size=12, shuffle=True)

model = PosterCNN(len(GENRES))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(2):
    total = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * images.size(0)
    print(f"epoch {epoch + 1}: loss {total / len(dataset):.4f}")
