"""Costs are those of the loop that is printed: it runs here, its calls are counted."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import islice
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

from maps import (
    test_along_a_dim,
    test_convolving,
    test_elementwise,
    test_folding,
    test_gathering,
    test_indexing,
    test_joining,
    test_layers,
    test_padding,
    test_products,
    test_repeating,
    test_views,
)
from maps.oracle import Case, drawn
from shapewright.index_maps.costs import compute_costs, find_repeats
from shapewright.index_maps.drawn_calls import Drawn
from shapewright.index_maps.evaluation import count_reads
from shapewright.operators import import_families
from shapewright.operators.metadata_rules import RULES
from shapewright.runtime.operator_calls.drawing import (
    iter_named_tensors,
    name_arguments,
)
from shapewright.views.drawing.index_map_text import build_reader, format_loop

import_families("shapes")

Generator = Callable[[random.Random], Iterator[Case]]
GENERATORS: list[Generator] = [
    test_products.matmuls, test_products.plain, test_products.sums,
    test_products.einsums, test_products.linears, test_products.tensordots,
    test_elementwise.pairs, test_elementwise.singles, test_elementwise.threes,
    test_gathering.gathers, test_gathering.scatters, test_gathering.takes,
    test_gathering.selects, test_views.reshapes, test_views.reorders,
    test_repeating.repeats, test_repeating.turns, test_convolving.convolutions,
    test_convolving.transposes, test_joining.joins, test_along_a_dim.reductions,
    test_along_a_dim.lanes, test_indexing.indexings, test_folding.folds,
    test_folding.unfolds, test_padding.pads, test_padding.triangles,
    test_layers.lookups, test_layers.norms_of_last_dims,
]  # fmt: skip
MOST_PASSES = 2000


class Counting(TorchFunctionMode):
    """Counts calls of torch."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.calls += 1
        return func(*args, **(kwargs or {}))


def calls_of_the_loop(made: Drawn, tensors: dict[str, torch.Tensor]) -> int:
    """Run the loop that is printed, and count its calls of torch."""
    text = "\n".join(format_loop(made.maps[0]))
    given: dict[str, Any] = {}
    for name, tensor in tensors.items():
        plain = name.replace(".", "_")
        text = text.replace(name, plain)
        given[plain] = tensor
    dtype = getattr(torch, made.outputs[0].dtype)
    given["out"] = torch.zeros(made.maps[0].shape, dtype=dtype)
    counting = Counting()
    with counting:
        exec(text, given)
    return counting.calls


def cases(generator: Generator) -> Iterator[tuple[Drawn, dict[str, torch.Tensor]]]:
    """Drawn calls with one output, and their tensors as they were before."""
    for name, args, kwargs in islice(generator(random.Random(7)), 25):
        named = name_arguments(name, deepcopy(args), deepcopy(kwargs))
        made = drawn(name, *args, **kwargs)
        if len(made.maps) == 1 and compute_costs(made).passes <= MOST_PASSES:
            yield made, dict(iter_named_tensors(named))


@pytest.mark.parametrize("generator", GENERATORS)
def test_the_loop_makes_as_many_calls_as_are_said(generator: Generator) -> None:
    for made, tensors in cases(generator):
        said = compute_costs(made).calls
        if said is not None:
            assert said == calls_of_the_loop(made, tensors), made.text or made.name


@pytest.mark.parametrize("generator", GENERATORS)
def test_what_is_read_again_is_read_so_often(generator: Generator) -> None:
    for made, _ in cases(generator):
        lookup = {side.name: build_reader(side.values) for side in made.inputs}
        for side in made.inputs:
            said = find_repeats(made.maps[0], side.name, side.shape).times
            if said is None or side.values is None or not made.outputs[0].size:
                continue
            counted = count_reads(made.maps[0], side.name, lookup)
            assert set(counted.values()) == {said}, made.name
            assert len(counted) == side.size


@pytest.mark.parametrize(
    ("name", "args", "arithmetic", "reads"),
    [
        ("torch.matmul", (torch.ones(2, 3), torch.ones(3, 4)),
         {"multiplications": 24, "additions": 24}, 48),
        ("torch.add", (torch.ones(3, 1), torch.ones(4)), {"additions": 12}, 24),
        ("torch.einsum", ("ikm,ik->i", torch.ones(2, 3, 4), torch.ones(2, 3)),
         {"multiplications": 24, "additions": 24}, 48),
        ("torch.einsum", ("ij,jk,k->i", torch.ones(2, 3), torch.ones(3, 4),
         torch.ones(4)), {"multiplications": 48, "additions": 24}, 72),
        ("torch.gather", (torch.ones(4, 6), 0, torch.zeros(2, 6).long()), {}, 12),
        ("torch.scatter_add", (torch.ones(4, 6), 0, torch.zeros(2, 6).long(),
         torch.ones(2, 6)), {"additions": 12}, 36),
        ("torch.sum", (torch.ones(5, 2), 0), {"additions": 10}, 10),
        ("torch.mean", (torch.ones(5, 2), 0), {"additions": 10, "divisions": 2}, 10),
    ],
)  # fmt: skip
def test_arithmetic_is_counted_from_the_map(
    name: str, args: tuple[Any, ...], arithmetic: dict[str, int], reads: int
) -> None:
    made = compute_costs(drawn(name, *args))
    assert made.arithmetic == arithmetic
    assert made.reads == reads


def test_arithmetic_of_products_is_what_a_trace_counts() -> None:
    for name, args, kwargs in islice(test_products.matmuls(random.Random(2)), 50):
        if min(arg.ndim for arg in args) < 2:
            continue  # torch has no formula for a vector
        made = compute_costs(drawn(name, *args, **kwargs))
        flops = RULES[name].flops
        assert flops is not None
        assert sum((made.arithmetic or {}).values()) == flops(*args, **kwargs)


X = torch.arange(24.0).view(4, 6)


@pytest.mark.parametrize(
    ("name", "args", "kind", "moved"),
    [
        ("torch.transpose", (X, 0, 1), "view", 0),
        ("torch.Tensor.contiguous", (X,), "same", 0),
        ("torch.Tensor.contiguous", (X.t(),), "copy", 192),
        ("torch.Tensor.expand", (X[:, :1], 4, 9), "view", 0),
        ("torch.Tensor.add_", (X.clone(), 1), "in place", 96),
        ("torch.zeros", (3, 4), "new", 48),
        ("torch.gather", (X, 0, torch.zeros(1, 2).long()), "copy", 8 + 8 + 16),
        ("torch.add", (X[0].expand(4, 6), X), "pass", 24 + 96 + 96),
    ],
)
def test_what_happens_to_memory(
    name: str, args: tuple[Any, ...], kind: str, moved: int
) -> None:
    made = compute_costs(drawn(name, *args))
    assert (made.kind, made.moved) == (kind, moved)


def test_contiguous_copies_what_is_said() -> None:
    for view in (X.t(), X[:1].expand(5, 6), X[:, ::2], X[None], X[1:]):
        made = compute_costs(drawn("torch.Tensor.view_as", view, view))
        copied = view.contiguous().data_ptr() != view.data_ptr()
        due = view.numel() * 4 if copied else None
        if made.kind == "view":
            assert made.copied == due
    turned = compute_costs(drawn("torch.transpose", torch.ones(1000, 1000), 0, 1))
    assert turned.copied == 4_000_000
