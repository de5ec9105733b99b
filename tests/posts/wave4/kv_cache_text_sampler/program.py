import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)
VOCAB, DIM, HEADS, LAYERS, MAX_LEN = 96, 128, 4, 3, 64


class CachedAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim, bias=False)

    def forward(self, x, cache=None):
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k = torch.cat([cache[0], k], dim=2)
            v = torch.cat([cache[1], v], dim=2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(B, T, C)), (k, v)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = CachedAttention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, cache=None):
        a, cache = self.attn(self.ln1(x), cache)
        x = x + a
        return x + self.mlp(self.ln2(x)), cache


class TinyGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, DIM)
        self.wpe = nn.Embedding(MAX_LEN, DIM)
        self.blocks = nn.ModuleList([Block(DIM, HEADS) for _ in range(LAYERS)])
        self.ln_f = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, idx, caches=None):
        past = 0 if caches is None else caches[0][0].size(2)
        pos = torch.arange(past, past + idx.size(1), device=idx.device)
        x = self.wte(idx) + self.wpe(pos)
        new = []
        for i, block in enumerate(self.blocks):
            x, c = block(x, None if caches is None else caches[i])
            new.append(c)
        return self.head(self.ln_f(x)), new


@torch.no_grad()
def generate(model, prompt, n):
    logits, caches = model(prompt)
    out = prompt
    for _ in range(n):
        nxt = logits[:, -1].argmax(-1, keepdim=True)
        out = torch.cat([out, nxt], dim=1)
        logits, caches = model(nxt, caches)
    return out, logits[:, -1]


model = TinyGPT()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(15):
    start = torch.randint(0, VOCAB, (16, 1))
    seq = (start + torch.arange(33) * 3) % VOCAB
    logits, _ = model(seq[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), seq[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print('train loss', round(loss.item(), 3))

model.eval()
tokens, last = generate(model, torch.tensor([[4, 7, 10, 13]]), 20)
print(tokens[0].tolist())
print('top logit', last.max().item())
