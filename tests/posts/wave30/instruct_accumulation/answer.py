import itertools
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from transformers import LlamaConfig, LlamaForCausalLM


@dataclass
class TrainConfig:
    vocab_size: int = 64
    max_seq_len: int = 20
    train_samples: int = 256
    batch_size: int = 8
    gradient_accum_steps: int = 4
    num_epochs: int = 6
    lr: float = 4e-3
    grad_clip: float = 1.0
    pad_id: int = 0


class InstructSet(Dataset):
    """prompt tokens, a separator, and the completion: each token mapped by a fixed table."""

    def __init__(self, cfg, n, seed):
        gen = torch.Generator().manual_seed(seed)
        table = torch.randperm(cfg.vocab_size - 2, generator=torch.Generator().manual_seed(99)) + 2
        half = (cfg.max_seq_len - 1) // 2
        prompts = torch.randint(2, cfg.vocab_size, (n, half), generator=gen)
        sep = torch.ones(n, 1, dtype=torch.long)
        self.ids = torch.cat([prompts, sep, table[prompts - 2]], dim=1)
        self.prompt_len = half + 1

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        ids = self.ids[i]
        labels = ids[1:].clone()
        labels[:self.prompt_len - 1] = -100
        return ids[:-1], labels


def build_model(cfg):
    config = LlamaConfig(vocab_size=cfg.vocab_size, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=cfg.max_seq_len,
                         pad_token_id=cfg.pad_id, tie_word_embeddings=False)
    return LlamaForCausalLM(config)


def compute_loss(model, batch):
    x, y = batch
    logits = model(input_ids=x).logits
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), y.reshape(-1), ignore_index=-100)


def update_step(model, optimizer, scheduler, grad_clip):
    nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad(set_to_none=True)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    losses = [compute_loss(model, batch).item() for batch in loader]
    model.train()
    return sum(losses) / len(losses)


def main():
    cfg = TrainConfig()
    torch.manual_seed(127)
    train_loader = DataLoader(InstructSet(cfg, cfg.train_samples, 0), batch_size=cfg.batch_size)
    val_loader = DataLoader(InstructSet(cfg, 64, 1), batch_size=cfg.batch_size)
    model = build_model(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=0.0)

    updates = len(train_loader) // cfg.gradient_accum_steps
    total = updates * cfg.num_epochs
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 0.1 + 0.45 * (1 + math.cos(math.pi * s / total)))

    model.train()
    for epoch in range(cfg.num_epochs):
        running = 0.0
        for i, batch in enumerate(train_loader):
            loss = compute_loss(model, batch) / cfg.gradient_accum_steps
            loss.backward()
            running += loss.item()
            if (i + 1) % cfg.gradient_accum_steps == 0:
                update_step(model, optimizer, scheduler, cfg.grad_clip)
        print(f"epoch {epoch + 1}: train {running / updates:.3f} val {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
