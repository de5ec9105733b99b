"""What products of matrices and vectors need, against torch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from checking.needs.oracle import check, judged

Tensor = torch.Tensor
SIZES = (1, 2, 3, 4, 6, 12)
DTYPES = (torch.float32, torch.float32, torch.float32, torch.float64, torch.int64)


def tensor(draw: random.Random, *shape: int) -> Tensor:
    return torch.ones(shape, dtype=draw.choice(DTYPES))


def shape(draw: random.Random, rank: int) -> list[int]:
    return [draw.choice(SIZES) for _ in range(rank)]


def linears(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(300):
        x = tensor(draw, *shape(draw, draw.randint(1, 4)))
        out = draw.choice(SIZES)
        w = tensor(draw, out, draw.choice([*SIZES, x.shape[-1], x.shape[-1]]))
        bias = tensor(draw, out) if draw.random() < 0.5 else None
        yield F.linear, (x, w, bias)


def test_linear() -> None:
    check(linears(random.Random(1)))


def products(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    ranks = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1), "outer": (1, 1)}
    for _ in range(800):
        name = draw.choice(["matmul", "matmul", *ranks])
        one, two = ranks.get(name, (draw.randint(0, 4), draw.randint(0, 4)))
        if draw.random() < 0.1:
            one = draw.randint(0, 3)
        a, b = shape(draw, one), shape(draw, two)
        if draw.random() < 0.5 and a and b:
            b[-2 if len(b) > 1 else -1] = a[-1]
        if draw.random() < 0.7 and len(a) > 2 < len(b):
            b[-3] = a[-3]
        yield getattr(torch, name), (tensor(draw, *a), tensor(draw, *b))


def test_products() -> None:
    check(products(random.Random(2)))


def added(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(400):
        name = draw.choice(["addmm", "baddbmm", "addmv", "addbmm"])
        n, m, k, b = shape(draw, 4)
        wrong = draw.randint(0, 5)
        k2 = draw.choice(SIZES) if wrong == 0 else k
        b2 = draw.choice(SIZES) if wrong == 1 else b
        batch, batch2 = ([b], [b2]) if "bmm" in name else ([], [])
        one = tensor(draw, *batch, n, k)
        two = tensor(draw, *batch2, k2, *([] if name == "addmv" else [m]))
        out = [*(batch if name == "baddbmm" else []), n]
        out += [] if name == "addmv" else [m]
        plus = [draw.choice([s, s, s, 1, 5]) for s in out][draw.randint(0, 1) :]
        yield getattr(torch, name), (tensor(draw, *plus), one, two)


def test_products_with_something_added() -> None:
    check(added(random.Random(3)), answered=0.9)


def test_bilinear() -> None:
    draw = random.Random(4)

    def calls() -> Iterator[tuple[Any, ...]]:
        for _ in range(200):
            n, a, b = shape(draw, 3)
            wrong = draw.randint(0, 3)
            w = torch.ones(3, a + (wrong == 1), b + (wrong == 2))
            yield F.bilinear, (torch.ones(n, a), torch.ones(n + (wrong == 3), b), w)

    check(calls())


def test_a_flatten_that_is_missing_is_named() -> None:
    args = torch.ones(8, 16, 4, 4), torch.ones(120, 256)
    assert judged(F.linear, args) == "answered"
