"""Indices and masks that are known are held against what they index, as torch does."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import shapewright as sw

Case = tuple[Callable[..., Any], tuple[Any, ...]]


def t(*values: int) -> torch.Tensor:
    return torch.tensor(values)


CASES: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "embedding": lambda x, i: F.embedding(i, x),
    "index_select": lambda x, i: x.index_select(0, i),
    "gather": lambda x, i: x.gather(0, i[:, None]),
    "scatter": lambda x, i: x.scatter(0, i[:, None], 1.0),
    "scatter_add": lambda x, i: x.scatter_add(0, i[:, None], x[:1].expand(len(i), 4)),
    "index_add": lambda x, i: x.index_add(0, i, x[:1].expand(len(i), 4)),
    "index_fill": lambda x, i: x.index_fill(0, i, 1.0),
    "brackets": lambda x, i: x[i],
    "brackets_behind": lambda x, i: x.t()[:, i],
    "brackets_new": lambda x, i: x[None, i],
    "written": lambda x, i: x.clone().__setitem__(i, 0.0),
    "index_put": lambda x, i: x.index_put((i,), torch.tensor(1.0)),
    "cross_entropy": lambda x, i: F.cross_entropy(x.t()[: len(i)], i[:4]),
}


def words(call: Callable[[], Any]) -> str:
    """What a call raises, class and text; nothing where it returns."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(6))
def test_out_of_range_is_refused_where_torch_refuses(name: str, seed: int) -> None:
    rng = random.Random(f"{name}{seed}")
    index = torch.tensor([rng.randint(-1, 7) for _ in range(4)])
    x = torch.randn(6, 4)
    case = CASES[name]

    def run(x: torch.Tensor) -> Any:
        return case(x, index)

    wanted = words(lambda: run(x))
    trace = sw.options(values=True).trace(run, torch.empty(6, 4, device="meta"))
    assert trace.complete == (not wanted), (index, wanted, trace.findings)
    if wanted:
        kind = wanted.split(":")[0]
        assert trace.findings[-1].torch_message.startswith(kind) or name == (
            "index_select"  # its two CPU kernels raise two classes
        )


MASKS = {
    "whole": lambda x, m: x[m],
    "behind": lambda x, m: x[None, m],
    "dots": lambda x, m: x[..., m],
    "after_number": lambda x, m: x[0, m],
    "sliced": lambda x, m: x[1:, m],
    "written": lambda x, m: x.clone().__setitem__(m, 0.0),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("known", [True, False])
def test_masks_of_another_shape_are_refused(name: str, known: bool) -> None:
    rng = random.Random(name)
    for _ in range(12):
        shape = rng.choice([(3,), (4,), (5,), (3, 4), (4, 5), (3, 4, 5), (4, 4)])
        mask = torch.rand(shape, generator=torch.Generator().manual_seed(0)) > 0.3
        case = MASKS[name]
        x = torch.randn(3, 4, 5)
        wanted = words(lambda x=x, mask=mask, case=case: case(x, mask))
        given = mask if known else torch.empty(shape, dtype=torch.bool, device="meta")
        trace = sw.trace(case, torch.empty(3, 4, 5, device="meta"), given)
        assert trace.complete == (not wanted), (shape, wanted)
        if wanted:
            assert trace.findings[-1].torch_message == wanted


def test_counts_that_are_known_give_the_exact_rows() -> None:
    def run(x: torch.Tensor, n: torch.Tensor, m: torch.Tensor) -> Any:
        return x.repeat_interleave(n, dim=0), x.masked_select(m)

    n, m = t(5, 0, 8, 2), torch.tensor([[True], [False], [True], [True]])
    real = run(torch.randn(4, 10), n, m)
    trace = sw.trace(run, "f32[4, 10]", n, m)
    assert [fact.shape for fact in trace.output] == [r.shape for r in real]
    assert not trace.assumptions
