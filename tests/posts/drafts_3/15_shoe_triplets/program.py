import io
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

random.seed(8)
np.random.seed(8)
torch.manual_seed(8)


def fake_catalogue(n_shoes=12, shots=6, size=40):
    """PNG bytes as they come from the shop, {shoe: [png, png, ...]}"""
    catalogue = {}
    for shoe in range(n_shoes):
        base = np.random.randint(0, 256, (5, 5, 3)).astype(np.uint8)
        files = []
        for shot in range(shots):
            img = Image.fromarray(base).resize((size, size))
            arr = np.array(img).astype(int) + np.random.randint(-25, 26, (size, size, 3))
            img = Image.fromarray(arr.clip(0, 255).astype(np.uint8))
            if shot % 3 == 2:
                img = img.convert("L")
            buf = io.BytesIO()
            img.save(buf, format="PNG")
            files.append(buf.getvalue())
        catalogue[shoe] = files
    return catalogue


tfm = transforms.Compose([
    transforms.Resize((32, 32)),
    transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    transforms.ToTensor(),
])


def load(png):
    return Image.open(io.BytesIO(png))


class TripletDataset(Dataset):
    def __init__(self, catalogue, length):
        self.catalogue = catalogue
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        shoe, other = random.sample(list(self.catalogue), 2)
        anchor, positive = random.sample(self.catalogue[shoe], 2)
        negative = random.choice(self.catalogue[other])
        return tuple(tfm(load(p)) for p in (anchor, positive, negative))


class Embedder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        )
        self.proj = nn.Linear(32 * 4 * 4, dim)

    def forward(self, x):
        return F.normalize(self.proj(self.features(x)), dim=1)


catalogue = fake_catalogue()
train_loader = DataLoader(TripletDataset(catalogue, 320), batch_size=32)
test_loader = DataLoader(TripletDataset(fake_catalogue(), 96), batch_size=32)
model = Embedder()
criterion = nn.TripletMarginLoss(margin=0.3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    model.train()
    total = 0.0
    for a, p, n in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(a), model(p), model(n))
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch", epoch, "triplet loss", round(total / len(train_loader), 4))

model.eval()
ok = 0
with torch.no_grad():
    for a, p, n in test_loader:
        ea, ep, en = model(a), model(p), model(n)
        ok += ((ea - ep).norm(dim=1) < (ea - en).norm(dim=1)).sum().item()
print("triplet accuracy on unseen shoes:", ok / len(test_loader.dataset))
