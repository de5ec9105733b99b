import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

IGNORE_INDEX = -100


@dataclass
class RecipeConfig:
    vocab_size: int = 96
    dim: int = 64
    n_layers: int = 2
    n_heads: int = 4
    seq_len: int = 32
    batch_size: int = 8
    lr: float = 1e-3
    max_steps: int = 60
    log_every: int = 10
    clip_norm: float = 1.0


class ChatDataset(Dataset):
    """Prompt tokens are masked out of the loss, response repeats the prompt."""

    def __init__(self, cfg, n=256):
        g = torch.Generator().manual_seed(0)
        half = cfg.seq_len // 2
        self.prompts = torch.randint(1, cfg.vocab_size, (n, half), generator=g)

    def __len__(self):
        return len(self.prompts)

    def __getitem__(self, i):
        prompt = self.prompts[i]
        tokens = torch.cat([prompt, prompt])
        labels = tokens.clone()
        labels[: len(prompt)] = IGNORE_INDEX
        return {"tokens": tokens, "labels": labels}


class TinyDecoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab_size, cfg.dim)
        self.pos = nn.Embedding(cfg.seq_len, cfg.dim)
        layer = nn.TransformerEncoderLayer(
            cfg.dim, cfg.n_heads, 4 * cfg.dim, dropout=0.0, batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, cfg.n_layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(cfg.dim)
        self.out = nn.Linear(cfg.dim, cfg.vocab_size, bias=False)

    def forward(self, tokens):
        t = tokens.size(1)
        h = self.tok(tokens) + self.pos(torch.arange(t, device=tokens.device))
        mask = nn.Transformer.generate_square_subsequent_mask(t, device=tokens.device)
        return self.out(self.norm(self.blocks(h, mask=mask, is_causal=True)))


class SFTRecipe:
    def __init__(self, cfg):
        self.cfg = cfg
        self.step = 0

    def setup(self):
        torch.manual_seed(0)
        self.model = TinyDecoder(self.cfg)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=self.cfg.lr)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self._lr_factor)
        self.loader = DataLoader(ChatDataset(self.cfg), batch_size=self.cfg.batch_size, shuffle=True)

    def _lr_factor(self, step):
        return 0.5 * (1 + math.cos(math.pi * step / self.cfg.max_steps))

    def forward_backward(self, batch):
        logits = self.model(batch["tokens"])
        loss = F.cross_entropy(
            logits[:, :-1].flatten(0, 1), batch["labels"][:, 1:].flatten(), ignore_index=IGNORE_INDEX
        )
        loss.backward()
        return loss.detach()

    def train_step(self, batch):
        loss = self.forward_backward(batch)
        grad_norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip_norm)
        self.optimizer.step()
        self.scheduler.step()
        return loss, grad_norm

    def train(self):
        self.model.train()
        while self.step < self.cfg.max_steps:
            for batch in self.loader:
                loss, grad_norm = self.train_step(batch)
                self.step += 1
                if self.step % self.cfg.log_every == 0:
                    print(f"{self.step} / {self.cfg.max_steps} | Loss: {loss.item():.4f} | Grad norm: {grad_norm:.3f}")
                if self.step >= self.cfg.max_steps:
                    break


if __name__ == "__main__":
    recipe = SFTRecipe(RecipeConfig())
    recipe.setup()
    recipe.train()
