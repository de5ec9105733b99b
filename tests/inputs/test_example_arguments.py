"""Specs and declared examples as real arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch

from shapewright.inputs.spec import (
    Candidate,
    make_declared,
    make_filled,
    materialize_spec,
    parse_spec,
)


def test_the_nest_with_meta_tensors() -> None:
    spec = parse_spec("[f32[2, 3]!grad, (None, 4)], {a: bf16[1]}, n=i64[]")
    (nest, table), kwargs = materialize_spec(spec)
    assert nest[0].shape == (2, 3)
    assert nest[0].requires_grad
    assert nest[0].is_meta
    assert nest[1] == (None, 4)
    assert table["a"].dtype == torch.bfloat16
    assert kwargs["n"].shape == ()


def test_tensors_are_made_by_the_caller() -> None:
    args, kwargs = materialize_spec(
        parse_spec("f32[2]@cuda, [x, f32[x=3]], y=i8[]"), str
    )
    assert args == ("f32[2]", [3, "f32[3]"])
    assert kwargs == {"y": "i8[]"}


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ("i64[2]=ones", [1, 1]),
        ("f32[2]=zeros", [0.0, 0.0]),
        ("i64[2, 3]=arange", [[0, 1, 2], [3, 4, 5]]),
        ("i64[3]=[3, 2, 1]", [3, 2, 1]),
        ("f32[2, 1]=[[0.5], [1]]", [[0.5], [1.0]]),
        ("bool[2]=True", [True, True]),
        ("bool[3]=arange", [False, True, True]),
        ("c64[]=2", 2 + 0j),
        ("i64[]=7", 7),
        ("f64[1]=-inf", [float("-inf")]),
    ],
)
def test_stated_values(spec: str, values: Any) -> None:
    (leaf,) = parse_spec(spec).leaves
    made = make_filled(leaf)
    assert made is not None
    assert made.tolist() == values
    assert str(made.dtype) == f"torch.{leaf.dtype}"
    assert tuple(made.shape) == leaf.shape


def test_random_integers_stay_in_range_and_touch_no_generator() -> None:
    (leaf,) = parse_spec("i64[50]=3..6").leaves
    before = torch.get_rng_state()
    with torch.device("meta"):
        first, second = make_filled(leaf), make_filled(leaf)
    assert first is not None
    assert second is not None
    assert set(first.tolist()) == {3, 4, 5}
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), before)


def test_unknown_or_huge_tensors_have_no_values() -> None:
    for spec in ("f32[2]", "i64[1099511627776]=ones"):
        (leaf,) = parse_spec(spec).leaves
        assert make_filled(leaf) is None


class Pair(NamedTuple):
    x: int
    y: int


def test_what_an_author_declares() -> None:
    x = torch.zeros(1)
    assert make_declared(x) == ((x,), {})
    assert make_declared((x, 2)) == ((x, 2), {})
    assert make_declared([x, 2]) == ((x, 2), {})
    assert make_declared({"x": x}) == ((), {"x": x})
    assert make_declared(((x,), {"n": 2})) == ((x,), {"n": 2})
    assert make_declared(Pair(1, 2)) == ((Pair(1, 2),), {})
    (made,), _ = make_declared("f32[2, 3]")
    assert made.shape == (2, 3)
    (made,), _ = make_declared(parse_spec("f32[4]"))
    assert made.shape == (4,)


def test_a_candidate_runs_the_authors_code_only_when_asked() -> None:
    calls: list[int] = []
    candidate = Candidate("a test", lambda: calls.append(1))
    assert calls == []
    assert candidate.arguments() == ((None,), {})
    assert calls == [1]
