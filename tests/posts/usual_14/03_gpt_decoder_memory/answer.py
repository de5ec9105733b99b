"""Assignment 5: a character level GPT trained on a toy text."""
import math

import torch
from torch import nn
from torch.nn import functional as F

text = (
    "the quick brown fox jumps over the lazy dog. "
    "pack my box with five dozen liquor jugs. "
    "how vexingly quick daft zebras jump. "
) * 60
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]

block_size, batch_size = 32, 16
d_model, n_head, n_layer = 48, 4, 2
torch.manual_seed(1337)


def get_batch(split):
    source = train_data if split == "train" else val_data
    ix = torch.randint(len(source) - block_size - 1, (batch_size,))
    x = torch.stack([source[i:i + block_size] for i in ix])
    y = torch.stack([source[i + 1:i + block_size + 1] for i in ix])
    return x, y


class MiniGPT(nn.Module):
    """Decoder-only transformer."""

    def __init__(self, vocab_size):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, d_model)
        self.pos = nn.Embedding(block_size, d_model)
        layer = nn.TransformerEncoderLayer(
            d_model, n_head, dim_feedforward=4 * d_model, dropout=0.1,
            activation="gelu", batch_first=True,
        )
        self.blocks = nn.TransformerEncoder(layer, n_layer)
        self.ln = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, idx):
        T = idx.size(1)
        x = self.tok(idx) * math.sqrt(d_model) + self.pos(torch.arange(T))
        mask = torch.triu(torch.full((T, T), float("-inf")), diagonal=1)
        x = self.blocks(x, mask=mask)
        return self.head(self.ln(x))

    @torch.no_grad()
    def generate(self, idx, steps):
        for _ in range(steps):
            logits = self(idx[:, -block_size:])[:, -1]
            nxt = torch.multinomial(F.softmax(logits, dim=-1), 1)
            idx = torch.cat([idx, nxt], dim=1)
        return idx


model = MiniGPT(len(chars))
print(sum(p.numel() for p in model.parameters()) / 1e3, "k parameters")
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

for step in range(151):
    xb, yb = get_batch("train")
    logits = model(xb)
    loss = F.cross_entropy(logits.reshape(-1, len(chars)), yb.reshape(-1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 50 == 0:
        model.eval()
        with torch.no_grad():
            xv, yv = get_batch("val")
            val = F.cross_entropy(model(xv).flatten(0, 1), yv.flatten())
        model.train()
        print(f"step {step:4d}  train {loss.item():.3f}  val {val.item():.3f}")

model.eval()
start = torch.tensor([[stoi["t"]]])
print("".join(itos[i] for i in model.generate(start, 80)[0].tolist()))
