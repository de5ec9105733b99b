"""What convolutions, pooling, unfold and fold need, against torch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from checking.needs.oracle import check

FORMS = (1, 2, 3)


def image(draw: random.Random, channels: int, spatial: int, most: int = 7) -> Any:
    sizes = [draw.randint(1, most) for _ in range(spatial)]
    shape = [*([2] if draw.random() < 0.8 else []), channels, *sizes]
    way = draw.random()
    if way < 0.1:
        shape = [*shape[: -spatial - 1], *sizes, channels]
    elif way < 0.2:
        shape.pop(draw.randrange(len(shape)))
    elif way < 0.25:
        shape.insert(0, 3)
    other = draw.random() < 0.1 and spatial < 3  # torch 2.13 crashes on conv3d
    dtype = torch.float64 if other else torch.float32
    return torch.ones(shape, dtype=dtype)


def convolutions(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(500):
        spatial = draw.choice(FORMS)
        groups = draw.choice([1, 1, 2])
        inside, out = draw.choice([1, 2, 3]) * groups, draw.randint(1, 3) * groups
        kernel = [draw.randint(1, 4) for _ in range(spatial)]
        weight = torch.ones(out, inside // groups, *kernel)
        channels = inside if draw.random() < 0.7 else draw.randint(1, 5)
        bias = torch.ones(out) if draw.random() < 0.5 else None
        stride, padding = draw.randint(1, 2), draw.randint(0, 1)
        dilation = draw.randint(1, 2) if spatial < 3 else 1
        x = image(draw, channels, spatial)
        func = getattr(F, f"conv{spatial}d")
        yield func, (x, weight, bias, stride, padding, dilation, groups)


def test_convolutions() -> None:
    check(convolutions(random.Random(1)), answered=0.9)


def transposes(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(400):
        spatial = draw.choice(FORMS)
        inside = draw.choice([1, 2, 3])
        weight = torch.ones(inside, 2, *[draw.randint(1, 3) for _ in range(spatial)])
        channels = inside if draw.random() < 0.7 else draw.randint(1, 5)
        stride, extra = draw.randint(1, 3), draw.randint(0, 2)
        x = image(draw, channels, spatial)
        func = getattr(F, f"conv_transpose{spatial}d")
        yield func, (x, weight, None, stride, 0, extra)


def test_transposed_convolutions() -> None:
    check(transposes(random.Random(2)), answered=0.9)


def pools(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(600):
        spatial = draw.choice(FORMS)
        kind = draw.choice(["max", "avg"])
        func = getattr(F, f"{kind}_pool{spatial}d")
        kernel, padding = draw.randint(1, 4), draw.randint(0, 2)
        stride = draw.choice([None, 1, 2])
        kwargs: dict[str, Any] = {"ceil_mode": draw.random() < 0.3}
        if kind == "max":
            kwargs["dilation"] = draw.randint(1, 2)
        x = image(draw, 2, spatial).float()
        yield func, (x, kernel, stride, padding), kwargs


def test_pooling() -> None:
    check(pools(random.Random(3)))


def test_adaptive_pooling() -> None:
    draw = random.Random(4)

    def calls() -> Iterator[tuple[Any, ...]]:
        for _ in range(200):
            spatial = draw.choice(FORMS)
            name = f"adaptive_{draw.choice(['max', 'avg'])}_pool{spatial}d"
            yield getattr(F, name), (image(draw, 2, spatial).float(), 2)

    check(calls(), answered=0.9)


def test_unpooling() -> None:
    draw = random.Random(5)

    def calls() -> Iterator[tuple[Any, ...]]:
        for _ in range(100):
            x = torch.ones(2, 3, draw.randint(1, 3), 2)
            index = torch.zeros(2, 3, draw.randint(1, 3), 2, dtype=torch.int64)
            yield F.max_unpool2d, (x, index if draw.random() < 0.8 else index.int(), 2)

    check(calls())


def folds(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(400):
        kernel, stride = draw.randint(1, 3), draw.randint(1, 3)
        padding, dilation = draw.randint(0, 1), draw.randint(1, 2)
        rest = kernel, dilation, padding, stride
        if draw.random() < 0.4:
            yield F.unfold, (image(draw, 2, 2).float(), *rest)
            continue
        size = draw.randint(3, 7)
        count = (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
        blocks = max(count, 0) ** 2 + (draw.random() < 0.3)
        channels = 2 * kernel * kernel + (draw.random() < 0.2)
        yield F.fold, (torch.ones(2, channels, blocks), size, *rest)


def test_unfold_and_fold() -> None:
    check(folds(random.Random(6)), answered=0.85)
