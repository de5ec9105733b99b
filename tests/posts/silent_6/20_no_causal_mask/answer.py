import math

import torch
from torch import nn

torch.manual_seed(0)

RULES = {"a": "bc", "b": "de", "c": "ea", "d": "ab", "e": "cd"}
CHARS = sorted(RULES)
STOI = {c: i for i, c in enumerate(CHARS)}


def write_text(n, generator):
    """Each letter is followed by one of its two successors."""
    text = ["a"]
    for _ in range(n - 1):
        pick = torch.randint(0, 2, (1,), generator=generator).item()
        text.append(RULES[text[-1]][pick])
    return "".join(text)


class CharLM(nn.Module):
    def __init__(self, vocab, block, dim=32, heads=4, layers=2):
        super().__init__()
        self.block = block
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(block, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(dim, vocab)

    def forward(self, idx):
        T = idx.size(1)
        h = self.tok(idx) + self.pos(torch.arange(T))
        h = self.blocks(h, mask=nn.Transformer.generate_square_subsequent_mask(T))
        return self.head(h)


@torch.no_grad()
def generate(model, start, n):
    model.eval()
    idx = torch.tensor([[STOI[c] for c in start]])
    for _ in range(n):
        logits = model(idx[:, -model.block:])[:, -1]
        nxt = torch.multinomial(logits.softmax(-1), 1)
        idx = torch.cat([idx, nxt], dim=1)
    model.train()
    return "".join(CHARS[i] for i in idx[0].tolist())


def legal_share(texts):
    ok = [b in RULES[a] for text in texts for a, b in zip(text, text[1:])]
    return sum(ok) / len(ok)


def get_batch(data, block, size):
    starts = torch.randint(0, len(data) - block - 1, (size,))
    x = torch.stack([data[s:s + block] for s in starts])
    y = torch.stack([data[s + 1:s + block + 1] for s in starts])
    return x, y


text = write_text(6000, torch.Generator().manual_seed(1))
data = torch.tensor([STOI[c] for c in text])
BLOCK = 24
model = CharLM(len(CHARS), BLOCK)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
print(f"entropy of the source {math.log(2):.3f}")
for step in range(1, 301):
    x, y = get_batch(data, BLOCK, 32)
    logits = model(x)
    loss = criterion(logits.view(-1, len(CHARS)), y.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(f"step {step} loss {loss.item():.4f}")
samples = [generate(model, start, 14) for start in CHARS * 6]
print(samples[:4])
print(f"legal steps in the samples: {legal_share(samples):.2f}")
