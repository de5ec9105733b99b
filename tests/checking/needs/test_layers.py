"""What losses, tables, norms and recurrent layers need, against torch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from checking.needs.oracle import check

Tensor = torch.Tensor


def classes(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(500):
        n, c, rest = 2, 3, [4, 5][: draw.randint(0, 2)]
        x = torch.ones(n, c, *rest)
        layout = draw.random()
        if layout < 0.15:
            x = torch.ones(n, *rest, c)
        target = torch.zeros(n, *rest, dtype=torch.int64)
        way = draw.randint(0, 8)
        if way == 0:
            target = target.unsqueeze(-1)
        elif way == 1:
            target = torch.zeros(x.shape, dtype=torch.int64)
        elif way == 2:
            target = torch.zeros(5, *rest, dtype=torch.int64)
        elif way == 3:
            target = target.float()
        elif way == 4:
            target[0] = 7
        elif way == 5:
            target = torch.zeros(x.shape)
        weight = torch.ones(draw.choice([3, 3, 4])) if draw.random() < 0.3 else None
        yield draw.choice([F.cross_entropy, F.nll_loss]), (x, target, weight)


def test_class_losses() -> None:
    check(classes(random.Random(1)))


def pairs(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    functions = [
        F.binary_cross_entropy,
        F.binary_cross_entropy_with_logits,
        F.mse_loss,
        F.l1_loss,
        F.smooth_l1_loss,
        F.huber_loss,
        F.kl_div,
    ]
    for _ in range(500):
        sizes = [draw.randint(1, 3) for _ in range(draw.randint(1, 3))]
        other = [draw.choice([s, s, s, 1, 4]) for s in sizes]
        if draw.random() < 0.2:
            other.pop()
        func = draw.choice(functions)
        strict = func in functions[:2]
        dtype = draw.choice([torch.float32, torch.int64]) if strict else torch.float32
        yield func, (torch.full(sizes, 0.5), torch.ones(other, dtype=dtype))


def test_losses_of_pairs() -> None:
    check(pairs(random.Random(2)))


def metric(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(300):
        n, d = draw.randint(1, 3), draw.randint(1, 3)
        a, b, c = (torch.ones(n, d) for _ in range(3))
        way = draw.randint(0, 5)
        if way == 0:
            b = torch.ones(n, d + 2)
        if way == 1:
            c = torch.ones(n + 2, d)
        one = torch.ones(n + (way == 2) * 2)
        yield F.triplet_margin_loss, (a, b, c if way != 3 else c[0])
        yield F.cosine_embedding_loss, (a, b, one if way != 3 else one[:, None])
        yield F.margin_ranking_loss, (a[:, 0], c[:, 0], one)


def test_losses_of_distances() -> None:
    check(metric(random.Random(3)))


def test_ctc() -> None:
    draw = random.Random(4)

    def calls() -> Iterator[tuple[Any, ...]]:
        for _ in range(40):
            t, n = 5, draw.choice([2, 3])
            x = torch.ones(t, n, 4).log_softmax(-1)
            if draw.random() < 0.3:
                x = x.transpose(0, 1)
            lengths = torch.full((2,), 1)
            yield F.ctc_loss, (x, torch.ones(2, 1, dtype=torch.int64), lengths, lengths)

    check(calls())


def test_tables() -> None:
    draw = random.Random(5)

    def calls() -> Iterator[tuple[Any, ...]]:
        for _ in range(200):
            index = torch.randint(0, 12, (2, 3))
            index = index.float() if draw.random() < 0.2 else index
            yield F.embedding, (index, torch.ones(10, 4))
            yield F.one_hot, (index, draw.choice([-1, 12, 8]))

    check(calls())


def norms(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(300):
        n, c, size = draw.randint(1, 2), draw.randint(1, 4), draw.randint(1, 4)
        x = torch.ones(n, c, *[size] * draw.randint(0, 2))
        f = draw.choice([c, c, size])
        stats = torch.ones(f)
        yield F.batch_norm, (x, stats, stats, stats, stats, draw.random() < 0.5)
        yield F.group_norm, (x, draw.randint(1, 3), stats, stats)
        yield F.layer_norm, (x, draw.choice([[f], [c, size], [size, size]]))
        yield F.rms_norm, (x, [f], stats)
        if x.dim() > 2:
            yield F.instance_norm, (x, stats, stats)


def test_norms() -> None:
    check(norms(random.Random(6)))


def test_norms_that_count_dims() -> None:
    draw = random.Random(7)

    def calls() -> Iterator[tuple[Any, ...]]:
        for _ in range(80):
            spatial = draw.randint(1, 3)
            kind = draw.choice(["BatchNorm", "InstanceNorm"])
            layer = getattr(nn, f"{kind}{spatial}d")(4)
            shape = [2, 4, *[3] * draw.randint(0, 4)]
            yield layer, (torch.ones(shape),)

    check(calls(), answered=0.8)


def recurrent(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(250):
        kind = draw.choice([nn.RNN, nn.GRU, nn.LSTM])
        layer = kind(
            4,
            6,
            num_layers=draw.randint(1, 2),
            bidirectional=draw.random() < 0.4,
            batch_first=draw.random() < 0.5,
        )
        shape = [draw.choice([2, 3]), draw.choice([3, 5]), draw.choice([4, 4, 5])]
        if draw.random() < 0.2:
            shape.pop(0)
        elif draw.random() < 0.1:
            shape.insert(0, 2)
        x = torch.ones(shape)
        if draw.random() < 0.4:
            yield layer, (x,)
            continue
        h = torch.ones(
            draw.choice([1, 2, 4]), draw.choice([2, 3]), draw.choice([6, 6, 4])
        )
        h = h[0] if draw.random() < 0.1 else h
        yield layer, (x, (h, h) if kind is nn.LSTM else h)


def test_recurrent_layers() -> None:
    check(recurrent(random.Random(8)))


def test_recurrent_cells() -> None:
    draw = random.Random(9)

    def calls() -> Iterator[tuple[Any, ...]]:
        for _ in range(150):
            kind = draw.choice([nn.RNNCell, nn.GRUCell, nn.LSTMCell])
            x = torch.ones([2, 3, 4][draw.randint(0, 1) :])
            x = x if draw.random() < 0.6 else torch.ones(3, 5)
            h = torch.ones(draw.choice([3, 3, 2]), draw.choice([6, 6, 5]))
            yield kind(4, 6), (x, (h, h) if kind is nn.LSTMCell else h)

    check(calls(), answered=0.7)
