import torch
import torch.nn as nn
import torch.nn.functional as F

config = {"vocab": 64, "dim": 24, "heads": 3, "ffn": 96, "max_len": 32, "depth": 2}


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config["heads"]
        self.ln1 = nn.LayerNorm(config["dim"])
        self.ln2 = nn.LayerNorm(config["dim"])
        self.qkv = nn.Linear(config["dim"], 3 * config["dim"])
        self.proj = nn.Linear(config["dim"], config["dim"])
        self.ff1 = nn.Linear(config["dim"], config["ffn"])
        self.ff2 = nn.Linear(config["dim"], config["dim"])

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = self.qkv(self.ln1(x)).split(c, dim=2)
        q, k, v = (
            z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (q, k, v)
        )
        scores = q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5
        scores = scores + mask
        y = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(b, t, c)
        x = x + self.proj(y)
        h = F.gelu(self.ff1(self.ln2(x)))
        return x + self.ff2(h)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(config["vocab"], config["dim"])
        self.pos = nn.Embedding(config["max_len"], config["dim"])
        self.blocks = nn.ModuleList(Block(config) for _ in range(config["depth"]))
        self.head = nn.Linear(config["dim"], config["vocab"], bias=False)

    def forward(self, idx):
        size = config["max_len"]
        mask = torch.triu(torch.full((size, size), -1e9, device=idx.device), 1)
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1), device=idx.device))
        for block in self.blocks:
            x = block(x, mask)
        return self.head(x)


def example_inputs():
    return (torch.randint(0, 64, (2, 20)),)
