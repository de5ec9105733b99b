"""Views read the elements that their maps say, whatever order memory has."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape


def tensor(draw: random.Random, rank: int, least: int = 0) -> torch.Tensor:
    """A tensor whose dims may lie in any order in memory, some of size 1 or 0."""
    sizes = shape(draw, rank, 4, least if draw.random() < 0.1 else 1)
    return floats(draw, *sizes).permute(draw.sample(range(rank), rank))


def factors(draw: random.Random, count: int) -> list[int]:
    """Sizes whose product is `count`."""
    found = []
    while count > 1:
        found.append(draw.choice([n for n in range(2, count + 1) if not count % n]))
        count //= found[-1]
    found += [1] * draw.randint(0, 2)
    draw.shuffle(found)
    return found


def reshapes(draw: random.Random) -> Iterator[Case]:
    while True:
        x = tensor(draw, draw.randint(0, 4))
        sizes = factors(draw, x.numel()) if x.numel() else list(x.shape)
        if sizes and x.numel() and draw.random() < 0.5:
            sizes[draw.randrange(len(sizes))] = -1
        yield "torch.reshape", (x, sizes), {}
        yield "torch.Tensor.reshape", (x, *sizes) if sizes else (x, ()), {}
        rank = x.ndim
        first = draw.randrange(rank) if rank else 0
        last = draw.randrange(first, rank) - rank if rank else -1
        yield "torch.flatten", (x, first), {"end_dim": last}
        yield "torch.Tensor.view", (x.contiguous(), -1 if x.numel() else x.shape), {}
        if x.numel() and rank:
            cut = factors(draw, x.shape[first]) or [1]
            yield "torch.unflatten", (x, first - rank, cut), {}


def reorders(draw: random.Random) -> Iterator[Case]:
    while True:
        rank = draw.randint(1, 5)
        x = tensor(draw, rank)
        first, second = draw.randrange(-rank, rank), draw.randrange(-rank, rank)
        swap = draw.choice(["transpose", "swapaxes", "swapdims", "transpose_"])
        yield f"torch.Tensor.{swap}", (x, first, second), {}
        order = draw.sample(range(rank), rank)
        signed = [dim - rank * draw.randint(0, 1) for dim in order]
        yield "torch.permute", (x, signed), {}
        yield "torch.Tensor.permute", (x, *signed), {}
        some = draw.randint(1, rank)
        ends = draw.sample(range(rank), some)
        yield "torch.movedim", (x, tuple(signed[:some]), tuple(ends)), {}
        yield "torch.moveaxis", (x, first, second), {}
        if rank > 1:
            yield f"torch.Tensor.{draw.choice(['mT', 'mH'])}", (x,), {}
        if rank == 2:
            yield (
                draw.choice(["torch.t", "torch.Tensor.T", "torch.Tensor.t_"]),
                (x,),
                {},
            )


def ones(draw: random.Random) -> Iterator[Case]:
    while True:
        rank = draw.randint(0, 4)
        x = floats(draw, *(draw.choice([1, 1, 2, 3]) for _ in range(rank)))
        yield "torch.unsqueeze", (x, draw.randrange(-rank - 1, rank + 1)), {}
        yield "torch.squeeze", (x,), {}
        if rank:
            dims = draw.sample(range(-rank, 0), draw.randint(1, rank))
            yield "torch.squeeze", (x, draw.choice([dims[0], tuple(dims)])), {}
            yield "torch.Tensor.squeeze_", (x.clone(), dims[0]), {}
        new = shape(draw, draw.randint(0, 2))
        old = [draw.randint(1, 4) if size == 1 else size for size in x.shape]
        pairs = zip(old, x.shape, strict=True)
        kept = [draw.choice([n, -1]) if n == m else n for n, m in pairs]
        yield "torch.Tensor.expand", (x, (*new, *kept)), {}
        yield "torch.broadcast_to", (x, (*new, *old)), {}
        yield "torch.Tensor.expand_as", (x, torch.zeros((*new, *old))), {}
        yield "torch.broadcast_tensors", (x, torch.zeros((*new, *old))), {}
        yield draw.choice(["torch.clone", "torch.Tensor.contiguous"]), (x.T,), {}


def conversions(draw: random.Random) -> Iterator[Case]:
    while True:
        x = floats(draw, *shape(draw, draw.randint(0, 4))).abs() / 2
        kind = draw.choice(["float", "double", "half", "long", "int", "bool"])
        yield f"torch.Tensor.{kind}", (x,), {}
        yield "torch.Tensor.to", (x, draw.choice([torch.int64, torch.float64])), {}
        yield "torch.Tensor.type_as", (x, torch.ones(1, dtype=torch.int32)), {}
        image = floats(draw, *shape(draw, 4, 3))
        last = {"memory_format": torch.channels_last}
        yield "torch.Tensor.to", (image,), last
        yield "torch.Tensor.contiguous", (image,), last


@pytest.mark.parametrize("cases", [reshapes, reorders, ones, conversions])
@pytest.mark.filterwarnings("ignore::UserWarning")  # .T of other ranks is deprecated
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


@pytest.mark.parametrize(
    ("given", "made", "read"),
    [
        ((2, 3, 4), (6, 4), "input[i//3, i%3, j]"),
        ((6, 4), (2, 3, 4), "input[3*i + j, k]"),
        ((2, 8, 12), (2, 8, 3, 4), "input[i, j, 4*k + l]"),
        ((2, 3, 4), (2, 2, 6), "input[i, (6*j + k)//4, (6*j + k)%4]"),
        ((2, 3, 4), (24,), "input[i//12, (i//4)%3, i%4]"),
        ((6, 1, 2), (3, 4), "input[2*i + j//2, 0, j%2]"),
    ],
)
def test_division_is_written_only_where_it_is_needed(
    given: tuple[int, ...], made: tuple[int, ...], read: str
) -> None:
    (found,) = drawn("torch.reshape", torch.zeros(given), made).maps
    assert str(found.reads[0]) == read


def test_an_expanded_dim_is_read_at_0() -> None:
    (found,) = drawn("torch.Tensor.expand", torch.zeros(3, 1), 2, -1, 4).maps
    assert str(found.reads[0]) == "input[j, 0]"


def test_a_view_as_another_dtype_is_not_drawn() -> None:
    made = drawn("torch.Tensor.view", torch.zeros(4), torch.int32)
    assert made.reason == "it reads the bits of the elements as another dtype"
