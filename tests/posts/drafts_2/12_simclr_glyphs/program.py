import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader
from torchvision import transforms

torch.manual_seed(4)


class GlyphPairs(Dataset):
    """Two random views of the same glyph image."""

    def __init__(self, n, n_glyphs=8):
        shapes = (torch.rand(n_glyphs, 1, 6, 6) > 0.5).float()
        self.base = F.interpolate(shapes, size=(24, 24))
        self.ids = torch.randint(0, n_glyphs, (n,))
        self.augment = transforms.Compose([
            transforms.RandomCrop(24, padding=3),
            transforms.RandomAffine(degrees=10),
            transforms.GaussianBlur(3),
        ])

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        img = self.base[self.ids[i]]
        return self.augment(img), self.augment(img), self.ids[i]


class Encoder(nn.Module):
    def __init__(self, dim=64, proj_dim=32):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, dim),
        )
        self.projector = nn.Sequential(nn.ReLU(), nn.Linear(dim, proj_dim))

    def forward(self, x):
        h = self.backbone(x)
        return h, self.projector(h)


class NTXent(nn.Module):
    def __init__(self, temperature=0.2):
        super().__init__()
        self.temperature = temperature

    def forward(self, z1, z2):
        n = z1.size(0)
        z = torch.cat([z1, z2], dim=0)
        sim = z @ z.t() / self.temperature
        mask = torch.eye(2 * n, device=z.device)
        sim = sim.masked_fill(mask, -1e9)
        targets = torch.arange(n, 2 * n, device=z.device)
        return F.cross_entropy(sim, targets)


def knn_accuracy(model, loader):
    model.eval()
    feats, ids = [], []
    with torch.no_grad():
        for v1, _, y in loader:
            feats.append(F.normalize(model(v1)[0], dim=1))
            ids.append(y)
    feats, ids = torch.cat(feats), torch.cat(ids)
    sim = feats @ feats.t()
    sim.fill_diagonal_(-2)
    return (ids[sim.argmax(dim=1)] == ids).float().mean().item()


train_set = GlyphPairs(384)
loader = DataLoader(train_set, batch_size=64, shuffle=True, drop_last=True)
model = Encoder()
criterion = NTXent()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(3):
    model.train()
    total = 0.0
    for view1, view2, _ in loader:
        _, z1 = model(view1)
        _, z2 = model(view2)
        loss = criterion(z1, z2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1}: contrastive loss {total / len(loader):.3f}")
print(f"1-NN accuracy: {knn_accuracy(model, DataLoader(train_set, batch_size=64)):.3f}")
