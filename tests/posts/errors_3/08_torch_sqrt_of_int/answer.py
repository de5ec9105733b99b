import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)


class SelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(b, t, self.n_heads, self.d_head).transpose(1, 2)
        k = k.view(b, t, self.n_heads, self.d_head).transpose(1, 2)
        v = v.view(b, t, self.n_heads, self.d_head).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / self.d_head ** 0.5
        out = F.softmax(scores, dim=-1) @ v
        return self.proj(out.transpose(1, 2).reshape(b, t, d))


class Tagger(nn.Module):
    def __init__(self, vocab=100, d=64, tags=9):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.attn = SelfAttention(d, 4)
        self.out = nn.Linear(d, tags)

    def forward(self, ids):
        h = self.emb(ids)
        return self.out(h + self.attn(h))


model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(3):
    ids = torch.randint(0, 100, (16, 20))
    tags = ids % 9
    loss = F.cross_entropy(model(ids).flatten(0, 1), tags.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
