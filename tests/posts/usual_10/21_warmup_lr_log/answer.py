import math

import torch
import torch.nn as nn
import torch.nn.functional as F

cfg = dict(
    seq=16, vocab=24, d_model=64, n_head=4, n_layer=2,
    batch=32, steps=240, warmup=40, peak_lr=2e-3, min_lr=1e-5,
)


class SortTransformer(nn.Module):
    """Reads a sequence of tokens and predicts it sorted."""

    def __init__(self, vocab, seq, d_model, n_head, n_layer):
        super().__init__()
        self.emb = nn.Embedding(vocab, d_model)
        self.pos = nn.Parameter(torch.zeros(1, seq, d_model))
        enc = nn.TransformerEncoderLayer(d_model, n_head, 4 * d_model, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(enc, n_layer)
        self.out = nn.Linear(d_model, vocab)
        nn.init.normal_(self.pos, std=0.02)

    def forward(self, x):
        return self.out(self.enc(self.emb(x) + self.pos))


def lr_at(step):
    if step < cfg["warmup"]:
        return cfg["peak_lr"] * (step + 1) / cfg["warmup"]
    frac = (step - cfg["warmup"]) / (cfg["steps"] - cfg["warmup"])
    return cfg["min_lr"] + 0.5 * (cfg["peak_lr"] - cfg["min_lr"]) * (1 + math.cos(math.pi * frac))


def set_lr(optimizer, lr):
    for group in optimizer.param_groups:
        group["lr"] = lr
    return lr


def get_batch(gen=None):
    x = torch.randint(0, cfg["vocab"], (cfg["batch"], cfg["seq"]), generator=gen)
    return x, x.sort(dim=1).values


@torch.no_grad()
def accuracy(model, n=10):
    model.eval()
    gen = torch.Generator().manual_seed(999)
    hits = 0.0
    for _ in range(n):
        x, y = get_batch(gen)
        hits += (model(x).argmax(-1) == y).float().mean().item()
    model.train()
    return hits / n


def main():
    torch.manual_seed(0)
    model = SortTransformer(cfg["vocab"], cfg["seq"], cfg["d_model"], cfg["n_head"], cfg["n_layer"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["min_lr"], betas=(0.9, 0.98), weight_decay=0.01)
    model.train()
    running = 0.0
    for step in range(cfg["steps"]):
        lr = set_lr(optimizer, lr_at(step))
        x, y = get_batch()
        loss = F.cross_entropy(model(x).transpose(1, 2), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running += loss.item()
        if (step + 1) % 40 == 0:
            print(f"step {step + 1:4d} lr {lr:.2e} loss {running / 40:.4f} acc {accuracy(model):.3f}")
            running = 0.0


if __name__ == "__main__":
    main()
