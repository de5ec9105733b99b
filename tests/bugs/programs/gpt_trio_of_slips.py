from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class LMConfig:
    vocab: int = 72
    block_size: int = 20
    d_model: int = 48
    n_head: int = 6


cfg = LMConfig()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1 = nn.LayerNorm(cfg.d_model)
        self.ln2 = nn.LayerNorm(cfg.d_model)
        self.attn = nn.MultiheadAttention(cfg.d_model, cfg.n_head, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(cfg.d_model, 4 * cfg.d_model),
            nn.GELU(),
            nn.Linear(4 * cfg.d_model, 4 * cfg.d_model),
        )

    def forward(self, x, mask):
        y = self.ln1(x)
        x = x + self.attn(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.d_model)
        self.pos = nn.Parameter(torch.zeros(1, cfg.n_head, cfg.d_model))
        self.block = Block()
        self.head = nn.Linear(cfg.d_model, cfg.vocab)

    def forward(self, idx):
        T = idx.size(1)
        x = self.tok(idx) + self.pos[:, :T]
        mask = torch.full((T, T), float("-inf")).triu(1)
        return self.head(self.block(x, mask))


def main(idx, targets):
    model = LM()
    logits = model(idx)
    flat = logits.view(-1, cfg.d_model)
    loss = F.cross_entropy(flat, targets.view(-1))
    loss.backward()
    return loss


def example_inputs():
    return torch.randint(0, 72, (3, 16)), torch.randint(0, 72, (3, 16))
