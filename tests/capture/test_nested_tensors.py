"""Nested tensors are refused with a word, where the program makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nested import as_nested_tensor, nested_tensor

import shapewright as sw
from tests.rehearsing.rehearsed import rehearsed

WORD = "shapewright does not follow nested tensors"


def program(x: torch.Tensor) -> torch.Tensor:
    nested: Any = torch.nested
    pieces = nested.as_nested_tensor([x[0, :3], x[1]], layout=torch.jagged)
    return pieces.to_padded_tensor(0.0)  # type: ignore[no-any-return]


def test_in_a_trace() -> None:
    trace = sw.trace(program, "f32[2, 6, 8]")
    (found,) = trace.findings
    assert WORD in found.message
    assert found.span is not None
    assert (
        "as_nested_tensor"
        in trace.sources[found.span.file].text.splitlines()[found.span.line - 1]
    )


def test_in_a_check() -> None:
    (found,) = sw.check(program, "f32[2, 6, 8]").findings
    assert WORD in found.message


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
@pytest.mark.parametrize("make", [nested_tensor, as_nested_tensor])
def test_imported_by_name_before_the_run(make: Any, layout: torch.layout) -> None:
    """Whatever replaces `torch.nested.nested_tensor`, these names are the originals."""
    linear = nn.Linear(8, 4)

    def program(x: torch.Tensor) -> torch.Tensor:
        return linear(make([x[0, :3], x[1]], layout=layout)).to_padded_tensor(0.0)

    for findings in (
        sw.trace(program, "f32[2, 6, 8]").findings,
        sw.check(program, "f32[2, 6, 8]").findings,
    ):
        (found,) = findings
        assert WORD in found.message
        assert found.span is not None


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested:UserWarning")
def test_one_of_the_user() -> None:
    """A strided one has no form without data that a layer takes.

    torch warns of the first in a process only.
    """
    pieces = nested_tensor([torch.randn(3, 8), torch.randn(5, 8)])
    for findings in (
        sw.trace(nn.Linear(8, 4), pieces).findings,
        sw.check(nn.Linear(8, 4), pieces).findings,
    ):
        (found,) = findings
        assert WORD in found.message


@pytest.mark.parametrize("layout", ["strided", "jagged"])
@pytest.mark.parametrize("call", ["nested_tensor", "as_nested_tensor"])
def test_in_a_rehearsal(call: str, layout: str, tmp_path: Path) -> None:
    text = f"""\
        import torch
        pieces = [torch.randn(3, 8), torch.randn(5, 8)]
        nested = torch.nested.{call}(pieces, layout=torch.{layout})
        print(nested.shape, torch.nn.Linear(8, 4)(nested).shape)
        """
    (found,) = rehearsed(tmp_path, text).findings
    assert WORD in found.message
    assert found.span is not None
    assert found.span.line == 3
