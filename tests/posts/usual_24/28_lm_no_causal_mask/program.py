import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

corpus = (
    "it was the best of times, it was the worst of times, it was the age of wisdom, "
    "it was the age of foolishness, it was the epoch of belief, it was the season of light. "
) * 30
chars = sorted(set(corpus))
stoi = {c: i for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}
data = torch.tensor([stoi[c] for c in corpus])
train_data, val_data = data[: int(0.9 * len(data))], data[int(0.9 * len(data)) :]
block_size, batch_size = 32, 16


def get_batch(source):
    ix = torch.randint(len(source) - block_size - 1, (batch_size,))
    x = torch.stack([source[i : i + block_size] for i in ix])
    y = torch.stack([source[i + 1 : i + block_size + 1] for i in ix])
    return x, y


class TinyGPT(nn.Module):
    def __init__(self, vocab_size, d_model=64, n_head=4, n_layer=2):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, d_model)
        self.pos = nn.Embedding(block_size, d_model)
        layer = nn.TransformerEncoderLayer(d_model, n_head, 4 * d_model, dropout=0.1, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, n_layer)
        self.ln = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, idx):
        T = idx.size(1)
        x = self.tok(idx) + self.pos(torch.arange(T, device=idx.device))
        x = self.blocks(x)
        return self.head(self.ln(x))

    @torch.no_grad()
    def generate(self, idx, n):
        self.eval()
        for _ in range(n):
            logits = self(idx[:, -block_size:])[:, -1]
            nxt = torch.multinomial(F.softmax(logits, dim=-1), 1)
            idx = torch.cat([idx, nxt], dim=1)
        return idx


model = TinyGPT(len(chars))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

for step in range(201):
    model.train()
    xb, yb = get_batch(train_data)
    logits = model(xb)
    loss = F.cross_entropy(logits.reshape(-1, len(chars)), yb.reshape(-1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        model.eval()
        with torch.no_grad():
            xv, yv = get_batch(val_data)
            val_loss = F.cross_entropy(model(xv).reshape(-1, len(chars)), yv.reshape(-1))
        print(f"step {step}: train {loss.item():.3f} val {val_loss.item():.3f}")

start = torch.tensor([[stoi[c] for c in "it was "]])
print("".join(itos[i] for i in model.generate(start, 80)[0].tolist()))
