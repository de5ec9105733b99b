"""The size formulas are true, and their results are torch's sizes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from itertools import islice
from math import ceil, floor, prod

import pytest
import torch

from maps.oracle import Case, drawn, floats, function
from maps.test_convolving import convolutions, transposes
from maps.test_folding import folds, unfolds
from maps.test_pooling import largest, means
from shapewright import explain


def results(formulas: tuple[str, ...]) -> list[int]:
    """What the formulas say, once they are worked out again."""
    found = []
    for formula in formulas:
        left, right = formula.split(" = ")
        made = eval(left, {"floor": floor, "ceil": ceil})
        assert made == int(right), formula
        found.append(made)
    return found


@pytest.mark.parametrize("cases", [convolutions, transposes, largest, means])
@pytest.mark.filterwarnings("ignore:Using padding=.same")
def test_sizes_are_those_of_torch(cases: Callable[..., Iterator[Case]]) -> None:
    for name, args, kwargs in islice(cases(random.Random(1)), 60):
        made = function(name)(*args, **kwargs)
        out = made[0] if isinstance(made, tuple) else made
        found = results(drawn(name, *args, **kwargs).sizes)
        assert found == list(out.shape[-len(found) :]), (name, kwargs)


@pytest.mark.parametrize("cases", [unfolds, folds])
def test_columns_are_as_many_as_blocks(cases: Callable[..., Iterator[Case]]) -> None:
    for name, args, kwargs in islice(cases(random.Random(1)), 60):
        columns = args[0] if name.endswith(".fold") else function(name)(*args, **kwargs)
        assert prod(results(drawn(name, *args, **kwargs).sizes)) == columns.shape[-1]


def test_the_first_convolution_of_a_resnet() -> None:
    image, weight = torch.ones(1, 3, 224, 224), torch.ones(64, 3, 7, 7)
    assert drawn("torch.conv2d", image, weight, stride=2, padding=3).sizes == (
        "floor((224 + 2*3 - 1*(7 - 1) - 1) / 2) + 1 = 112",
        "floor((224 + 2*3 - 1*(7 - 1) - 1) / 2) + 1 = 112",
    )


@pytest.mark.parametrize(
    ("name", "more", "formula"),
    [
        ("avg_pool1d", {"padding": 1}, "floor((9 + 2*1 - 2) / 2) + 1 = 5"),
        ("avg_pool1d", {"ceil_mode": True}, "ceil((9 + 2*0 - 2) / 2) + 1 = 5"),
        (
            "max_pool1d",
            {"padding": 1, "stride": 3, "ceil_mode": True},
            "ceil((9 + 2*1 - 1*(2 - 1) - 1) / 3) + 1 = 4",
        ),
        (
            "max_pool1d",
            {"padding": 1, "ceil_mode": True, "stride": 10},
            "ceil((9 + 2*1 - 1*(2 - 1) - 1) / 10) + 1 - 1 = 1",
        ),
    ],
)
def test_pooling_is_written_with_its_rounding(  # type: ignore[no-untyped-def]
    name, more, formula
) -> None:
    x = floats(random.Random(0), 1, 9)
    assert drawn(f"torch.nn.functional.{name}", x, 2, **more).sizes == (formula,)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (
            "F.conv2d(f32[1, 3, 8, 8], f32[8, 3, 3, 3])",
            "as unfold, product, fold: (8, 27) @ (27, 36)",
        ),
        (
            "F.conv2d(f32[2, 4, 5, 5], f32[6, 2, 3, 3], groups=2)",
            "as unfold, product, fold: (3, 18) @ (18, 9), for each of 2 images and 2 "
            "groups",
        ),
        (
            "F.conv_transpose1d(f32[1, 4, 5], f32[4, 3, 2], stride=2)",
            "as product, fold: (6, 4) @ (4, 5)",
        ),
    ],
)
def test_a_convolution_is_a_product_of_matrices(call: str, line: str) -> None:
    assert line in str(explain(call)).splitlines()


@pytest.mark.filterwarnings("ignore:Using padding=.same")
def test_that_product_of_matrices_gives_the_convolution() -> None:
    """What the line says, done by torch with matrices of these shapes."""
    for name, args, kwargs in islice(convolutions(random.Random(4)), 200):
        if not name.endswith("conv2d") or isinstance(kwargs["padding"], str):
            continue
        x, weight, bias = args
        made = explain(function(name), *args, **kwargs)
        (said,) = (line for line in str(made).splitlines() if line.startswith("as "))
        rows, inner, inner_too, columns = map(int, re.findall(r"\d+", said)[:4])
        groups = kwargs.pop("groups")
        for key, value in kwargs.items():
            many = isinstance(value, list | tuple)
            kwargs[key] = tuple(value) * (3 - len(value)) if many else (value,) * 2
        batched = x if x.dim() == 4 else x[None]
        blocks = torch.nn.functional.unfold(batched, weight.shape[2:], **kwargs)
        blocks = blocks.view(len(batched), groups, inner_too, columns)
        product = weight.reshape(groups, rows, inner) @ blocks
        out = product.reshape(made.drawn.outputs[0].shape)
        if bias is not None:
            out = out + bias[:, None, None]
        assert torch.equal(out, function(name)(*args, **kwargs, groups=groups))


def test_what_has_no_window_has_no_formula() -> None:
    x = floats(random.Random(0), 3)
    assert drawn("torch.gather", x, 0, torch.tensor([0])).sizes == ()
