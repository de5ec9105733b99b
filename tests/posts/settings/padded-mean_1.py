# line 34: the pooled embedding is the mean over all positions (AdaptiveAvgPool), padding included, though attention is masked
import torch
import torch.nn as nn
import torch.nn.functional as F

PAD = 0


class SelfAttn(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, h, pad_mask):
        q, k, v = self.qkv(h).chunk(3, dim=-1)
        s = q @ k.transpose(1, 2) / q.size(-1) ** 0.5
        s = s.masked_fill(pad_mask[:, None, :], float("-inf"))
        return h + F.softmax(s, dim=-1) @ v


class SentenceEncoder(nn.Module):
    def __init__(self, vocab=50, d=16, classes=3):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.blocks = nn.ModuleList([SelfAttn(d), SelfAttn(d)])
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.head = nn.Linear(d, classes)

    def forward(self, ids):
        is_pad = ids.eq(PAD)
        h = self.tok(ids)
        for blk in self.blocks:
            h = blk(h, is_pad)
        pooled = self.pool(h.transpose(1, 2)).squeeze(-1)
        return self.head(pooled)


def make_batch(n):
    rows, ys = [], []
    for _ in range(n):
        y = int(torch.randint(3, (1,)))
        ln = int(torch.randint(3, 20, (1,)))
        ids = torch.randint(10, 50, (ln,))
        ids[torch.randint(ln, (1,))] = 1 + y
        rows.append(F.pad(ids, (0, 20 - ln), value=PAD))
        ys.append(y)
    return torch.stack(rows), torch.tensor(ys)


torch.manual_seed(0)
enc = SentenceEncoder()
opt = torch.optim.Adam(enc.parameters(), lr=5e-3)
for step in range(60):
    ids, y = make_batch(16)
    opt.zero_grad()
    F.cross_entropy(enc(ids), y).backward()
    opt.step()
enc.eval()
with torch.no_grad():
    ids, y = make_batch(100)
    print((enc(ids).argmax(-1) == y).float().mean().item())
