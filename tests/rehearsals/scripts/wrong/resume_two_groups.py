import os
from dataclasses import dataclass, asdict

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    in_dim: int = 20
    hidden: int = 48
    classes: int = 5
    batch_size: int = 32
    lr: float = 1e-2
    weight_decay: float = 1e-3
    save_every: int = 10
    max_steps: int = 45
    path: str = "last.pt"


def build_model(cfg):
    return nn.Sequential(
        nn.Linear(cfg.in_dim, cfg.hidden),
        nn.LayerNorm(cfg.hidden),
        nn.GELU(),
        nn.Linear(cfg.hidden, cfg.classes),
    )


def split_decay(model, weight_decay):
    decay = [p for p in model.parameters() if p.ndim >= 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    return [{"params": decay, "weight_decay": weight_decay},
            {"params": rest, "weight_decay": 0.0}]


def batches(loader):
    while True:
        yield from loader


def make_data(cfg):
    g = torch.Generator().manual_seed(11)
    w = torch.randn(cfg.in_dim, cfg.classes, generator=g)
    x = torch.randn(500, cfg.in_dim, generator=g)
    y = (x @ w).argmax(1)
    return TensorDataset(x, y)


def train(cfg, model, optimizer, stream, step, until):
    model.train()
    while step < until:
        x, y = next(stream)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % cfg.save_every == 0:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                        "step": step, "cfg": asdict(cfg)}, cfg.path)
            print(f"step {step} loss {loss.item():.4f} saved")
    return step


cfg = Config()
torch.manual_seed(0)
loader = DataLoader(make_data(cfg), batch_size=cfg.batch_size, shuffle=True)
stream = batches(loader)

model = build_model(cfg)
optimizer = torch.optim.AdamW(split_decay(model, cfg.weight_decay), lr=cfg.lr)
train(cfg, model, optimizer, stream, 0, cfg.max_steps)

# go on from the last checkpoint with a lower rate
if os.path.exists(cfg.path):
    state = torch.load(cfg.path)
    model = build_model(cfg)
    model.load_state_dict(state["model"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    optimizer.load_state_dict(state["optimizer"])
    for group in optimizer.param_groups:
        group["lr"] = cfg.lr * 0.1
    step = train(cfg, model, optimizer, stream, state["step"], 2 * cfg.max_steps)
    print("finished at step", step)
