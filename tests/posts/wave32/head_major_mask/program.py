import math
from typing import Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

PAD = 0


class DotAttention(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.sqrt_dim = math.sqrt(dim)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        score = torch.bmm(q, k.transpose(1, 2)) / self.sqrt_dim
        if mask is not None:
            score = score.masked_fill(mask.view(score.size()), -1e9)
        attn = F.softmax(score, dim=-1)
        return torch.bmm(attn, v), attn


class MultiHead(nn.Module):
    """
    Inputs: query, key, value of (batch, len, d_model) and mask of (batch, q_len, k_len), True where padded.
    """

    def __init__(self, d_model: int = 64, heads: int = 4) -> None:
        super().__init__()
        assert d_model % heads == 0
        self.heads = heads
        self.d_head = d_model // heads
        self.attention = DotAttention(self.d_head)
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)

    def split(self, x: Tensor) -> Tensor:
        batch = x.size(0)
        x = x.view(batch, -1, self.heads, self.d_head)
        return x.permute(2, 0, 1, 3).contiguous().view(self.heads * batch, -1, self.d_head)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor] = None):
        batch = query.size(0)
        q, k, v = self.split(self.w_q(query)), self.split(self.w_k(key)), self.split(self.w_v(value))

        if mask is not None:
            mask = mask.unsqueeze(1).repeat(1, self.heads, 1, 1)

        context, attn = self.attention(q, k, v, mask)
        context = context.view(self.heads, batch, -1, self.d_head)
        context = context.permute(1, 2, 0, 3).contiguous().view(batch, -1, self.heads * self.d_head)
        return context, attn


class UtteranceTagger(nn.Module):
    def __init__(self, vocab: int, classes: int, d_model: int = 64) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, d_model, padding_idx=PAD)
        self.attn = MultiHead(d_model)
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        pad = tokens.eq(PAD)
        mask = pad.unsqueeze(1).expand(-1, tokens.size(1), -1)
        context, _ = self.attn(x, x, x, mask)
        x = self.norm(x + context)
        keep = (~pad).unsqueeze(-1).float()
        return self.out((x * keep).sum(1) / keep.sum(1))


def sample_batch(batch: int, vocab: int, classes: int, max_len: int = 20):
    lengths = torch.randint(4, max_len + 1, (batch,))
    tokens = torch.randint(1, vocab, (batch, max_len))
    tokens[torch.arange(max_len)[None, :] >= lengths[:, None]] = PAD
    labels = (tokens.float().sum(1) / lengths * classes / vocab).long().clamp(max=classes - 1)
    return tokens, labels


def main() -> None:
    torch.manual_seed(3)
    vocab, classes = 120, 4
    model = UtteranceTagger(vocab, classes)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(1, 151):
        tokens, labels = sample_batch(16, vocab, classes)
        loss = F.cross_entropy(model(tokens), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
