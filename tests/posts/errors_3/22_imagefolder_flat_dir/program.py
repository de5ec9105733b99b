import os
import tempfile

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def write_dataset(root, per_class=12):
    rng = np.random.default_rng(0)
    for split in ("train", "val"):
        for k, name in enumerate(("healthy", "rust")):
            folder = os.path.join(root, "leaves", split, name)
            os.makedirs(folder, exist_ok=True)
            for i in range(per_class):
                a = rng.integers(0, 120, (24, 24, 3), dtype=np.uint8)
                a[..., k] += 100
                Image.fromarray(a).save(os.path.join(folder, f"{i:03d}.png"))


root = os.path.join(tempfile.gettempdir(), "plant_disease")
write_dataset(root)

tf = transforms.Compose([
    transforms.Resize((16, 16)),
    transforms.ToTensor(),
])
train_dir = os.path.join(root, "leaves", "train", "healthy")
train_set = datasets.ImageFolder(train_dir, transform=tf)
loader = DataLoader(train_set, batch_size=8, shuffle=True)

model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, len(train_set.classes)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    for images, targets in loader:
        loss = nn.functional.cross_entropy(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, f"{loss.item():.3f}")
