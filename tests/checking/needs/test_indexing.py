"""What indexing, gather, scatter and attention need, against torch."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from checking.needs.oracle import check

Tensor = torch.Tensor


def item(draw: random.Random) -> Any:
    way = draw.random()
    if way < 0.3:
        return draw.randint(-3, 3)
    if way < 0.5:
        return slice(None, draw.randint(0, 3))
    if way < 0.6:
        return None
    if way < 0.65:
        return ...
    if way < 0.8:
        return torch.ones(draw.choice([[2], [3], [2, 3]]), dtype=torch.bool)
    index = torch.randint(-3, 4, (draw.choice([1, 2, 3]),))
    return index.float() if draw.random() < 0.1 else index


def indexed(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(800):
        x = torch.ones([draw.choice([2, 3]) for _ in range(draw.randint(0, 3))])
        items = [item(draw) for _ in range(draw.randint(1, 3))]
        if sum(each is ... for each in items) > 1:
            continue
        where = items[0] if len(items) == 1 else tuple(items)
        yield Tensor.__getitem__, (x, where)


def test_brackets() -> None:
    check(indexed(random.Random(1)), answered=0.85)


def written(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _, (x, where) in indexed(draw):
        items = where if isinstance(where, tuple) else (where,)
        sizes = [draw.choice([1, 2, 2, 3, 3]) for _ in range(draw.randint(0, 4))]
        if draw.random() < 0.6:
            with contextlib.suppress(IndexError, TypeError):
                sizes = [draw.choice([s, s, s, 1, 4]) for s in x[items].shape]
        yield Tensor.__setitem__, (x, where, torch.ones(sizes))


def test_what_is_written_into_brackets() -> None:
    check(written(random.Random(4)), answered=0.85)


def index_of(draw: random.Random, sizes: list[int]) -> Tensor:
    made = [draw.choice([s, s, max(s - 1, 1), s + 1]) for s in sizes]
    if draw.random() < 0.1:
        made.pop()
    dtype = torch.float32 if draw.random() < 0.1 else torch.int64
    return torch.randint(0, draw.choice([1, 3]), made).to(dtype)


def gathers(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(300):
        sizes = [draw.randint(1, 3) for _ in range(draw.randint(1, 3))]
        x, dim = torch.ones(sizes), draw.randint(-3, 3)
        index = index_of(draw, sizes)
        yield torch.gather, (x, dim, index)
        yield torch.take_along_dim, (x, index, dim)
        dtype = draw.choice([torch.float32, torch.float32, torch.float64])
        src = torch.ones([draw.choice([s, s + 1]) for s in index.shape], dtype=dtype)
        yield torch.scatter, (x, dim, index, src)
        yield Tensor.scatter_add_, (x, dim, index, src)
        flat = torch.randint(0, 3, (2,) if draw.random() < 0.8 else (2, 1))
        yield torch.index_select, (x, dim, flat)
        source = [2 if d == dim else s for d, s in enumerate(sizes)]
        source = [draw.choice([s, s, s, 4]) for s in source]
        yield torch.index_add, (x, dim, flat, torch.ones(source, dtype=dtype))


def test_gather_and_scatter() -> None:
    check(gathers(random.Random(2)), answered=0.9)


def attentions(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(400):
        b, h, t, s, e = 2, 3, 4, 5, 6
        q, k, v = (torch.ones(b, h, n, e) for n in (t, s, s))
        way = draw.randint(0, 7)
        if way == 0:
            k = torch.ones(b, h, s, 7)
        elif way == 2:
            k = k.transpose(-1, -2)
        elif way == 3:
            k = v = torch.ones(b, 2, s, e)
        elif way == 4:
            q = q.double()
        masks = [(t, s), (b, 1, 1, s), (b, s), (s, t), (b, t, s), (b, h, t, s)]
        mask = torch.ones(draw.choice(masks))
        mask = mask.bool() if draw.random() < 0.6 else mask
        mask = mask.long() if draw.random() < 0.2 else mask
        given = mask if draw.random() < 0.6 else None
        yield F.scaled_dot_product_attention, (q, k, v, given, 0.0, draw.random() < 0.1)


def test_scaled_dot_product_attention() -> None:
    check(attentions(random.Random(3)))


def multihead(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(300):
        t, s, n, e = 4, 5, 2, 6
        q, k = torch.ones(t, n, e), torch.ones(s, n, e)
        v = k
        way = draw.randint(0, 6)
        if way == 0:
            q = torch.ones(t, n, 8)
        elif way == 1:
            q = k = v = torch.ones(t, n, 8)
        elif way == 2:
            v = torch.ones(3, n, e)
        elif way == 3:
            k = v = torch.ones(s, 3, e)
        elif way == 4:
            q = q.double()
        masks = [(n, s), (s, n), (n, t)]
        padding = torch.zeros(draw.choice(masks)).bool()
        lays = [(t, s), (s, t), (n * 2, t, s), (n, t, s)]
        over = torch.zeros(draw.choice(lays))
        if draw.random() < 0.2:
            over, padding = over.long(), padding.long()
        kwargs = {
            "key_padding_mask": padding if draw.random() < 0.4 else None,
            "attn_mask": over if draw.random() < 0.4 else None,
        }
        weights = torch.ones(3 * e, e), torch.ones(3 * e), None, None, False, 0.0
        out = torch.ones(e, e), torch.ones(e)
        func = F.multi_head_attention_forward
        yield func, (q, k, v, e, 2, *weights, *out), kwargs


def test_multi_head_attention() -> None:
    check(multihead(random.Random(4)))
