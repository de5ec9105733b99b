import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange

PAD = 0


class Attention(nn.Module):
    def __init__(self, dim, heads=4, dim_head=16):
        super().__init__()
        inner = heads * dim_head
        self.heads = heads
        self.scale = dim_head ** -0.5
        self.to_qkv = nn.Linear(dim, inner * 3, bias=False)
        self.to_out = nn.Linear(inner, dim)

    def forward(self, x, mask=None):
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.heads) for t in (q, k, v))
        dots = torch.einsum("b h i d, b h j d -> b h i j", q, k) * self.scale
        if mask is not None:
            mask = rearrange(mask, "b i -> b 1 i 1")
            dots = dots.masked_fill(~mask, -torch.finfo(dots.dtype).max)
        attn = dots.softmax(dim=-1)
        out = torch.einsum("b h i j, b h j d -> b h i d", attn, v)
        return self.to_out(rearrange(out, "b h n d -> b n (h d)"))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = Attention(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, dim * 2), nn.GELU(), nn.Linear(dim * 2, dim))

    def forward(self, x, mask=None):
        x = x + self.attn(self.norm1(x), mask=mask)
        return x + self.ff(self.norm2(x))


class ReviewClassifier(nn.Module):
    def __init__(self, num_tokens, dim=32, depth=2, max_len=64):
        super().__init__()
        self.token_emb = nn.Embedding(num_tokens, dim)
        self.pos_emb = nn.Embedding(max_len, dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 2)

    def forward(self, tokens, mask):
        pos = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.token_emb(tokens) + self.pos_emb(pos)
        for block in self.blocks:
            x = block(x, mask=mask)
        return self.head(self.norm(x[:, 0]))


def make_batch(batch=16, num_tokens=50, max_len=24):
    lengths = torch.randint(4, max_len + 1, (batch,))
    tokens = torch.randint(1, num_tokens, (batch, max_len))
    mask = torch.arange(max_len)[None, :] < lengths[:, None]
    tokens = tokens.masked_fill(~mask, PAD)
    good = ((tokens > num_tokens // 2) & mask).sum(1)
    label = (good * 2 > lengths).long()
    return tokens, mask, label


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = ReviewClassifier(50).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(60):
        tokens, mask, label = (t.to(device) for t in make_batch())
        loss = F.cross_entropy(model(tokens, mask), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            print(f"step {step + 1} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
