import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(dim, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, h):
        scores = self.score(h)
        weights = torch.softmax(scores, dim=1)
        return (weights * h).sum(dim=1)


class ReviewClassifier(nn.Module):
    def __init__(self, vocab, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.pool = AttentionPool(dim)
        self.out = nn.Linear(dim, 2)

    def forward(self, x):
        h, _ = self.gru(self.emb(x))
        return self.out(self.pool(h))


torch.manual_seed(0)
tokens = torch.randint(1, 200, (1200, 20))
labels = (tokens == 7).any(dim=1).long()
tokens[::2, 5] = 7
labels[::2] = 1
train = DataLoader(TensorDataset(tokens[:1000], labels[:1000]), batch_size=50, shuffle=True)
model = ReviewClassifier(200)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    model.train()
    running = 0.0
    for xb, yb in train:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        acc = (model(tokens[1000:]).argmax(1) == labels[1000:]).float().mean().item()
    print(f"epoch {epoch} loss {running / 1000:.4f} val acc {acc:.3f}")
