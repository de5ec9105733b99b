import os
import tempfile
from glob import glob

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

root = tempfile.mkdtemp()
rng = np.random.default_rng(0)
for label, name in enumerate(["cracked", "intact"]):
    os.makedirs(os.path.join(root, "train", name))
    for i in range(24):
        pixels = (rng.random((32, 32, 3)) * 120 + 100 * label).astype(np.uint8)
        Image.fromarray(pixels).save(os.path.join(root, "train", name, f"{i:03d}.png"))


class SurfaceDataset(Dataset):
    classes = ["cracked", "intact"]

    def __init__(self, folder, transform):
        self.paths = sorted(glob(os.path.join(folder, "*.png")))
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        path = self.paths[i]
        label = self.classes.index(os.path.basename(os.path.dirname(path)))
        return self.transform(Image.open(path).convert("RGB")), label


transform = transforms.Compose([transforms.Resize(24), transforms.ToTensor()])
dataset = SurfaceDataset(os.path.join(root, "train"), transform)
loader = DataLoader(dataset, batch_size=8, shuffle=True)

model = nn.Sequential(
    nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
