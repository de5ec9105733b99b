"""One thing broken at random in a call that torch takes.

A size that is another, one dim too many or too few, dims the other way round, a dtype
that does not belong, a number or a tuple of numbers that is off.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import torch

from checking.needs.metas import filled, leaves, mapped

Tensor = torch.Tensor
DTYPES = (
    torch.int64,
    torch.float64,
    torch.bool,
    torch.float16,
    torch.complex64,
    torch.int32,
    torch.float32,
)


@dataclass(frozen=True)
class Call:
    """A function of torch and what it is given."""

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    first: int | None = None

    def of_first(self, count: int) -> Call:
        """The same; of the arguments without a name only so many are ever broken."""
        return replace(self, first=count)


def call(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
    """`call(torch.mm, a, b)`."""
    return Call(func, args, kwargs)


def broken(draw: random.Random, right: Call, numbers: bool = True) -> Call | None:
    """The call with one thing in it changed; None where nothing could be.

    Plain numbers are left alone where `numbers` is False.
    """
    named = len(list(leaves(right.kwargs)))
    whole = len(list(leaves(right.args)))
    plain = len(list(leaves(right.args[: right.first])))
    places = [*range(plain), *range(whole, whole + named)]
    draw.shuffle(places)
    for place in places:
        found = with_one_changed(draw, right, place, numbers)
        if found is not None:
            return found
    return None


def with_one_changed(
    draw: random.Random, right: Call, place: int, numbers: bool
) -> Call | None:
    """The call with the leaf at a place changed, if that leaf can be."""
    at = count()
    done = []

    def change(leaf: Any) -> Any:
        other = changed(draw, leaf, numbers) if next(at) == place else None
        if other is not None:
            done.append(other)
        return leaf if other is None else other

    args, kwargs = mapped((right.args, right.kwargs), change)
    return Call(right.func, args, kwargs) if done else None


def changed(draw: random.Random, leaf: Any, numbers: bool) -> Any:
    """A tensor or a number that is another."""
    if isinstance(leaf, Tensor):
        ways = ["size", "size", "rank", "order", "dtype"]
        return of_tensor(draw, leaf, draw.choice(ways))
    if type(leaf) is int and numbers:
        return draw.choice([leaf + 1, leaf - 1, leaf + 3, leaf - 4, -leaf, 0])
    return None


def of_tensor(draw: random.Random, leaf: Tensor, way: str) -> Tensor | None:
    """A tensor with another shape or dtype."""
    shape = list(leaf.shape)
    if way == "dtype":
        dtype = draw.choice(DTYPES)
        real = leaf.real if leaf.is_complex() and not dtype.is_complex else leaf
        return real.to(dtype) if dtype != leaf.dtype else None
    if way == "rank":
        return of_rank(draw, leaf)
    if not shape:
        return None
    dim = draw.randrange(len(shape))
    if way == "order":
        if len(shape) < 2:
            return None
        return leaf.transpose(dim, draw.randrange(len(shape)))
    size = draw.choice([1, shape[dim] + 1, max(shape[dim] - 1, 1), 2, 3, *shape])
    if size == shape[dim]:
        return None
    if leaf.is_floating_point() or leaf.is_complex():
        return filled([*shape[:dim], size, *shape[dim + 1 :]], leaf.dtype)
    index = torch.arange(size) % max(shape[dim], 1)
    return leaf.index_select(dim, index) if shape[dim] else None


def of_rank(draw: random.Random, leaf: Tensor) -> Tensor | None:
    """A dim more, a dim less."""
    rank = leaf.dim()
    if draw.random() < 0.5 or not rank:
        return leaf.unsqueeze(draw.randint(0, rank))
    dim = draw.randrange(rank)
    return leaf.select(dim, 0) if leaf.shape[dim] else None


def all_broken(
    seed: int, right: Iterable[Call], times: int, numbers: bool = True
) -> Iterator[tuple[Any, ...]]:
    """Each of the calls, and each broken so many times, as the oracle takes them."""
    draw = random.Random(seed)
    for each in right:
        yield each.func, each.args, each.kwargs
        for _ in range(times):
            other = broken(draw, each, numbers)
            if other is not None:
                yield other.func, other.args, other.kwargs
