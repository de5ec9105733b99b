"""Random programs on sequences, for formulas to be held against."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Step = Callable[[Tensor], Tensor]
CHANNELS = 4


class Program(nn.Module):
    """Some steps, one after the other, on (batch, 4, length)."""

    def __init__(self, steps: list[tuple[str, Step]]) -> None:
        super().__init__()
        self.names = [name for name, _ in steps]
        self.steps = [step for _, step in steps]

    def forward(self, x: Tensor) -> Tensor:
        for step in self.steps:
            x = step(x)
        return x


def program(seed: int) -> Program:
    """The program of a seed."""
    draw = random.Random(seed)
    return Program([a_step(draw) for _ in range(draw.randint(1, 5))])


def a_step(draw: random.Random) -> tuple[str, Step]:
    """One step, and what it is."""
    kind = draw.choice(list(KINDS))
    return kind, KINDS[kind](draw)


def conv(draw: random.Random) -> Step:
    weight = torch.zeros(CHANNELS, CHANNELS, draw.randint(1, 5))
    stride, padding = draw.randint(1, 4), draw.randint(0, 4)
    dilation = draw.randint(1, 3)
    return lambda x: F.conv1d(x, weight, None, stride, padding, dilation)


def transposed(draw: random.Random) -> Step:
    stride = draw.randint(1, 3)
    weight = torch.zeros(CHANNELS, CHANNELS, stride + draw.randint(0, 3))
    padding = draw.randint(0, 1)
    return lambda x: F.conv_transpose1d(x, weight, None, stride, padding)


def pool(draw: random.Random) -> Step:
    kernel, stride = draw.randint(2, 4), draw.randint(1, 4)
    padding, ceil = draw.randint(0, kernel // 2), draw.random() < 0.5
    return lambda x: F.max_pool1d(x, kernel, stride, padding, ceil_mode=ceil)


def padded(draw: random.Random) -> Step:
    left, right = draw.randint(0, 9), draw.randint(0, 9)
    return lambda x: F.pad(x, (left, right))


def to_a_multiple(draw: random.Random) -> Step:
    multiple = draw.choice((2, 3, 5, 7, 8, 16))
    return lambda x: F.pad(x, (0, -x.shape[2] % multiple))


def cut(draw: random.Random) -> Step:
    end = draw.choice((7, 20, 33, 64, 100, 128))
    return lambda x: x[:, :, :end]


def least(draw: random.Random) -> Step:
    end = draw.choice((9, 24, 50, 90, 150))
    return lambda x: x[..., : min(x.shape[-1], end)]


def every(draw: random.Random) -> Step:
    step, start = draw.randint(2, 5), draw.randint(0, 3)
    return lambda x: x[..., start::step]


def doubled(draw: random.Random) -> Step:
    return lambda x: torch.cat([x, x], 2)


def scaled(draw: random.Random) -> Step:
    factor = draw.choice((0.5, 2, 1.5, 3))
    return lambda x: F.interpolate(x, scale_factor=factor)


def half(draw: random.Random) -> Step:
    parts, which = draw.randint(2, 3), draw.randint(0, 1)
    return lambda x: x.chunk(parts, 2)[which]


def folded(draw: random.Random) -> Step:
    size, step = draw.randint(1, 4), draw.randint(1, 4)
    return lambda x: x.unfold(2, size, step).flatten(2)


def branching(draw: random.Random) -> Step:
    bound = draw.choice((12, 40, 80, 130))
    return lambda x: x[..., ::2] if x.shape[-1] > bound else x


def divided(draw: random.Random) -> Step:
    divisor = draw.choice((2, 3, 4, 6))
    return lambda x: x[..., : x.shape[-1] // divisor + 1]


KINDS: dict[str, Callable[[random.Random], Step]] = {
    "conv": conv, "transposed": transposed, "pool": pool, "padded": padded,
    "to a multiple": to_a_multiple, "cut": cut, "least": least, "every": every,
    "doubled": doubled, "scaled": scaled, "half": half, "folded": folded,
    "branching": branching, "divided": divided,
}  # fmt: skip
