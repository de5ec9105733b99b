"""Products read rows and columns, whatever the rank and whatever is added."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape


def thinned(draw: random.Random, sizes: list[int]) -> list[int]:
    """Sizes that are broadcast to these."""
    kept = sizes[draw.randint(0, len(sizes)) :]
    return [1 if draw.random() < 0.3 else size for size in kept]


def matmuls(draw: random.Random) -> Iterator[Case]:
    while True:
        m, n, k = shape(draw, 3)
        batch = shape(draw, draw.randint(0, 3), most=3)
        one, two = thinned(draw, batch), thinned(draw, batch)
        k = draw.choice([k, k, 0])
        left = [k] if draw.random() < 0.2 else [*one, m, k]
        right = [k] if draw.random() < 0.2 else [*two, k, n]
        name = draw.choice(["torch.matmul", "torch.Tensor.__matmul__"])
        yield name, (floats(draw, *left), floats(draw, *right)), {}


def plain(draw: random.Random) -> Iterator[Case]:
    while True:
        b, m, n, k = shape(draw, 4)
        vector, other = floats(draw, k), floats(draw, k)
        yield "torch.mm", (floats(draw, m, k), floats(draw, k, n)), {}
        yield "torch.bmm", (floats(draw, b, m, k), floats(draw, b, k, n)), {}
        yield "torch.Tensor.mv", (floats(draw, m, k), vector), {}
        yield "torch.dot", (vector, other), {}
        yield "torch.outer", (vector, floats(draw, m)), {}
        yield "torch.inner", (floats(draw, m, k), floats(draw, n, b, k)), {}


def sums(draw: random.Random) -> Iterator[Case]:
    while True:
        b, m, n, k = shape(draw, 4)
        more: dict[str, Any] = {}
        if draw.random() < 0.5:
            more["alpha"] = draw.choice([2, 0.5])
        if draw.random() < 0.5:
            more["beta"] = draw.choice([0, 3, -0.5])
        one, two = floats(draw, b, m, k), floats(draw, b, k, n)
        seed = floats(draw, *thinned(draw, [m, n]))
        yield "torch.addmm", (seed, one[0], two[0]), more
        yield "torch.addbmm", (floats(draw, m, n), one, two), more
        yield (
            "torch.Tensor.baddbmm",
            (floats(draw, *thinned(draw, [b, m, n])), one, two),
            more,
        )
        yield "torch.addmv", (floats(draw, m), one[0], two[0, :, 0]), more
        yield "torch.addr", (seed, one[0, :, 0], two[0, 0]), more
        yield "torch.addmm", (seed.long(), one[0].long(), two[0].long()), more


def linears(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes, out = shape(draw, draw.randint(1, 4), most=4), draw.randint(1, 5)
        args = [floats(draw, *sizes), floats(draw, out, sizes[-1])]
        if draw.random() < 0.6:
            args.append(floats(draw, out))
        yield "torch.nn.functional.linear", tuple(args), {}


def tensordots(draw: random.Random) -> Iterator[Case]:
    while True:
        one, two = shape(draw, draw.randint(0, 3)), shape(draw, draw.randint(0, 3))
        count = draw.randint(0, min(len(one), len(two)))
        if draw.random() < 0.5:
            if count:
                two[:count] = one[len(one) - count :]
            yield "torch.tensordot", (floats(draw, *one), floats(draw, *two), count), {}
            continue
        left = draw.sample(range(len(one)), count)
        right = draw.sample(range(len(two)), count)
        for a, b in zip(left, right, strict=True):
            two[b] = one[a]
        left = [dim - len(one) if draw.random() < 0.3 else dim for dim in left]
        yield "torch.tensordot", (floats(draw, *one), floats(draw, *two)), {
            "dims": (left, right)
        }  # fmt: skip


def einsums(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = {letter: draw.randint(1, 4) for letter in "abijK"}
        count = draw.randint(1, 3)
        dotted, batch = draw.random() < 0.4, shape(draw, draw.randint(0, 2))
        texts, operands = [], []
        for _ in range(count):
            names = [draw.choice("abijK") for _ in range(draw.randint(0, 3))]
            stretch = {x: draw.random() < 0.15 for x in names}
            given = [1 if stretch[x] else sizes[x] for x in names]
            lead = thinned(draw, batch) if dotted else []
            texts.append(("..." if dotted else "") + "".join(names))
            operands.append(floats(draw, *lead, *given))
        known = sorted({x for text in texts for x in text if x != "."})
        equation = draw.choice([",", ", "]).join(texts)
        if draw.random() < 0.7:
            kept = draw.sample(known, draw.randint(0, len(known)))
            dots = "..." if dotted else ""
            equation += "->" + "".join(kept) + dots
        nested = draw.random() < 0.3
        yield "torch.einsum", (equation, *([operands] if nested else operands)), {}


@pytest.mark.parametrize("cases", [matmuls, plain, sums, linears, tensordots, einsums])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 50)


def reads(name: str, *args: Any) -> list[str]:
    """The reads of a call's map, as they are shown."""
    return [str(read) for read in drawn(name, *args).maps[0].reads]


def test_a_product_is_written_as_in_books() -> None:
    one, two = torch.ones(2, 3), torch.ones(5, 3, 4)
    assert reads("torch.mm", one, two[0]) == ["input[i, k]", "mat2[k, j]"]
    assert reads("torch.matmul", one, two) == ["input[i, k]", "other[b, k, j]"]


def test_a_linear_layer_reads_its_weight_by_outputs() -> None:
    made = drawn("torch.nn.functional.linear", torch.ones(8, 3), torch.ones(5, 3),
                 torch.ones(5))  # fmt: skip
    assert list(map(str, made.maps[0].reads)) == ["input[n, i]", "weight[o, i]"]
    assert str(made.maps[0].start) == "bias[o]"


def test_an_einsum_keeps_its_letters() -> None:
    one, two = torch.ones(2, 3, 3), torch.ones(3, 1)
    made = drawn("torch.einsum", "bdd,dK->bK", one, two).maps[0]
    assert list(map(str, made.reads)) == ["operands.0[b, d, d]", "operands.1[d, K]"]
    assert made.letters == ("b", "K")
    assert [loop.letter for loop in made.loops] == ["d"]


def test_an_einsum_of_lists_of_numbers() -> None:
    one, two = torch.ones(2, 3), torch.ones(3, 4)
    made = drawn("torch.einsum", one, [0, 1], two, [1, 2], [2, 0])
    assert list(map(str, made.maps[0].reads)) == ["equation[A, B]", "operands.1[B, C]"]
