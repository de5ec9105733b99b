"""SimSiam pre-training on texture crops + linear probe."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader
import torchvision.transforms as T


class Textures(Dataset):
    """Stripes of four orientations, with random phase, colour and noise."""

    def __init__(self, n, transform=None, two_views=False, seed=0):
        rng = np.random.default_rng(seed)
        yy, xx = np.mgrid[:32, :32]
        self.labels = rng.integers(0, 4, n)
        self.images = torch.empty(n, 3, 32, 32)
        for i, k in enumerate(self.labels):
            ang = k * np.pi / 4
            wave = np.sin(0.9 * (xx * np.cos(ang) + yy * np.sin(ang)) + rng.uniform(0, 6.28))
            colour = rng.uniform(0.3, 1, size=(3, 1, 1))
            img = colour * (0.5 + 0.4 * wave) + 0.05 * rng.normal(size=(3, 32, 32))
            self.images[i] = torch.from_numpy(img.clip(0, 1)).float()
        self.transform, self.two_views = transform, two_views

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img = self.images[i]
        if self.two_views:
            return self.transform(img), self.transform(img)
        return self.transform(img), int(self.labels[i])


class SimSiam(nn.Module):
    def __init__(self, dim=64, pred_dim=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, dim, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(dim), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.projector = nn.Sequential(
            nn.Linear(dim, dim, bias=False), nn.BatchNorm1d(dim), nn.ReLU(),
            nn.Linear(dim, dim),
        )
        self.predictor = nn.Sequential(
            nn.Linear(dim, pred_dim, bias=False), nn.BatchNorm1d(pred_dim), nn.ReLU(),
            nn.Linear(pred_dim, dim),
        )

    def forward(self, x1, x2):
        z1 = self.projector(self.backbone(x1))
        z2 = self.projector(self.backbone(x2))
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return p1, p2, z1, z2


def negative_cosine(p, z):
    return -F.cosine_similarity(p, z, dim=-1).mean()


normalize = T.Normalize([0.33, 0.33, 0.33], [0.22, 0.22, 0.22])
augment = T.Compose([
    T.RandomCrop(24),
    T.ColorJitter(0.4, 0.4, 0.4, 0.1),
    normalize,
])
plain = T.Compose([T.CenterCrop(24), normalize])

torch.manual_seed(0)
loader = DataLoader(Textures(384, augment, two_views=True), batch_size=64, shuffle=True, drop_last=True)
model = SimSiam()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
EPOCHS = 7
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)

for epoch in range(EPOCHS):
    model.train()
    total, spread = 0.0, 0.0
    for x1, x2 in loader:
        p1, p2, z1, z2 = model(x1, x2)
        loss = 0.5 * negative_cosine(p1, z2) + 0.5 * negative_cosine(p2, z1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        spread += F.normalize(z1.detach(), dim=1).std(0).mean().item()
    scheduler.step()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}  std of z {spread / len(loader):.4f} (1/sqrt(d) = 0.125)")


@torch.no_grad()
def embed(dataset):
    model.eval()
    feats, labels = zip(*[(model.backbone(x), y) for x, y in DataLoader(dataset, batch_size=128)])
    return torch.cat(feats), torch.cat(labels)


xtr, ytr = embed(Textures(200, plain, seed=1))
xte, yte = embed(Textures(200, plain, seed=2))
mu, sd = xtr.mean(0), xtr.std(0) + 1e-6
probe = nn.Linear(64, 4)
opt = torch.optim.Adam(probe.parameters(), lr=1e-2)
for _ in range(200):
    loss = F.cross_entropy(probe((xtr - mu) / sd), ytr)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    acc = (probe((xte - mu) / sd).argmax(1) == yte).float().mean().item()
print(f"linear probe accuracy {acc:.3f}")
