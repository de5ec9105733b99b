import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import Dataset, DataLoader
from torchvision import transforms


class XRayDataset(Dataset):
    def __init__(self, n_images, transform=None):
        rng = np.random.default_rng(3)
        self.targets = rng.integers(0, 2, n_images)
        self.images = []
        for t in self.targets:
            pixels = rng.integers(0, 120, (72, 72), dtype=np.uint8)
            if t == 1:
                pixels[24:40, 24:40] += 100
            self.images.append(Image.fromarray(pixels))
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        image = self.images[idx]
        if self.transform:
            image = self.transform(image)
        return image, int(self.targets[idx])


train_transform = transforms.Compose([
    transforms.Resize((64, 64)),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
])

train_loader = DataLoader(XRayDataset(64, train_transform), batch_size=16, shuffle=True)

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, stride=2, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(4),
    nn.Flatten(),
    nn.Linear(32 * 4 * 4, 2),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    correct, seen, total_loss = 0, 0, 0.0
    for images, targets in train_loader:
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        total_loss += loss.item() * len(targets)
        correct += (outputs.argmax(1) == targets).sum().item()
        seen += len(targets)
    print(f"Epoch {epoch}: loss={total_loss / seen:.4f} acc={correct / seen:.3f}")
