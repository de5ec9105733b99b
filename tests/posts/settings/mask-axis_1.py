# line 20: the padding mask is expanded along the queries, so it varies along the queries and not along the keys
import math

import torch
from torch import nn

torch.manual_seed(14)


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dk = heads, dim // heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, valid):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.dk).permute(2, 0, 3, 1, 4)
        energy = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.dk)
        blocked = valid.logical_not().view(b, 1, t, 1)
        energy = torch.where(blocked, torch.full_like(energy, -1e4), energy)
        out = torch.einsum("bhqk,bhkd->bqhd", energy.softmax(dim=-1), v)
        return self.proj(out.reshape(b, t, d))


class TicketRouter(nn.Module):
    def __init__(self, vocab=80, dim=16, queues=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.att = SelfAttention(dim, 2)
        self.out = nn.Linear(dim, queues)

    def forward(self, ids):
        valid = ids.ne(0)
        x = self.emb(ids)
        x = x + self.att(x, valid)
        share = valid.unsqueeze(-1).float()
        return self.out((x * share).sum(1) / share.sum(1))


ids = torch.randint(1, 80, (128, 12))
lengths = torch.randint(4, 13, (128,))
ids[torch.arange(12) >= lengths[:, None]] = 0
queue = ids[:, 0] % 3
router = TicketRouter()
opt = torch.optim.Adam(router.parameters(), lr=3e-3)
for epoch in range(4):
    for rows in torch.randperm(128).split(32):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(router(ids[rows]), queue[rows])
        loss.backward()
        opt.step()
    print(epoch, loss.item())
