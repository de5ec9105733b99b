import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(5)


class TokenSets(Dataset):
    """sets of tokens; positive when two special tokens occur together"""

    def __init__(self, n, length=40, vocab=30, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randint(2, vocab, (n, length), generator=g)
        self.y = torch.randint(0, 2, (n,), generator=g).float()
        for i in range(n):
            places = torch.randperm(length, generator=g)[:2]
            keep = int(torch.randint(0, 2, (1,), generator=g))
            for token in (0, 1):
                if self.y[i] == 1 or token == keep:
                    self.x[i, places[token]] = token

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class AttentionBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        w = torch.softmax(q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5, dim=-1)
        x = x + self.out((w @ v).transpose(1, 2).reshape(b, n, d))
        return x + self.mlp(self.norm2(x))


class SetClassifier(nn.Module):
    def __init__(self, vocab=30, dim=32, depth=2, heads=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.Sequential(*[AttentionBlock(dim, heads) for _ in range(depth)])
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        return self.head(self.blocks(self.embed(x)).mean(dim=1)).squeeze(1)


loader_train = DataLoader(TokenSets(1600, seed=1), batch_size=32, shuffle=True)
loader_val = DataLoader(TokenSets(400, seed=2), batch_size=100)

model = SetClassifier()
loss_fn = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def accuracy(logits, y):
    return ((logits > 0).float() == y).float().mean()


best_val, best_state = float("inf"), None
for epoch in range(6):
    e_train, a_train = 0.0, 0.0
    model.train()
    for x, y in loader_train:
        logits = model(x)
        e_batch = loss_fn(logits, y)
        a_batch = accuracy(logits, y)
        optimizer.zero_grad()
        e_batch.backward()
        optimizer.step()
        e_train += e_batch / len(loader_train)
        a_train += a_batch / len(loader_train)

    e_val, a_val = 0.0, 0.0
    model.eval()
    with torch.no_grad():
        for x, y in loader_val:
            logits = model(x)
            e_val += loss_fn(logits, y) / len(loader_val)
            a_val += accuracy(logits, y) / len(loader_val)

    if e_val < best_val:
        best_val = e_val
        best_state = {k: v.clone() for k, v in model.state_dict().items()}
    print(f"epoch {epoch:2d}  train {e_train:.4f} / {a_train:.3f}   val {e_val:.4f} / {a_val:.3f}")

model.load_state_dict(best_state)
print(f"best validation error: {best_val:.4f}")
