"""Token ids in: transformers of several kinds, bags of words."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models import case


def ids(batch: int = 2, length: int = 12, vocabulary: int = 50) -> Tensor:
    return torch.randint(vocabulary, (batch, length))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        q, k, v = self.qkv(x).split(C, dim=2)
        q, k, v = (
            part.view(B, T, self.heads, C // self.heads).transpose(1, 2)
            for part in (q, k, v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.feed(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary: int = 50, width: int = 32, depth: int = 2) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(64, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(
        self, tokens: Tensor, targets: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@case
def gpt():
    return GPT(), ids()


@case
def gpt_with_loss():
    return GPT(), ids(), {"targets": ids()}


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * (x * scale).to(x.dtype)


class Llama(nn.Module):
    def __init__(self, width: int = 32, heads: int = 4, groups: int = 2) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.embed = nn.Embedding(50, width)
        self.norm = RMSNorm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, groups * self.size, bias=False)
        self.value = nn.Linear(width, groups * self.size, bias=False)
        self.gate = nn.Linear(width, 48, bias=False)
        self.up = nn.Linear(width, 48, bias=False)
        self.down = nn.Linear(48, width, bias=False)

    def rotate(self, x: Tensor) -> Tensor:
        position = torch.arange(x.shape[2], dtype=torch.float32)
        frequency = 1e4 ** (-torch.arange(0, self.size, 2).float() / self.size)
        angle = torch.outer(position, frequency)
        table = torch.polar(torch.ones_like(angle), angle)
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * table).flatten(3).type_as(x)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        B, T, C = x.shape
        y = self.norm(x)
        q = self.rotate(self.query(y).view(B, T, self.heads, -1).transpose(1, 2))
        k = self.rotate(self.key(y).view(B, T, self.groups, -1).transpose(1, 2))
        v = self.value(y).view(B, T, self.groups, -1).transpose(1, 2)
        k, v = (part.repeat_interleave(self.heads // self.groups, 1) for part in (k, v))
        mask = torch.full((T, T), float("-inf")).triu(1)
        score = q @ k.mT / math.sqrt(self.size) + mask
        y = (F.softmax(score, -1, dtype=torch.float32).type_as(q) @ v).transpose(1, 2)
        x = x + y.reshape(B, T, C)
        return x + self.down(F.silu(self.gate(x)) * self.up(x))


@case
def llama():
    return Llama(), ids()


@case
def llama_half():
    return Llama().to(torch.bfloat16), ids()


class Encoder(nn.Module):
    """BERT-like: three embeddings, a padding mask, pooling by the mask."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, width, padding_idx=0)
        self.kinds = nn.Embedding(2, width)
        self.attention = nn.MultiheadAttention(width, 3, batch_first=True)
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> dict[str, Tensor]:
        mask = tokens.ne(0) if mask is None else mask
        x = self.norm(self.embed(tokens) + self.kinds(torch.zeros_like(tokens)))
        y, weights = self.attention(x, x, x, key_padding_mask=~mask.bool())
        kept = mask.unsqueeze(-1).to(y.dtype)
        pooled = (y * kept).sum(1) / kept.sum(1).clamp(min=1e-9)
        return {"hidden": y, "weights": weights, "pooled": F.normalize(pooled)}


@case
def encoder_with_padding():
    return Encoder().train(), ids()


@case
def sequence_to_sequence():
    model = nn.Transformer(16, 2, 1, 2, 32, 0.0, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    inputs = torch.randn(2, 7, 16), torch.randn(2, 5, 16)
    return model, *inputs, {"tgt_mask": mask, "tgt_is_causal": True}


class RelativeBias(nn.Module):
    """T5's buckets of distances."""

    def __init__(self, buckets: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.buckets = buckets
        self.table = nn.Embedding(buckets, heads)

    def forward(self, rows: int, columns: int) -> Tensor:
        distance = torch.arange(columns)[None, :] - torch.arange(rows)[:, None]
        half = self.buckets // 2
        side = (distance > 0).long() * half
        distance = distance.abs()
        far = half // 2 + (torch.log(distance.float().clamp(min=1)) * 1.5).long()
        far = torch.min(far, torch.full_like(far, half - 1))
        bucket = side + torch.where(distance < half // 2, distance, far)
        return self.table(bucket).permute(2, 0, 1).unsqueeze(0)


class RelativeAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bias = RelativeBias()
        self.project = nn.Linear(16, 16, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        heads = self.project(x).unflatten(-1, (2, 8)).transpose(1, 2)
        score = torch.einsum("bhqd,bhkd->bhqk", heads, heads)
        score = score + self.bias(x.size(1), x.size(1))
        return torch.einsum("bhqk,bhkd->bqhd", score.softmax(-1), heads).flatten(2)


@case
def relative_attention():
    return RelativeAttention(), torch.randn(2, 6, 16)


class Bag(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(50, 8, mode="mean")
        self.classify = nn.Linear(8, 4)

    def forward(self, tokens: Tensor, offsets: Tensor) -> Tensor:
        return self.classify(self.bag(tokens, offsets)).log_softmax(-1)


@case
def bag_of_words():
    return Bag(), torch.randint(50, (9,)), torch.tensor([0, 4, 7])


class Characters(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 6)
        self.convolutions = nn.ModuleList(nn.Conv1d(6, 8, k) for k in (2, 3, 4))
        self.highway = nn.Bilinear(24, 24, 10)

    def forward(self, x: Tensor) -> Tensor:
        y = self.embed(x).transpose(1, 2)
        y = torch.cat([F.relu(conv(y)).amax(-1) for conv in self.convolutions], -1)
        return self.highway(y, y.roll(1, -1))


@case
def characters():
    return Characters(), ids(vocabulary=30)


class Experts(nn.Module):
    """A mixture where every expert sees every token, weighted by the router."""

    def __init__(self, width: int = 8, experts: int = 4, chosen: int = 2) -> None:
        super().__init__()
        self.chosen = chosen
        self.router = nn.Linear(width, experts, bias=False)
        self.first = nn.Parameter(torch.randn(experts, width, 16))
        self.second = nn.Parameter(torch.randn(experts, 16, width))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        weight, index = self.router(x).softmax(-1).topk(self.chosen, dim=-1)
        gate = torch.zeros(*x.shape[:-1], len(self.first)).scatter(-1, index, weight)
        hidden = torch.einsum("btc,ech->bteh", x, self.first).relu()
        each = torch.einsum("bteh,ehc->btec", hidden, self.second)
        used = F.one_hot(index, len(self.first)).sum(-2).float().mean((0, 1))
        return (each * gate.unsqueeze(-1)).sum(-2), used


@case
def dense_experts():
    return Experts(), torch.randn(2, 5, 8)


class Pair(nn.Module):
    """Two towers and the matrix of their similarities."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Sequential(nn.Embedding(50, 8), nn.Flatten(), nn.LazyLinear(6))
        self.pixels = nn.Sequential(nn.Flatten(), nn.Linear(48, 6))
        self.scale = nn.Parameter(torch.tensor(2.6592))

    def forward(self, tokens: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
        a = F.normalize(self.words(tokens), dim=-1)
        b = F.normalize(self.pixels(images), dim=-1)
        logits = self.scale.exp() * a @ b.t()
        labels = torch.arange(len(logits))
        return logits, (
            F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)
        ) / 2


@case
def contrastive_pair():
    return Pair(), ids(3, 5), torch.randn(3, 3, 4, 4)
