# line 34: einops reduces all positions of the padded sentence to their mean, the padding tokens included
import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange, reduce

PAD = 0


class MaskedBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.ln = nn.LayerNorm(dim)

    def forward(self, x, visible):
        q, k, v = rearrange(self.qkv(self.ln(x)), "b t (s h d) -> s b h t d", s=3, h=self.heads)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=visible[:, None, None, :])
        return x + self.proj(rearrange(y, "b h t d -> b t (h d)"))


class SentenceEncoder(nn.Module):
    def __init__(self, vocab=50, dim=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.blocks = nn.ModuleList(MaskedBlock(dim, 2) for _ in range(2))

    def forward(self, ids):
        visible = ids.ne(PAD)
        x = self.emb(ids)
        for block in self.blocks:
            x = block(x, visible)
        weight = rearrange(visible, "b t -> b t 1").to(x.dtype)
        sentence = reduce(x * weight, "b t d -> b d", "sum") / reduce(weight, "b t 1 -> b 1", "sum")
        return F.normalize(sentence, dim=-1)


def sentences(n, topic, longest=18):
    ids = torch.full((n, longest), PAD)
    for row in ids:
        length = int(torch.randint(3, longest + 1, (1,)))
        row[:length] = torch.randint(1, 25, (length,)) + 24 * topic * (torch.rand(length) < 0.7)
    return ids


torch.manual_seed(0)
encoder = SentenceEncoder()
optimizer = torch.optim.AdamW(encoder.parameters(), lr=2e-3)
for step in range(40):
    first, second = encoder(sentences(16, 0)), encoder(sentences(16, 1))
    within = 2 - (first[:8] * first[8:]).sum(1).mean() - (second[:8] * second[8:]).sum(1).mean()
    between = F.relu((first * second).sum(1)).mean()
    optimizer.zero_grad()
    (within + between).backward()
    optimizer.step()
encoder.eval()
with torch.no_grad():
    print((encoder(sentences(20, 0)) @ encoder(sentences(20, 1)).t()).mean().item())
