import math
import torch
import torch.nn as nn
import torch.nn.functional as F

BLOCK = 32
BATCH = 16

corpus = (
    "the cat sat on the mat and the dog lay by the fire while the rain fell on the old roof. "
    "the children read a story about a fox who lived in a forest far from the town. "
) * 20
chars = sorted(set(corpus))
encode = {c: i for i, c in enumerate(chars)}
decode = dict(enumerate(chars))
data = torch.tensor([encode[c] for c in corpus])
n_train = int(0.9 * len(data))
train_data, val_data = data[:n_train], data[n_train:]


def get_batch(split):
    source = train_data if split == "train" else val_data
    ix = torch.randint(len(source) - BLOCK - 1, (BATCH,))
    x = torch.stack([source[i : i + BLOCK] for i in ix])
    y = torch.stack([source[i + 1 : i + BLOCK + 1] for i in ix])
    return x, y


class MiniGPT(nn.Module):
    def __init__(self, vocab, d=64, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Embedding(BLOCK, d)
        block = nn.TransformerEncoderLayer(d, heads, 4 * d, dropout=0.1, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocab)

    def forward(self, idx):
        T = idx.size(1)
        x = self.tok(idx) + self.pos(torch.arange(T, device=idx.device))
        mask = nn.Transformer.generate_square_subsequent_mask(T, device=idx.device)
        x = self.blocks(x, mask=mask, is_causal=True)
        return self.head(self.norm(x))

    @torch.no_grad()
    def generate(self, idx, n):
        for _ in range(n):
            logits = self(idx[:, -BLOCK:])[:, -1]
            nxt = torch.multinomial(F.softmax(logits, dim=-1), 1)
            idx = torch.cat([idx, nxt], dim=1)
        return idx


torch.manual_seed(0)
model = MiniGPT(len(chars))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

for step in range(201):
    model.train()
    x, y = get_batch("train")
    logits = model(x)
    loss = F.cross_entropy(logits.reshape(-1, len(chars)), y.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        model.eval()
        with torch.no_grad():
            xv, yv = get_batch("val")
            val = F.cross_entropy(model(xv).reshape(-1, len(chars)), yv.reshape(-1))
        print(f"step {step}: train {loss.item():.3f} val {val.item():.3f} ppl {math.exp(val.item()):.2f}")

model.eval()
start = torch.tensor([[encode[c] for c in "the cat"]])
print("".join(decode[i] for i in model.generate(start, 80)[0].tolist()))
