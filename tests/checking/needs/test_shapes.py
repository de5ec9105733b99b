"""What broadcasting, reshaping and joining need, against torch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from checking.needs.oracle import check, judged

Tensor = torch.Tensor
SIZES = (1, 2, 3, 4, 6)
DTYPES = (torch.float32, torch.float32, torch.float32, torch.int64, torch.bool)
OPERATORS = """
add sub mul true_divide floor_divide remainder maximum minimum eq lt ge logical_and
bitwise_and bitwise_or pow atan2 fmod
""".split()
METHODS = """
__add__ __radd__ __sub__ __rsub__ __mul__ __truediv__ __eq__ __and__ add_ sub_ mul_
__iadd__ __isub__ __imul__ __itruediv__ eq_
""".split()


def shape(draw: random.Random, rank: int) -> list[int]:
    return [draw.choice(SIZES) for _ in range(rank)]


def near(draw: random.Random, sizes: list[int]) -> list[int]:
    """A shape that often lines up with this one."""
    made = [draw.choice([s, s, s, s, 1, 5]) for s in sizes]
    return made[draw.randint(0, len(made)) :] if draw.random() < 0.3 else made


def pairs(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(900):
        sizes = shape(draw, draw.randint(0, 4))
        one, two = (
            torch.ones(s, dtype=draw.choice(DTYPES)) for s in (sizes, near(draw, sizes))
        )
        if draw.random() < 0.5:
            yield getattr(torch, draw.choice(OPERATORS)), (one, two)
        else:
            if draw.random() < 0.5:
                one, two = two, one
            yield getattr(Tensor, draw.choice(METHODS)), (one, two)


def test_operators_of_two() -> None:
    check(pairs(random.Random(1)), 0.85, partial(judged, fill=1))


def threes(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(400):
        sizes = shape(draw, draw.randint(1, 3))
        one, two, three = (torch.ones(near(draw, sizes)) for _ in range(3))
        mask = one.bool() if draw.random() < 0.8 else one
        yield from draw.sample(
            [
                (torch.where, (mask, two, three)),
                (torch.lerp, (one, two, three)),
                (torch.addcmul, (one, two, three)),
                (torch.addcdiv, (one, two, three)),
                (torch.clamp, (one, two, three)),
                (torch.masked_fill, (two, mask, 0.0)),
                (torch.masked_select, (two, mask)),
                (Tensor.copy_, (one, two)),
                (Tensor.lerp_, (one, two, 0.5)),
            ],
            2,
        )


def test_operators_of_three() -> None:
    check(threes(random.Random(2)))


def views(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(700):
        sizes = shape(draw, draw.randint(1, 4))
        x = torch.ones(sizes)
        if draw.random() < 0.4 and len(sizes) > 1:
            x = x.transpose(0, draw.randrange(1, len(sizes)))
        elif draw.random() < 0.2:
            x = x[:1].expand(*[2] * (len(sizes) > 0), *sizes[1:])
        flat = list(x.shape)
        at = draw.randrange(len(flat))
        if at and draw.random() < 0.5:
            flat[at - 1 : at + 1] = [flat[at - 1] * flat[at]]
        if draw.random() < 0.3:
            flat[draw.randrange(len(flat))] = draw.choice([-1, -1, 5])
        if draw.random() < 0.1:
            flat.append(-1)
        name = draw.choice(["view", "view", "reshape"])
        yield getattr(Tensor, name), ((x, *flat) if draw.random() < 0.5 else (x, flat))


def test_view_and_reshape() -> None:
    check(views(random.Random(3)))


def others(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(600):
        sizes = shape(draw, draw.randint(1, 4))
        x, other = torch.ones(sizes), torch.ones(near(draw, sizes))
        wide = [draw.choice([s, s, -1, 4]) for s in sizes]
        wide = [*shape(draw, draw.randint(0, 1)), *wide]
        yield from draw.sample(
            [
                (Tensor.expand, (x, *wide)),
                (Tensor.expand_as, (x, other)),
                (Tensor.view_as, (x, other)),
                (Tensor.repeat, (x, *[2] * draw.randint(1, 4))),
                (torch.flatten, (x, draw.randint(-4, 4), draw.randint(-4, 4))),
                (Tensor.unflatten, (x, draw.randint(-3, 3), (draw.choice([2, -1]), 3))),
            ],
            2,
        )


def test_expand_repeat_and_flatten() -> None:
    check(others(random.Random(4)), answered=0.9)


def joins(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(600):
        sizes = shape(draw, draw.randint(0, 3))
        many = [list(sizes) for _ in range(draw.randint(1, 3))]
        for each in many:
            if each and draw.random() < 0.4:
                each[draw.randrange(len(each))] = draw.choice(SIZES)
            if each and draw.random() < 0.1:
                each.pop()
        tensors = [torch.ones(each) for each in many]
        name = draw.choice(["cat", "cat", "stack", "hstack", "vstack"])
        rest = (draw.randint(-4, 3),) if name in ("cat", "stack") else ()
        yield getattr(torch, name), (tensors, *rest)


def test_joining() -> None:
    check(joins(random.Random(5)))


def test_splitting() -> None:
    draw = random.Random(6)

    def calls() -> Iterator[tuple[Any, ...]]:
        for _ in range(200):
            x = torch.ones(shape(draw, draw.randint(1, 3)))
            parts = [draw.randint(1, 3) for _ in range(draw.randint(1, 3))]
            func = draw.choice([torch.split, Tensor.split])
            yield func, (x, parts, draw.randint(-3, 3))

    check(calls())
