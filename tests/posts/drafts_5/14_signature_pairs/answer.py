import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

random.seed(12)
np.random.seed(12)
torch.manual_seed(12)

N_WRITERS = 12
PER_WRITER = 20
H, W = 32, 64


def draw_signature(writer):
    """A wavy pen line, amplitude and frequency belong to the writer."""
    style = np.random.RandomState(writer)
    amp, freq, slant = style.uniform(4, 13), style.uniform(1, 5), style.uniform(-6, 6)
    img = np.zeros((H, W, 1), dtype=np.float32)
    phase = np.random.uniform(-0.3, 0.3)
    for x in range(W):
        y = H / 2 + amp * np.sin(2 * np.pi * freq * x / W + phase) + slant * (x / W - 0.5)
        y += np.random.normal(0, 0.5)
        img[int(np.clip(y, 0, H - 2)):int(np.clip(y, 0, H - 2)) + 2, x] = 1.0
    return img


signatures = {w: [draw_signature(w) for _ in range(PER_WRITER)] for w in range(N_WRITERS)}


class PairDataset(Dataset):
    """(signature A, signature B, 1.0 if both are from the same writer else 0.0)"""

    def __init__(self, n_pairs, first, last):
        self.pairs = []
        for i in range(n_pairs):
            w = random.randrange(N_WRITERS)
            other = w if i % 2 == 0 else random.choice([o for o in range(N_WRITERS) if o != w])
            self.pairs.append((signatures[w][random.randrange(first, last)],
                               signatures[other][random.randrange(first, last)],
                               float(w == other)))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        a, b, same = self.pairs[i]
        return torch.from_numpy(a).permute(2, 0, 1), torch.from_numpy(b).permute(2, 0, 1), torch.tensor(same)


class SiameseNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 8 * 16, dim),
        )

    def embed(self, x):
        return F.normalize(self.cnn(x), dim=1)

    def forward(self, a, b):
        return self.embed(a), self.embed(b)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, emb_a, emb_b, label):
        dist = F.pairwise_distance(emb_a, emb_b)
        loss = label * dist.pow(2) + (1 - label) * F.relu(self.margin - dist).pow(2)
        return loss.mean()


train_loader = DataLoader(PairDataset(800, 0, 14), batch_size=32, shuffle=True)
test_loader = DataLoader(PairDataset(200, 14, PER_WRITER), batch_size=32)
net = SiameseNet()
criterion = ContrastiveLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

for epoch in range(4):
    net.train()
    losses = []
    for a, b, same in train_loader:
        emb_a, emb_b = net(a, b)
        loss = criterion(emb_a, emb_b, same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch + 1}: contrastive loss {np.mean(losses):.4f}")

net.eval()
hits, n = 0, 0
with torch.no_grad():
    for a, b, same in test_loader:
        emb_a, emb_b = net(a, b)
        verdict = (F.pairwise_distance(emb_a, emb_b) < 0.5).float()
        hits += (verdict == same).sum().item()
        n += len(same)
print(f"verification accuracy {hits / n:.3f}")
