import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
text = "the quick brown fox jumps over the lazy dog " * 30
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])


class CharGRU(nn.Module):
    def __init__(self, vocab, dim=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, x, h=None):
        o, h = self.rnn(self.emb(x), h)
        return self.out(o), h


model = CharGRU(len(chars))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    starts = torch.randint(0, len(data) - 33, (16,))
    x = torch.stack([data[s:s + 32] for s in starts])
    y = torch.stack([data[s + 1:s + 33] for s in starts])
    logits, _ = model(x)
    loss = F.cross_entropy(logits.transpose(1, 2), y)
    opt.zero_grad()
    loss.backward()
    opt.step()


@torch.no_grad()
def sample(model, start, n, temperature=0.8):
    x, h, out = torch.tensor([[stoi[start]]]), None, [start]
    for _ in range(n):
        logits, h = model(x, h)
        scores = logits[:, -1] / temperature
        x = torch.multinomial(F.softmax(scores, dim=-1), num_samples=1)
        out.append(chars[x.item()])
    return "".join(out)


print(sample(model, "t", 60))
