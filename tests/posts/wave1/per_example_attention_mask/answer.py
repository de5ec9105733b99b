import torch
import torch.nn as nn


def window_mask(lengths, L, width):
    """(N, L, L) boolean masks, True where attention is not allowed: a window around every
    position, and nothing beyond the length of the example (a position always sees itself)."""
    pos = torch.arange(L, device=lengths.device)
    far = (pos[None, :] - pos[:, None]).abs() > width
    beyond = pos[None, None, :] >= lengths[:, None, None]
    mask = far[None] | beyond
    return mask & ~torch.eye(L, dtype=torch.bool, device=lengths.device)


class LocalAttentionBlock(nn.Module):
    def __init__(self, embd, num_heads, width):
        super().__init__()
        self.num_heads = num_heads
        self.width = width
        self.norm = nn.LayerNorm(embd)
        self.attn = nn.MultiheadAttention(embd, num_heads, batch_first=True)
        self.mlp = nn.Sequential(nn.LayerNorm(embd), nn.Linear(embd, 2 * embd), nn.ReLU(), nn.Linear(2 * embd, embd))

    def forward(self, x, lengths):
        N, L, _ = x.shape
        mask = window_mask(lengths, L, self.width)
        # one mask for each example and head
        attn_mask = mask.repeat_interleave(self.num_heads, dim=0)
        q = self.norm(x)
        h, _ = self.attn(q, q, q, attn_mask=attn_mask, need_weights=False)
        x = x + h
        return x + self.mlp(x)


class EventTagger(nn.Module):
    """Tags every event of a log; the logs have different lengths."""

    def __init__(self, n_events=50, n_tags=6, embd=32, num_heads=4, depth=2, width=3):
        super().__init__()
        self.embedding = nn.Embedding(n_events, embd)
        self.blocks = nn.ModuleList([LocalAttentionBlock(embd, num_heads, width) for _ in range(depth)])
        self.out = nn.Linear(embd, n_tags)

    def forward(self, events):
        # events (N, L), 0 is padding at the end of the shorter logs
        lengths = (events != 0).sum(1).clamp(min=1)
        x = self.embedding(events)
        for block in self.blocks:
            x = block(x, lengths)
        return self.out(x)
