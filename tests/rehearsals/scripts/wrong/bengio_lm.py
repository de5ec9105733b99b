import random
from dataclasses import asdict, dataclass, field

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    vocab: int = 30
    dim: int = 32
    context: int = 8
    batch_size: int = 64
    lr: float = 2e-3
    max_steps: int = 120
    ckpt_every: int = 50
    out: str = "ckpt.pt"
    betas: tuple = field(default=(0.9, 0.98))


class Bengio(nn.Module):
    """The n-gram language model of 2003."""

    def __init__(self, cfg):
        super().__init__()
        self.emb = nn.Embedding(cfg.vocab, cfg.dim)
        self.hid = nn.Linear(cfg.dim * cfg.context, 64)
        self.out = nn.Linear(64, cfg.vocab)

    def forward(self, idx):
        return self.out(torch.tanh(self.hid(self.emb(idx).flatten(1))))


def corpus(cfg, n=3000):
    rnd = random.Random(1)
    table = [[rnd.random() ** 4 for _ in range(cfg.vocab)] for _ in range(cfg.vocab)]
    token, text = 0, []
    for _ in range(n):
        token = rnd.choices(range(cfg.vocab), table[token])[0]
        text.append(token)
    return torch.tensor(text)


def windows(text, cfg):
    view = text.unfold(0, cfg.context + 1, 1)
    return TensorDataset(view[:, :-1].contiguous(), view[:, -1].contiguous())


@torch.no_grad()
def estimate(model, loader, batches=5):
    model.eval()
    losses = []
    for i, (x, y) in enumerate(loader):
        if i == batches:
            break
        losses.append(F.cross_entropy(model(x), y).item())
    model.train()
    return sum(losses) / len(losses)


def train(cfg):
    torch.manual_seed(0)
    text = corpus(cfg)
    train_loader = DataLoader(windows(text[:2500], cfg), cfg.batch_size, shuffle=True)
    val_loader = DataLoader(windows(text[2500:], cfg), cfg.batch_size)
    model = Bengio(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, betas=cfg.betas)
    step, best = 0, 1e9
    while step < cfg.max_steps:
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            step += 1
            if step % cfg.ckpt_every == 0:
                val = estimate(model, val_loader)
                print(f"{step:4d} train {loss.item():.3f} val {val:.3f}")
                if val < best:
                    best = val
                    torch.save({"model": model.state_dict(), "step": step, "cfg": cfg}, cfg.out)
            if step >= cfg.max_steps:
                break
    return val_loader


def test(cfg, loader):
    ckpt = torch.load(cfg.out, map_location="cpu")
    saved = ckpt["cfg"]
    model = Bengio(saved if isinstance(saved, Config) else Config(**saved))
    model.load_state_dict(ckpt["model"])
    print("best checkpoint, step", ckpt["step"], "val", round(estimate(model, loader, 50), 4))


if __name__ == "__main__":
    config = Config()
    held_out = train(config)
    test(config, held_out)
