"""What functions that name dims, images and linear algebra need, against torch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from checking.needs.oracle import check

Tensor = torch.Tensor
READING = """
sum mean prod amax argmax argmin logsumexp std var softmax log_softmax cumsum sort
median any all max min squeeze unsqueeze unbind cumprod argsort
""".split()


def shape(draw: random.Random) -> list[int]:
    return [draw.randint(1, 4) for _ in range(draw.randint(0, 4))]


def reading(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(600):
        x, dim = torch.ones(shape(draw)), draw.randint(-5, 4)
        name = draw.choice(READING)
        if name in ("mean", "softmax") and draw.random() < 0.3:
            x = x.long()
        given: Any = dim
        if name in ("sum", "mean", "amax") and draw.random() < 0.3:
            given = (dim, draw.randint(-3, 3))
        yield getattr(draw.choice([torch, Tensor]), name), (x, given)


def test_dims_that_are_read() -> None:
    check(reading(random.Random(1)))


def moving(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(500):
        x = torch.ones(shape(draw))
        one, two = draw.randint(-4, 4), draw.randint(-4, 4)
        order = list(range(max(x.dim() + draw.choice([0, 0, 0, 1, -1]), 0)))
        draw.shuffle(order)
        if order and draw.random() < 0.2:
            order[0] = 3
        yield from draw.sample(
            [
                (torch.transpose, (x, one, two)),
                (Tensor.permute, (x, *order)),
                (torch.permute, (x, order)),
                (torch.movedim, (x, one, two)),
                (torch.chunk, (x, 2, one)),
                (torch.flip, (x, (one, two))),
                (torch.select, (x, one, two)),
                (torch.narrow, (x, one, draw.randint(0, 2), draw.randint(0, 3))),
                (torch.topk, (x, draw.randint(1, 4), one)),
                (F.glu, (x, one)),
            ],
            2,
        )


def test_dims_that_move_or_are_cut() -> None:
    check(moving(random.Random(2)), answered=0.8)


def images(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(300):
        x = torch.ones([draw.randint(1, 5) for _ in range(draw.randint(2, 5))])
        pads = [draw.randint(0, 4) for _ in range(draw.choice([2, 4, 4, 3, 6]))]
        mode = draw.choice(["constant", "reflect", "circular"])
        yield F.pad, (x, pads, mode)
        modes = ["nearest", "linear", "bilinear", "trilinear"]
        size = draw.choice([4, (4, 4), (4,), (1, 2, 3)])
        yield F.interpolate, (x, size, None, draw.choice(modes))
        if x.dim() > 2:
            yield F.pixel_shuffle, (x, 2)
            yield F.pixel_unshuffle, (x, 2)
        n = draw.randint(1, 2)
        grid = torch.ones(draw.choice([(n, 3, 3, 2), (n, 2, 3, 3), (n, 3, 3, 3)]))
        yield F.grid_sample, (torch.ones(2, 3, 4, 4), grid, "bilinear", "zeros", False)
        theta = torch.ones(draw.choice([(n, 2, 3), (n, 6), (n, 3, 3)]))
        yield F.affine_grid, (theta, (2, 3, 4, 4), False)


def test_images() -> None:
    check(images(random.Random(3)), answered=0.75)


def equations(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    words = [
        "ij,jk->ik",
        "bij,bjk->bik",
        "bnk,bkm",
        "i,i->",
        "bhqd,bhkd->bhqk",
        "ii->i",
    ]
    for _ in range(400):
        equation = draw.choice(words)
        sizes = {letter: draw.randint(1, 3) for letter in "bijkhqdnm"}
        given = []
        for letters in equation.partition("->")[0].split(","):
            made = [sizes[letter] for letter in letters]
            if draw.random() < 0.2:
                made[draw.randrange(len(made))] = 4
            if draw.random() < 0.1:
                made.pop()
            given.append(torch.ones(made))
        yield torch.einsum, (equation, *given)
        a, b = (torch.ones([draw.randint(2, 3) for _ in range(3)]) for _ in range(2))
        yield torch.tensordot, (a, b, draw.choice([1, 2, ([0], [1])]))


def test_einsum_and_tensordot() -> None:
    check(equations(random.Random(4)), answered=0.85)


def matrices(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(200):
        n = draw.randint(1, 3)
        a = torch.eye(n, draw.choice([n, n + 1]))
        a = a.long() if draw.random() < 0.1 else a
        a = a[0] if draw.random() < 0.1 else a
        yield draw.choice([torch.matrix_exp, torch.det, torch.linalg.eigvalsh]), (a,)
        b = torch.ones([draw.choice([n, n, n + 2]), *[2] * draw.randint(0, 1)])
        yield torch.linalg.solve, (torch.eye(n), b)


def test_linear_algebra() -> None:
    check(matrices(random.Random(5)), answered=0.85)
