"""Small models of ten families, each with inputs, as people write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(64, 256)
        self.second = nn.Linear(256, 256)
        self.head = nn.Linear(256, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(F.gelu(self.second(F.relu(self.first(x)))))


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(32)
        self.head = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.relu(self.norm2(self.conv2(x)))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Block(nn.Module):
    """Attention and an MLP, with dropout, as in GPT-2."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        shape = (B, T, 3, self.heads, C // self.heads)
        q, k, v = self.qkv(self.norm1(x)).view(shape).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = self.out(y.transpose(1, 2).reshape(B, T, C))
        x = x + F.dropout(y, self.dropout, self.training)
        y = self.down(F.gelu(self.up(self.norm2(x))))
        return x + F.dropout(y, self.dropout, self.training)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(64, 4, 0.1) for _ in range(3))
        self.head = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


class LanguageModel(nn.Module):
    def __init__(
        self, width: int = 64, heads: int = 4, layers: int = 2, words: int = 500,
        length: int = 64, dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.tokens, self.places = (
            nn.Embedding(words, width),
            nn.Embedding(length, width),
        )
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.tokens(ids) + self.places(places)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class ResidualMlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(64), nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)
            )
            for _ in range(4)
        )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return x


class Checkpointed(ResidualMlp):
    is_reentrant = False

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(64, 64)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=self.is_reentrant)
        return x


class Reentrant(Checkpointed):
    is_reentrant = True


class ResidualNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
            )
            for _ in range(3)
        )
        self.head = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for layer in self.layers:
            x = F.relu(x + layer(x))
        return self.head(x.mean((2, 3)))


class TorchEncoder(nn.Module):
    """Torch's own encoder, with dropout in the attention: it takes the math path."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(x)


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(64, 128)
        self.mean, self.log_variance = nn.Linear(128, 16), nn.Linear(128, 16)
        self.decode = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.relu(self.first(x))
        mean, log = self.mean(hidden), self.log_variance(hidden)
        code = mean + torch.randn_like(mean) * torch.exp(0.5 * log)
        output, target = torch.sigmoid(self.decode(code)), torch.sigmoid(x)
        loss = F.binary_cross_entropy(output, target, reduction="sum")
        return loss - 0.5 * torch.sum(1 + log - mean.pow(2) - log.exp())


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase] = nn.LSTM) -> None:
        super().__init__()
        self.recurrent = kind(32, 64, batch_first=True)
        self.head = nn.Linear(64, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.recurrent(x)[0][:, -1])


@dataclass(frozen=True)
class Family:
    """A model, its inputs, and the most bytes of kernel scratch that are not seen.

    Where a kernel has scratch, `cause` says which.
    """

    build: Callable[[], nn.Module]
    inputs: tuple[Any, ...]
    scratch: int = 0
    cause: str = ""


SCALARS = "a Python number is wrapped for a kernel: 8 bytes, and 4 in its dtype"


class UNet(nn.Module):
    """Convolutions down, transposed ones up, and a skip that is joined."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16))
        self.inner = nn.Conv2d(16, 32, 3, padding=1)
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.out = nn.Conv2d(32, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        skip = F.silu(self.down(x))
        inner = F.silu(self.inner(F.avg_pool2d(skip, 2)))
        return self.out(torch.cat([skip, self.up(inner)], dim=1))


class GatedDecoder(nn.Module):
    """A decoder with RMS norm, grouped heads, causal attention and a gated MLP."""

    def __init__(self, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.embed = nn.Embedding(500, width)
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 4 * width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        y = self.norm1(x)
        q = self.q(y).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = self.kv(y).chunk(2, -1)
        k, v = (t.unflatten(-1, (self.heads // 2, -1)).transpose(1, 2) for t in (k, v))
        k, v = (t.repeat_interleave(2, dim=1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + y.transpose(1, 2).flatten(2)
        y = self.norm2(x)
        x = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return F.linear(x, self.embed.weight)


def _draw_ids(*shape: int) -> Tensor:
    return torch.randint(0, 500, shape)


FAMILIES = {
    "mlp": Family(Mlp, (torch.randn(128, 64),), 12, SCALARS),
    "conv": Family(
        ConvNet, (torch.randn(16, 3, 32, 32),), 256, "batch norm's backward: sums"
    ),
    "encoder": Family(Encoder, (torch.randn(8, 32, 64),), 12, SCALARS),
    "language-model": Family(
        LanguageModel, (_draw_ids(8, 48), _draw_ids(8, 48)), 12, SCALARS
    ),
    "residual-mlp": Family(ResidualMlp, (torch.randn(64, 64),), 12, SCALARS),
    "torch-encoder": Family(TorchEncoder, (torch.randn(8, 32, 64),), 12, SCALARS),
    "autoencoder": Family(Autoencoder, (torch.randn(128, 64),), 12, SCALARS),
    "residual-net": Family(
        ResidualNet, (torch.randn(8, 3, 32, 32),), 256, "batch norm's backward: sums"
    ),
    "unet": Family(UNet, (torch.randn(4, 3, 32, 32),), 64, SCALARS),
    "decoder": Family(GatedDecoder, (_draw_ids(8, 48),), 12, SCALARS),
}  # fmt: skip
