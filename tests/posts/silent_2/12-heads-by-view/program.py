import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class ReversedStrings(Dataset):
    def __init__(self, size, vocab=20, length=12):
        self.inputs = torch.randint(0, vocab, (size, length))
        self.outputs = self.inputs.flip(1)

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, idx):
        return self.inputs[idx], self.outputs[idx]


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        assert dim % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.q_proj = nn.Linear(dim, dim)
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.out_proj = nn.Linear(dim, dim)

    def split(self, x):
        b, t, _ = x.shape
        return x.view(b, self.num_heads, t, self.head_dim)

    def forward(self, x):
        b, t, dim = x.shape
        q, k = self.split(self.q_proj(x)), self.split(self.k_proj(x))
        v = self.split(self.v_proj(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        out = scores.softmax(dim=-1) @ v
        return self.out_proj(out.reshape(b, t, dim))


class Block(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = MultiHeadAttention(dim, num_heads)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ff(self.ln2(x))


class Model(nn.Module):
    def __init__(self, vocab=20, length=12, dim=32, num_heads=4):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(1, length, dim) * 0.02)
        self.blocks = nn.Sequential(Block(dim, num_heads), Block(dim, num_heads))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.blocks(self.tok(ids) + self.pos))


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
train_loader = DataLoader(ReversedStrings(640), batch_size=64, shuffle=True)
test_loader = DataLoader(ReversedStrings(128), batch_size=64)
model = Model().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    model.train()
    for x, y in train_loader:
        logits = model(x.to(device))
        loss = criterion(logits.flatten(0, 1), y.to(device).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = 0
        for x, y in test_loader:
            hits += (model(x.to(device)).argmax(-1).cpu() == y).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} token acc {hits / (128 * 12):.3f}")
