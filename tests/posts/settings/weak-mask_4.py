# line 16: the causal triangle is taken of the weights after the softmax, so the hidden keys stay in its denominator
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, d_model, d_head):
        super().__init__()
        self.to_q = nn.Linear(d_model, d_head, bias=False)
        self.to_k = nn.Linear(d_model, d_head, bias=False)
        self.to_v = nn.Linear(d_model, d_head, bias=False)

    def forward(self, x):
        q, k, v = self.to_q(x), self.to_k(x), self.to_v(x)
        att = torch.bmm(q, k.transpose(1, 2)) / q.shape[-1] ** 0.5
        att = att.softmax(dim=-1).tril()
        return torch.bmm(att, v)


class NoteModel(nn.Module):
    def __init__(self, notes, d_model=32, heads=4, longest=32):
        super().__init__()
        self.notes = nn.Embedding(notes, d_model)
        self.places = nn.Embedding(longest, d_model)
        self.heads = nn.ModuleList([Head(d_model, d_model // heads) for _ in range(heads)])
        self.ff = nn.Sequential(nn.LayerNorm(d_model), nn.Linear(d_model, 64), nn.GELU(), nn.Linear(64, d_model))
        self.out = nn.Linear(d_model, notes)

    def forward(self, tune):
        x = self.notes(tune) + self.places(torch.arange(tune.shape[1]))
        x = x + torch.cat([head(x) for head in self.heads], dim=-1)
        return self.out(x + self.ff(x))


def tunes(n, length=17, notes=12):
    start = torch.randint(0, notes, (n, 1))
    stride = torch.randint(1, 4, (n, 1))
    return (start + stride * torch.arange(length)) % notes


torch.manual_seed(0)
lm = NoteModel(12)
optimizer = torch.optim.AdamW(lm.parameters(), lr=3e-3)
for it in range(80):
    batch = tunes(32)
    scores = lm(batch[:, :-1])
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

lm.eval()
with torch.no_grad():
    batch = tunes(64)
    scores = lm(batch[:, :-1])
    print("nll", nn.functional.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten()).item())
