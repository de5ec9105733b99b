import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class SlideBags(Dataset):
    """Bags of 40 patch embeddings per slide; a positive slide has a few tumour patches."""

    def __init__(self, n, seed, patches=40, dim=32):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 2, (n,), generator=g).float()
        self.x = torch.randn(n, patches, dim, generator=g)
        for i in range(n):
            if self.y[i] == 1:
                k = torch.randint(0, patches, (3,), generator=g)
                self.x[i, k, :8] += 2.0

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class AttentionMIL(nn.Module):
    """Attention-based deep multiple instance learning (Ilse et al. 2018)."""

    def __init__(self, dim=32, hidden=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU())
        self.attention = nn.Sequential(nn.Linear(hidden, 16), nn.Tanh(), nn.Linear(16, 1))
        self.classifier = nn.Linear(hidden, 1)

    def forward(self, bags):
        h = self.encoder(bags)
        scores = self.attention(h)
        weights = F.softmax(scores, dim=1)
        slide = (weights * h).sum(dim=1)
        return self.classifier(slide).squeeze(-1), weights


torch.manual_seed(0)
train_loader = DataLoader(SlideBags(300, seed=1), batch_size=20, shuffle=True)
test_loader = DataLoader(SlideBags(100, seed=2), batch_size=1)

model = AttentionMIL()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)

for epoch in range(8):
    model.train()
    running = 0.0
    for bags, y in train_loader:
        optimizer.zero_grad()
        logits, _ = model(bags)
        loss = criterion(logits, y)
        loss.backward()
        optimizer.step()
        running += loss.item()

    model.eval()
    correct = 0
    with torch.no_grad():
        for bags, y in test_loader:
            logits, weights = model(bags)
            correct += ((logits > 0).float() == y).sum().item()
    print(f"epoch {epoch}: loss {running / len(train_loader):.4f}, test acc {correct / 100:.3f}")

print("largest patch weight of the last slide:", weights.max().item())
