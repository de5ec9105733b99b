import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainCfg:
    vocab: int = 96
    ctx: int = 32
    dim: int = 64
    heads: int = 4
    layers: int = 2
    micro_bs: int = 8
    accum: int = 4
    lr: float = 6e-4
    clip: float = 1.0
    epochs: int = 1


class TinyLM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.dim)
        self.pos = nn.Embedding(cfg.ctx, cfg.dim)
        layer = nn.TransformerEncoderLayer(cfg.dim, cfg.heads, 4 * cfg.dim, dropout=0.0,
                                           batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, cfg.layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(cfg.dim)
        self.head = nn.Linear(cfg.dim, cfg.vocab, bias=False)

    def forward(self, idx):
        T = idx.size(1)
        h = self.tok(idx) + self.pos(torch.arange(T, device=idx.device))
        mask = torch.triu(torch.ones(T, T, dtype=torch.bool, device=idx.device), 1)
        return self.head(self.norm(self.blocks(h, mask=mask)))


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = TinyLM(cfg).to(self.device)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr, betas=(0.9, 0.95))
        self.scaler = torch.amp.GradScaler(self.device)
        self.step = 0

    def forward_backward(self, x, y):
        with torch.autocast(self.device, dtype=torch.bfloat16):
            logits = self.model(x)
            loss = F.cross_entropy(logits.flatten(0, 1).float(), y.flatten())
        self.scaler.scale(loss / self.cfg.accum).backward()
        self.scaler.unscale_(self.opt)
        return loss.item()

    def optimizer_step(self):
        gnorm = nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad(set_to_none=True)
        self.step += 1
        return gnorm.item()

    def fit(self, loader):
        self.model.train()
        for epoch in range(self.cfg.epochs):
            running = 0.0
            for i, (x, y) in enumerate(loader, 1):
                running += self.forward_backward(x.to(self.device), y.to(self.device))
                if i % self.cfg.accum == 0:
                    gnorm = self.optimizer_step()
                    avg = running / self.cfg.accum
                    print(f"step {self.step} loss {avg:.3f} ppl {math.exp(avg):.1f} |g| {gnorm:.2f}")
                    running = 0.0


if __name__ == "__main__":
    torch.manual_seed(1337)
    cfg = TrainCfg()
    stream = torch.randint(0, cfg.vocab, (256 * cfg.ctx + 1,))
    xs = stream[:-1].view(-1, cfg.ctx)
    ys = stream[1:].view(-1, cfg.ctx)
    loader = DataLoader(TensorDataset(xs, ys), batch_size=cfg.micro_bs, shuffle=True, drop_last=True)
    Trainer(cfg).fit(loader)
