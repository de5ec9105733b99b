import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)


class SignaturePairs(Dataset):
    """pairs of signatures: same writer or two different writers"""

    def __init__(self, n_pairs=400, n_writers=20, dim=64):
        self.prototypes = torch.randn(n_writers, dim)
        self.pairs = []
        for i in range(n_pairs):
            a = torch.randint(n_writers, (1,)).item()
            if i % 2 == 0:
                b = a
            else:
                b = (a + torch.randint(1, n_writers, (1,)).item()) % n_writers
            x1 = self.prototypes[a] + 0.5 * torch.randn(dim)
            x2 = self.prototypes[b] + 0.5 * torch.randn(dim)
            label = 1.0 if a == b else -1.0
            self.pairs.append((x1, x2, torch.tensor(label)))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        return self.pairs[i]


class SiameseNet(nn.Module):
    def __init__(self, dim=64, emb=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(dim, 64),
            nn.ReLU(),
            nn.Linear(64, emb),
        )

    def forward(self, a, b):
        return self.encoder(a), self.encoder(b)


loader = DataLoader(SignaturePairs(), batch_size=32, shuffle=True)
model = SiameseNet()
criterion = nn.CosineEmbeddingLoss(margin=0.2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(10):
    model.train()
    total = 0.0
    for x1, x2, label in loader:
        e1, e2 = model(x1, x2)
        loss = criterion(e1, e2, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}")

model.eval()
same, diff = [], []
with torch.no_grad():
    for x1, x2, label in loader:
        sim = F.cosine_similarity(*model(x1, x2))
        same.append(sim[label == 1])
        diff.append(sim[label != 1])
print("mean similarity, same writer:", torch.cat(same).mean().item())
print("mean similarity, different writers:", torch.cat(diff).mean().item())
