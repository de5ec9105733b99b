import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, EOS, PAD = 120, 1, 0
ALPHA, BETA = 0.3, 0.3


class TinyLM(nn.Module):
    def __init__(self, dim=96):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, num_layers=2, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, VOCAB, bias=False)
        self.lm_head.weight = self.emb.weight

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.lm_head(self.norm(h))


def eos_penalty(logits, is_positive, valid):
    """positive: must go on, negative: must stop"""
    log_all = torch.logsumexp(logits, dim=-1)
    log_stop = logits[..., EOS] - log_all
    log_go = torch.logsumexp(torch.cat([logits[..., :EOS], logits[..., EOS + 1:]], dim=-1), dim=-1) - log_all
    pos = valid & is_positive[:, None]
    neg = valid & ~is_positive[:, None]
    l_pos = -log_go[pos].mean()
    l_neg = -log_stop[neg].mean()
    return ALPHA * l_pos + BETA * l_neg


def make_batch(n, gen):
    """Positive rows run on to the end, negative rows stop after a short prompt and repeat EOS."""
    length = 24
    start = torch.randint(2, VOCAB, (n, 1), generator=gen)
    ids = 2 + (start - 2 + 3 * torch.arange(length)[None, :]) % (VOCAB - 2)
    is_positive = torch.rand(n, generator=gen) < 0.5
    stop = torch.randint(4, 10, (n,), generator=gen)
    tail = torch.arange(length)[None, :] >= stop[:, None]
    ids = torch.where(tail & ~is_positive[:, None], torch.full_like(ids, EOS), ids)
    valid = torch.where(is_positive[:, None], torch.ones_like(tail), tail)
    return ids, is_positive, valid


def main():
    torch.manual_seed(21)
    gen = torch.Generator().manual_seed(4)
    model = TinyLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    steps, warmup = 120, 10
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min(1.0, (s + 1) / warmup) * 0.5 * (1 + math.cos(math.pi * s / steps)))

    model.train()
    for step in range(steps):
        ids, is_positive, valid = make_batch(32, gen)
        logits = model(ids[:, :-1])
        ce = F.cross_entropy(logits.reshape(-1, VOCAB), ids[:, 1:].reshape(-1))
        penalty = eos_penalty(logits, is_positive, valid[:, 1:])
        loss = ce + penalty
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 15 == 0:
            print(f"step {step:3d} ce {ce.item():.4f} penalty {penalty.item():.4f}")

    with torch.no_grad():
        ids, is_positive, _ = make_batch(64, gen)
        nxt = model(ids[:, :-1]).argmax(-1)
        print("next-token accuracy", (nxt == ids[:, 1:]).float().mean().item())


if __name__ == "__main__":
    main()
