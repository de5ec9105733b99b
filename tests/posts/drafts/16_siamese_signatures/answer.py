import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)


def fake_signature(writer):
    """Grey-scale image whose strokes depend on the writer."""
    rng = np.random.default_rng(writer)
    canvas = np.full((40, 80), 255, dtype=np.uint8)
    ys = np.cumsum(rng.integers(-2, 3, 70)) + 20 + np.random.randint(-1, 2, 70)
    for x, y in enumerate(np.clip(ys, 1, 38)):
        canvas[y - 1:y + 2, x + 5] = 0
    return Image.fromarray(canvas)


train_transform = transforms.Compose([
    transforms.Resize((32, 64)),
    transforms.RandomRotation(3, fill=255),
    transforms.ToTensor(),
])


class SignaturePairs(Dataset):
    def __init__(self, n_pairs, n_writers=10, transform=None):
        self.n_pairs = n_pairs
        self.n_writers = n_writers
        self.transform = transform

    def __len__(self):
        return self.n_pairs

    def __getitem__(self, index):
        first = random.randrange(self.n_writers)
        if index % 2 == 0:
            second, label = first, 1.0
        else:
            second = (first + random.randrange(1, self.n_writers)) % self.n_writers
            label = -1.0
        img1, img2 = fake_signature(first), fake_signature(second)
        if self.transform is not None:
            img1, img2 = self.transform(img1), self.transform(img2)
        return img1, img2, torch.tensor(label)


class SiameseNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.embed = nn.Linear(16 * 8 * 16, dim)

    def forward_once(self, x):
        return self.embed(self.features(x).flatten(1))

    def forward(self, a, b):
        return self.forward_once(a), self.forward_once(b)


loader = DataLoader(SignaturePairs(256, transform=train_transform), batch_size=32, shuffle=True)
net = SiameseNet()
criterion = nn.CosineEmbeddingLoss(margin=0.3)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

for epoch in range(4):
    same_sim, diff_sim = [], []
    for img1, img2, label in loader:
        optimizer.zero_grad()
        e1, e2 = net(img1, img2)
        loss = criterion(e1, e2, label)
        loss.backward()
        optimizer.step()
        sim = F.cosine_similarity(e1, e2).detach()
        same_sim.append(sim[label > 0].mean().item())
        diff_sim.append(sim[label <= 0].mean().item())
    print(f"epoch {epoch}: loss {loss.item():.4f}  same {np.mean(same_sim):.3f}  different {np.mean(diff_sim):.3f}")
