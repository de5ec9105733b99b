import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


@dataclass
class TrainingConfig:
    vocab_size: int = 128
    dim: int = 64
    heads: int = 4
    layers: int = 2
    seq_len: int = 32
    lora_r: int = 4
    lora_alpha: int = 8
    batch_size: int = 8
    learning_rate: float = 0.01
    num_epochs: int = 3
    log_steps: int = 8


class LoraLinear(nn.Module):
    def __init__(self, base, r, alpha):
        super().__init__()
        self.base = base
        self.lora_a = nn.Parameter(torch.randn(r, base.in_features) / math.sqrt(base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, r))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(x, self.lora_a), self.lora_b)


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.heads = cfg.heads
        self.norm1, self.norm2 = nn.LayerNorm(cfg.dim), nn.LayerNorm(cfg.dim)
        self.qkv = nn.Linear(cfg.dim, 3 * cfg.dim)
        self.proj = nn.Linear(cfg.dim, cfg.dim)
        self.mlp = nn.Sequential(nn.Linear(cfg.dim, 4 * cfg.dim), nn.GELU(), nn.Linear(4 * cfg.dim, cfg.dim))

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, s, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, s, d))
        return x + self.mlp(self.norm2(x))


class TinyLM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab_size, cfg.dim)
        self.pos = nn.Embedding(cfg.seq_len, cfg.dim)
        self.blocks = nn.ModuleList([Block(cfg) for _ in range(cfg.layers)])
        self.head = nn.Linear(cfg.dim, cfg.vocab_size, bias=False)

    def forward(self, ids):
        x = self.tok(ids) + self.pos.weight[:ids.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def add_lora(model, cfg):
    model.requires_grad_(False)
    for block in model.blocks:
        block.qkv = LoraLinear(block.qkv, cfg.lora_r, cfg.lora_alpha)
        block.proj = LoraLinear(block.proj, cfg.lora_r, cfg.lora_alpha)
    return model


class Instructions(Dataset):
    def __init__(self, cfg, count=64):
        start = torch.randint(0, cfg.vocab_size, (count, 1))
        self.ids = (start + 3 * torch.arange(cfg.seq_len + 1)) % cfg.vocab_size

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i, :-1], "labels": self.ids[i, 1:]}


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = add_lora(TinyLM(cfg), cfg)
        trainable = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trainable, lr=cfg.learning_rate)
        self.loader = DataLoader(Instructions(cfg), batch_size=cfg.batch_size, shuffle=True)

    def training_step(self, batch):
        logits = self.model(batch["input_ids"])
        loss = F.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())
        loss.backward()
        return loss.item()

    def train(self):
        global_step, running = 0, 0.0
        self.model.train()
        for epoch in range(self.cfg.num_epochs):
            for batch in self.loader:
                running += self.training_step(batch)
                self.optimizer.step()
                self.optimizer.zero_grad()
                global_step += 1
                if global_step % self.cfg.log_steps == 0:
                    print(f"step {global_step}: loss {running / self.cfg.log_steps:.4f}")
                    running = 0.0


Trainer(TrainingConfig()).train()
