"""Colours in the terminal: they add to what is said, and can be read on any ground."""

from __future__ import annotations

import re

import pytest

import shapewright as sw
from shapewright.views.drawing.grids import count_columns
from shapewright.views.formatting import CODES

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
GATHER = "torch.gather(f32[4, 6], 0, i64[2, 6])"
CALLS = [
    GATHER,
    "torch.scatter_add(f32[4, 60], 0, i64[3, 60], f32[3, 60])",
    "F.conv2d(f32[1, 2, 5, 5], f32[3, 2, 3, 3], padding=1)",
    "torch.cat([f32[2, 3], f32[3, 3]])",
    "torch.sum(f32[2, 3])",
    "nn.Linear(400, 120)(f32[8, 256])",
    "torch.linalg.inv(f32[3, 3])",
    "torch.gather(f32[0, 6], 0, i64[0, 6])",
    "torch.matmul(f32[B=3, T=4], f32[T, 2])",
    "F.scaled_dot_product_attention(f32[4, 3], f32[4, 3], f32[4, 3], is_causal=True)",
    "f32[4, 6]",
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("ascii", [False, True])
def test_without_its_colours_it_is_the_plain_page(
    call: str, width: int, ascii: bool
) -> None:
    drawing = sw.explain(call)
    for inside in (False, True):
        coloured = drawing.text(width, ascii, inside, colour=True)
        assert "\x1b[" in coloured
        assert COLOUR.sub("", coloured) == drawing.text(width, ascii, inside)
        for line in coloured.splitlines():
            assert count_columns(line) == len(COLOUR.sub("", line))
            assert line.count("\x1b[0m") * 2 == line.count("\x1b[")


def test_each_name_has_the_colour_of_what_its_tensor_does() -> None:
    lines = sw.explain(GATHER).text(colour=True).splitlines()
    read, where, out = (f"\x1b[{CODES[kind]}m" for kind in ("read", "where", "out"))
    end = "\x1b[0m"
    assert f"   {read}input{end}  (4, 6) float32" in lines
    assert (
        f"  {out}out{end}[i, j] = {read}input{end}[{where}index{end}[i, j], j]" in lines
    )
    marked = [line for line in lines if f"\x1b[{CODES['where-cell']}m[3]{end}" in line]
    assert len(marked) == 1


def test_what_does_not_line_up_is_red() -> None:
    lines = sw.explain("f32[2, 3] + f32[4]").text(colour=True).splitlines()
    error = f"\x1b[{CODES['error']}m"
    assert sum(f"{error}^" in line for line in lines) == 2
    assert lines[-1].startswith(f"{error}torch: ")
