import torch
import torch.nn as nn
import torch.nn.functional as F

NOTES, BARS = 16, 20


def melodies(n, seed):
    """Every note follows from the two before it by a fixed rule, with a few wrong notes."""
    g = torch.Generator().manual_seed(seed)
    rule = torch.randint(0, NOTES, (NOTES, 3), generator=torch.Generator().manual_seed(2))
    tune = torch.randint(0, NOTES, (n, BARS + 1), generator=g)
    for t in range(2, BARS + 1):
        nxt = rule[tune[:, t - 1], tune[:, t - 2] % 3]
        slip = torch.rand(n, generator=g) < 0.25
        tune[:, t] = torch.where(slip, tune[:, t], nxt)
    return tune


class CausalSelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.register_buffer("mask", torch.tril(torch.ones(BARS, BARS)))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (part.view(B, T, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / (C // self.heads) ** 0.5
        scores = scores.masked_fill(self.mask[:T, :T] == 0, 1e-9)
        attention = F.softmax(scores, dim=-1)
        return self.out((attention @ v).transpose(1, 2).reshape(B, T, C))


class MelodyModel(nn.Module):
    def __init__(self, dim=48, heads=4, depth=2):
        super().__init__()
        self.note = nn.Embedding(NOTES, dim)
        self.place = nn.Embedding(BARS, dim)
        self.attn = nn.ModuleList([CausalSelfAttention(dim, heads) for _ in range(depth)])
        self.mlp = nn.ModuleList(
            [nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)) for _ in range(depth)])
        self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(2 * depth)])
        self.to_note = nn.Linear(dim, NOTES)

    def forward(self, notes):
        x = self.note(notes) + self.place(torch.arange(notes.shape[1]))
        for i, (attn, mlp) in enumerate(zip(self.attn, self.mlp)):
            x = x + attn(self.norms[2 * i](x))
            x = x + mlp(self.norms[2 * i + 1](x))
        return self.to_note(x)


torch.manual_seed(0)
train, test = melodies(1000, seed=0), melodies(300, seed=1)
model = MelodyModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

for epoch in range(7):
    model.train()
    for rows in torch.randperm(len(train)).split(40):
        logits = model(train[rows, :-1])
        loss = F.cross_entropy(logits.reshape(-1, NOTES), train[rows, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        whole = (model(test[:, :-1]).argmax(-1) == test[:, 1:])[:, 6:].float().mean().item()
        steps = [(model(test[:, :t])[:, -1].argmax(-1) == test[:, t]).float().mean().item() for t in range(7, BARS, 4)]
    print(f"epoch {epoch + 1:2d}  loss {loss.item():.3f}  acc on whole tunes {whole:.3f}  note by note {sum(steps) / len(steps):.3f}")
