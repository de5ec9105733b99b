import math
import random

import torch
from torch import nn
import torch.nn.functional as F

random.seed(36)
torch.manual_seed(36)

words = "the quick brown fox jumps over a lazy dog and runs away from every angry bear".split()
text = " ".join(random.choices(words, k=1200))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
split = int(0.9 * len(data))
train_data, val_data = data[:split], data[split:]
BLOCK, DIM = 32, 48


class CharTransformer(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, DIM)
        self.pos = nn.Parameter(0.02 * torch.randn(BLOCK, DIM))
        layer = nn.TransformerEncoderLayer(DIM, nhead=4, dim_feedforward=96, dropout=0.1, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(DIM, vocab_size)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(BLOCK))

    def forward(self, idx):
        t = idx.size(1)
        h = self.tok(idx) + self.pos[:t]
        return self.head(self.blocks(h, mask=self.mask[:t, :t], is_causal=True))


def get_batch(source, batch_size=32):
    starts = torch.randint(0, len(source) - BLOCK - 1, (batch_size,))
    x = torch.stack([source[s:s + BLOCK] for s in starts])
    y = torch.stack([source[s + 1:s + BLOCK + 1] for s in starts])
    return x, y


model = CharTransformer(len(chars))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

for step in range(201):
    model.train()
    x, y = get_batch(train_data)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        model.eval()
        with torch.no_grad():
            xv, yv = get_batch(val_data)
            val = F.cross_entropy(model(xv).flatten(0, 1), yv.flatten()).item()
        print(f"step {step} train {loss.item():.4f} val ppl {math.exp(val):.3f}")
