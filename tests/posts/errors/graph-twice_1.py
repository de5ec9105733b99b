# line 34: the hidden state is carried from chunk to chunk with its graph, so the second backward runs through the freed first one; mended by: detaching the state after each chunk
import torch
import torch.nn as nn
import torch.nn.functional as F

text = ("the quick brown fox jumps over the lazy dog and runs back to the den " * 12).strip()
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}


def batchify(ids, bs):
    n = len(ids) // bs
    return ids[:n * bs].view(bs, n)


class CharGRU(nn.Module):
    def __init__(self, n_chars, hidden=48):
        super().__init__()
        self.hidden = hidden
        self.emb = nn.Embedding(n_chars, 16)
        self.cell = nn.GRUCell(16, hidden)
        self.out = nn.Linear(hidden, n_chars)
        self.state = None

    def reset(self, bs):
        self.state = torch.zeros(bs, self.hidden)

    def forward(self, x):
        logits = []
        h = self.state
        for t in range(x.size(1)):
            h = self.cell(self.emb(x[:, t]), h)
            logits.append(self.out(h))
        self.state = h
        return torch.stack(logits, dim=1)


@torch.no_grad()
def generate(model, start, n):
    model.reset(1)
    ids = torch.tensor([[stoi[c] for c in start]])
    logits = model(ids)[:, -1]
    res = start
    for _ in range(n):
        nxt = torch.multinomial(F.softmax(logits, -1), 1)
        res += chars[nxt.item()]
        logits = model(nxt)[:, -1]
    return res


torch.manual_seed(1)
stream = batchify(torch.tensor([stoi[c] for c in text]), 4)
model = CharGRU(len(chars))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
bptt = 20
for epoch in range(2):
    model.reset(stream.size(0))
    for i in range(0, stream.size(1) - bptt - 1, bptt):
        x, y = stream[:, i:i + bptt], stream[:, i + 1:i + bptt + 1]
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print("epoch", epoch, loss.item())
print(generate(model, "the ", 30))
