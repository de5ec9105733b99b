import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CausalAttention(nn.Module):
    def __init__(self, dim, max_len=128):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)
        self.register_buffer("mask", torch.ones(max_len, max_len).tril().bool())

    def forward(self, x):
        t = x.size(1)
        att = self.q(x) @ self.k(x).transpose(1, 2) * x.size(-1) ** -0.5
        att = att.masked_fill(~self.mask[:t, :t], torch.finfo(att.dtype).min)
        return F.softmax(att, dim=-1) @ self.v(x)


class TinyLM(nn.Module):
    def __init__(self, vocab=96, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.attn = CausalAttention(dim)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.emb(ids)
        return self.head(self.norm(h + self.attn(h)))


@torch.no_grad()
def generate(model, ids, steps):
    for _ in range(steps):
        logits = model(ids)[:, -1].float()
        ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
    return ids


model = TinyLM().half().eval()
prompt = torch.randint(0, 96, (2, 8))
print(generate(model, prompt, 10))
