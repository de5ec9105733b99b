"""Jagged nested tensors are refused with a word, where the program makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

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


@pytest.mark.parametrize("call", ["nested_tensor", "as_nested_tensor"])
def test_in_a_rehearsal(call: str, tmp_path: Path) -> None:
    text = f"""\
        import torch
        pieces = [torch.randn(3, 8), torch.randn(5, 8)]
        nested = torch.nested.{call}(pieces, layout=torch.jagged)
        print(nested.shape, torch.nn.Linear(8, 4)(nested).shape)
        """
    (found,) = rehearsed(tmp_path, text).findings
    assert WORD in found.message
    assert found.span is not None
    assert found.span.line == 3
