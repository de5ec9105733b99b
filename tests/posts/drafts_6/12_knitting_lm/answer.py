import random
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(8)
torch.manual_seed(8)


@dataclass
class LMConfig:
    block_size: int = 24
    d_model: int = 100
    n_heads: int = 4
    n_layers: int = 2
    dropout: float = 0.0
    batch_size: int = 32
    steps: int = 150
    lr: float = 2e-3


def knitting_pattern(rows):
    """k2 p2 style rows, each row repeats one rib"""
    out = []
    for number in range(1, rows + 1):
        k, p = random.choice([(1, 1), (2, 2), (3, 1), (4, 2), (2, 3)])
        rib = f"k{k} p{p} "
        out.append(f"row {number % 10}: " + rib * (12 // (k + p)) + "turn\n")
    return "".join(out)


text = knitting_pattern(800)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
n_train = int(0.9 * len(data))
train_data, val_data = data[:n_train], data[n_train:]


def get_batch(source, cfg):
    ix = torch.randint(len(source) - cfg.block_size - 1, (cfg.batch_size,))
    x = torch.stack([source[i:i + cfg.block_size] for i in ix])
    y = torch.stack([source[i + 1:i + cfg.block_size + 1] for i in ix])
    return x, y


class KnitLM(nn.Module):
    def __init__(self, cfg, vocab_size):
        super().__init__()
        self.cfg = cfg
        self.tok = nn.Embedding(vocab_size, cfg.d_model)
        self.pos = nn.Embedding(cfg.block_size, cfg.d_model)
        layer = nn.TransformerEncoderLayer(
            cfg.d_model, cfg.n_heads, 4 * cfg.d_model, cfg.dropout, batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, cfg.n_layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(cfg.d_model)
        self.lm_head = nn.Linear(cfg.d_model, vocab_size)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        x = self.tok(idx) + self.pos(torch.arange(T, device=idx.device))
        x = self.blocks(x, mask=nn.Transformer.generate_square_subsequent_mask(T))
        logits = self.lm_head(self.norm(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(B * T, -1), targets.view(B * T))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, n):
        for _ in range(n):
            logits, _ = self(idx[:, -self.cfg.block_size:])
            probs = F.softmax(logits[:, -1], dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, 1)], dim=1)
        return idx


cfg = LMConfig()
model = KnitLM(cfg, len(chars))
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)

for step in range(cfg.steps):
    model.train()
    x, y = get_batch(train_data, cfg)
    _, loss = model(x, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if (step + 1) % 50 == 0:
        model.eval()
        with torch.no_grad():
            _, val_loss = model(*get_batch(val_data, cfg))
        print(f"step {step + 1}: train {loss.item():.3f} val {val_loss.item():.3f}")

model.eval()
start = torch.tensor([[stoi[c] for c in "row 1: "]])
print("".join(chars[i] for i in model.generate(start, 80)[0].tolist()))
