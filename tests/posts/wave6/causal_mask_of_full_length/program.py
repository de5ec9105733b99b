import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, SEQ, MODEL = 50, 64, 32


class ScaledDotProduct(nn.Module):
    def __init__(self, dropout=0.0, causal=False, seq_len=None):
        super().__init__()
        self.attn_drop = nn.Dropout(dropout)
        self.causal = causal
        if causal:
            mask = torch.triu(torch.full((seq_len, seq_len), float("-inf")), diagonal=1)
            self.register_buffer("mask", mask)

    def forward(self, q, k, v):
        att = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if self.causal:
            att = att + self.mask
        return self.attn_drop(F.softmax(att, dim=-1)) @ v


class MultiHeadDispatch(nn.Module):
    def __init__(self, dim, num_heads, attention):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.attention = attention

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = (t.view(b, s, self.num_heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        y = self.attention(q, k, v).transpose(1, 2).reshape(b, s, d)
        return self.proj(y)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = MultiHeadDispatch(dim, 4, ScaledDotProduct(causal=True, seq_len=SEQ))
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, MODEL)
        self.pos = nn.Parameter(torch.zeros(1, SEQ, MODEL))
        self.blocks = nn.Sequential(Block(MODEL), Block(MODEL))
        self.head = nn.Linear(MODEL, VOCAB)

    def forward(self, idx):
        x = self.tok(idx) + self.pos[:, :idx.shape[1]]
        return self.head(self.blocks(x))


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(5):
    data = torch.randint(0, VOCAB, (8, SEQ + 1))
    logits = model(data[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), data[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item())

model.eval()
with torch.no_grad():
    idx = torch.randint(0, VOCAB, (1, 8))
    for _ in range(10):
        probs = F.softmax(model(idx)[:, -1], dim=-1)
        idx = torch.cat([idx, torch.multinomial(probs, 1)], dim=1)
print(idx.tolist())
