import torch
import torch.nn as nn
import torch.nn.functional as F


class Router(nn.Module):
    def __init__(self, hidden, num_experts, top_k, normalize=None, jitter=0.0):
        super().__init__()
        self.layer = nn.Linear(hidden, num_experts, bias=False)
        self.top_k = top_k
        self.normalize = normalize
        self.jitter = jitter

    def forward(self, x):
        if self.training and self.jitter:
            low, high = 1.0 - self.jitter, 1.0 + self.jitter
            x = x * (low + torch.rand_like(x) * (high - low))
        scores = self.layer(x.view(-1, x.shape[-1])).softmax(dim=-1)
        weights, experts = torch.topk(scores, self.top_k, dim=-1)
        if self.normalize:
            weights /= torch.norm(weights, p=self.normalize, dim=-1, keepdim=True)
        return scores, weights, experts


class Expert(nn.Module):
    def __init__(self, hidden, ffn):
        super().__init__()
        self.w1 = nn.Linear(hidden, ffn)
        self.w2 = nn.Linear(ffn, hidden)

    def forward(self, x):
        return self.w2(F.gelu(self.w1(x)))


class MoE(nn.Module):
    def __init__(self, hidden=32, ffn=64, num_experts=4, top_k=2, normalize=2):
        super().__init__()
        self.router = Router(hidden, num_experts, top_k, normalize, jitter=0.01)
        self.experts = nn.ModuleList([Expert(hidden, ffn) for _ in range(num_experts)])

    def forward(self, x):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        scores, weights, chosen = self.router(x)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == e)
            if len(token):
                out = out.index_add(0, token, expert(x[token]) * weights[token, slot, None])
        share = F.one_hot(chosen, len(self.experts)).float().mean(dim=(0, 1))
        balance = len(self.experts) * (share * scores.mean(0)).sum()
        return out.view(shape), balance


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.attn = nn.MultiheadAttention(hidden, heads, batch_first=True)
        self.moe = MoE(hidden)

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        y, balance = self.moe(self.ln2(x))
        return x + y, balance


class TinyMoELM(nn.Module):
    def __init__(self, vocab=40, hidden=32, layers=2, ctx=24):
        super().__init__()
        self.tok = nn.Embedding(vocab, hidden)
        self.pos = nn.Embedding(ctx, hidden)
        self.blocks = nn.ModuleList([Block(hidden, 4) for _ in range(layers)])
        self.head = nn.Linear(hidden, vocab)

    def forward(self, ids):
        t = ids.shape[1]
        mask = torch.ones(t, t).triu(1).bool()
        x, aux = self.tok(ids) + self.pos(torch.arange(t)), 0.0
        for block in self.blocks:
            x, balance = block(x, mask)
            aux = aux + balance
        return self.head(x), aux


def batches(steps, vocab=40, ctx=24, size=16):
    for _ in range(steps):
        start = torch.randint(0, vocab, (size, 1))
        step = torch.randint(1, 4, (size, 1))
        yield (start + step * torch.arange(ctx + 1)) % vocab


torch.manual_seed(0)
model = TinyMoELM()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for i, seq in enumerate(batches(60)):
    logits, aux = model(seq[:, :-1])
    lm = F.cross_entropy(logits.reshape(-1, 40), seq[:, 1:].reshape(-1))
    loss = lm + 0.01 * aux
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 20 == 0:
        print('step %d lm %.3f balance %.3f' % (i, lm.item(), aux.item()))
