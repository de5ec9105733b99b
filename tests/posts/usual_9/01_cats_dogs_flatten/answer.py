# %% [markdown]
# # Cats vs dogs - my first CNN

# %%
import os
import numpy as np
from PIL import Image
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

# %%
# small stand-in for the kaggle folder: data/train/cat/*.png, data/train/dog/*.png
rng = np.random.default_rng(1)
for split, n in (("train", 40), ("val", 10)):
    for k, name in enumerate(("cat", "dog")):
        folder = os.path.join("data", split, name)
        os.makedirs(folder, exist_ok=True)
        for i in range(n):
            arr = rng.integers(0, 180, (140, 120, 3)) + k * 60
            Image.fromarray(arr.astype(np.uint8)).save(os.path.join(folder, f"{name}.{i}.png"))

# %%
train_tf = transforms.Compose([
    transforms.Resize((128, 128)),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
])
val_tf = transforms.Compose([
    transforms.Resize((128, 128)),
    transforms.ToTensor(),
    transforms.Normalize([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
])
train_data = ImageFolder("data/train", transform=train_tf)
val_data = ImageFolder("data/val", transform=val_tf)
train_loader = DataLoader(train_data, batch_size=20, shuffle=True)
val_loader = DataLoader(val_data, batch_size=20)
print(train_data.class_to_idx)


# %%
class CatDogNet(nn.Module):
    def __init__(self):
        super(CatDogNet, self).__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.conv3 = nn.Conv2d(32, 64, 3)
        self.pool = nn.MaxPool2d(2, 2)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Linear(64 * 15 * 15, 128)
        self.drop = nn.Dropout(0.3)
        self.fc2 = nn.Linear(128, 2)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = self.pool(F.relu(self.conv3(x)))
        x = self.flatten(x)
        x = F.relu(self.fc1(x))
        x = self.drop(x)
        return self.fc2(x)


model = CatDogNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
for epoch in range(2):
    model.train()
    total = 0.0
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * images.size(0)
    model.eval()
    hits = 0
    with torch.no_grad():
        for images, labels in val_loader:
            hits += (model(images).argmax(dim=1) == labels).sum().item()
    print(epoch + 1, total / len(train_data), hits / len(val_data))
