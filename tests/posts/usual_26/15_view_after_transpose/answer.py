import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class ReversalTask(Dataset):
    """Sequences of digits; the target is the same sequence reversed."""

    def __init__(self, n, length=10, base=8, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.seq = torch.randint(0, base, (n, length), generator=g)

    def __len__(self):
        return self.seq.shape[0]

    def __getitem__(self, i):
        return self.seq[i], self.seq[i].flip(0)


class SelfAttention(nn.Module):
    def __init__(self, dim, heads, dropout=0.0):
        super().__init__()
        self.heads = heads
        self.head_dim = dim // heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        qkv = self.qkv(x).view(B, T, 3, self.heads, self.head_dim)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        att = q @ k.transpose(-2, -1) * self.head_dim ** -0.5
        att = self.dropout(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2)
        y = y.reshape(B, T, C)
        return self.proj(y)


class FeedForward(nn.Module):
    def __init__(self, dim, mult=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, dim * mult), nn.GELU(), nn.Linear(dim * mult, dim))

    def forward(self, x):
        return self.net(x)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1 = nn.LayerNorm(dim)
        self.attn = SelfAttention(dim, heads)
        self.ln2 = nn.LayerNorm(dim)
        self.ff = FeedForward(dim)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ff(self.ln2(x))


class Reverser(nn.Module):
    def __init__(self, base=8, length=10, dim=48, heads=4, depth=2):
        super().__init__()
        self.tok = nn.Embedding(base, dim)
        self.pos = nn.Parameter(torch.randn(1, length, dim) * 0.5)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.ln = nn.LayerNorm(dim)
        self.lm = nn.Linear(dim, base)

    def forward(self, idx, targets=None):
        x = self.tok(idx) + self.pos
        for block in self.blocks:
            x = block(x)
        logits = self.lm(self.ln(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss


def main():
    torch.manual_seed(1337)
    train = DataLoader(ReversalTask(2048, seed=0), batch_size=64, shuffle=True)
    test = DataLoader(ReversalTask(64, seed=1), batch_size=64)
    model = Reverser()
    print(f"{sum(p.numel() for p in model.parameters()) / 1e3:.1f}k parameters")
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(6):
        model.train()
        for src, tgt in train:
            _, loss = model(src, tgt)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            src, tgt = next(iter(test))
            logits, test_loss = model(src, tgt)
        exact = (logits.argmax(-1) == tgt).all(dim=1).float().mean()
        print(f"epoch {epoch}: train {loss.item():.3f} test {test_loss.item():.3f} exact {exact:.2f}")


if __name__ == "__main__":
    main()
