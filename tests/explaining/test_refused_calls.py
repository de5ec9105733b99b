"""A call that torch refuses: what does not fit is marked, in shapes and in pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

import shapewright as sw
from shapewright.index_maps.drawn_calls import Drawn
from shapewright.index_maps.json_codec import decode, encode

FAMILIES = [
    ("f32[2, 3] @ f32[4, 5]", {"input": {1}, "other": {0}}),
    ("torch.bmm(f32[2, 3, 4], f32[3, 4, 5])", {"input": {0}, "mat2": {0}}),
    ("nn.Linear(400, 120)(f32[8, 256])", {"input": {1}, "weight": {1}}),
    ("f32[4, 3] + f32[2, 4]", {"input": {0, 1}, "other": {0, 1}}),
    ("torch.where(bool[2, 3], f32[2, 4], f32[1])", {"condition": {1}, "input": {1}}),
    (
        "F.conv2d(f32[1, 3, 8, 8], f32[4, 2, 3, 3])",
        {"input": {1}, "weight": {1}},
    ),
    ("F.conv2d(f32[1, 3, 2, 5], f32[4, 3, 3, 3])", {"input": {2}}),
    ("F.max_pool2d(f32[1, 3, 2, 5], 3)", {"input": {2}}),
    (
        "torch.cat([f32[2, 3], f32[2, 4], f32[2, 3]])",
        {"tensors.0": {1}, "tensors.1": {1}},
    ),
    ("torch.gather(f32[4, 6], 0, i64[2, 7])", {"input": {1}, "index": {1}}),
    ("F.cross_entropy(f32[4, 3], i64[5])", {"input": {0}, "target": {0}}),
    ("F.batch_norm(f32[2, 3, 4, 4], f32[5], f32[5])", {"input": {1}}),
    ("F.layer_norm(f32[2, 3], [4])", {"input": {1}}),
    ("torch.einsum('ij,jk->ik', f32[2, 3], f32[4, 5])", {}),
]


@pytest.mark.parametrize(("call", "dims"), FAMILIES)
def test_the_dims_that_do_not_fit_are_marked(
    call: str, dims: dict[str, set[int]]
) -> None:
    drawn = sw.explain(call).drawn
    assert isinstance(drawn, Drawn)
    assert drawn.error
    marked: dict[str, set[int]] = {}
    for unfit in drawn.unfit:
        if unfit.dim is not None:
            marked.setdefault(unfit.name, set()).add(unfit.dim)
    for name, places in dims.items():
        assert marked[name] == places, name
    for side in drawn.inputs:
        for dim in marked.get(side.name, ()):
            assert f"dim {dim} is {side.shape[dim]}" in sw.explain(call).text()


def test_a_product_shows_which_rows_meet_no_column() -> None:
    text = sw.explain("f32[2, 3] @ f32[4, 5]").text()
    picture = [
        "input            other",
        "┌────────────┐   ┌────────────────────┐",
        "│ 0  1  2  · │   │  0   1   2   3   4 │",
        "│ 3  4  5  · │   │  5   6   7   8   9 │",
        "└────────────┘   │ 10  11  12  13  14 │",
        "dim 1 is 3       │[15][16][17][18][19]│",
        "                 └────────────────────┘",
        "                 dim 0 is 4",
        "",
        "in brackets: what has no counterpart; `·`: what is missing",
    ]
    assert "\n".join(picture) in text


def test_a_dim_before_the_last_two_is_drawn_as_rows() -> None:
    text = sw.explain("F.conv2d(f32[1, 3, 8, 8], f32[4, 2, 3, 3])").text()
    assert "input[0, :, 0, :]" in text
    assert re.search(r"^│\[128\]", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("call", "last"),
    [
        ("f32[2, 3, 4].view(5, 5)", "20  21  22  23   ·"),
        ("torch.reshape(f32[24], (5, -1))", "20  21  22  23   ·"),
        ("f32[24].view_as(f32[5, 5])", "20  21  22  23   ·"),
        ("f32[2, 3, 4].view(4, 5)", "[20][21][22][23]"),
    ],
)
def test_a_shape_is_filled_as_far_as_the_elements_go(call: str, last: str) -> None:
    assert last in sw.explain(call).text()


def test_what_is_wrong_but_no_size_is_marked_too() -> None:
    lines = sw.explain("torch.gather(f32[4, 6], 0, f32[2, 6])").text().splitlines()
    assert "                 ^^^^^^^" in lines
    assert (
        "           ^  ^  ^" in sw.explain("torch.mm(f32[2, 3, 4], f32[4, 5])").text()
    )
    text = sw.explain("torch.gather(f32[4], 0, i64[3]=[0, 4, 1])").text()
    assert "│ 0 [4] 1 │" in text
    assert "0 to 3 fit" in text


def test_large_tensors_are_shown_where_they_stop_to_fit() -> None:
    text = sw.explain("F.linear(f32[8, 256], f32[120, 400])").text(80)
    assert "… columns 254 to 255 of 256" in text
    assert "[256]" in text
    assert max(map(len, text.splitlines())) <= 80
    huge = sw.explain("f32[100000, 1000] @ f32[2000, 100000]")
    assert "needs as many columns" in huge.text()
    assert "^^^^" in huge.text()


def test_the_svg_has_the_same_marks(tmp_path: Path) -> None:
    drawing = sw.explain("f32[2, 3] @ f32[4, 5]")
    svg = drawing.svg()
    assert svg.count('class="sw-over"') == 5 + 1  # a row, and the legend
    assert svg.count('class="sw-missing"') == 2 + 1
    for part in ("has no counterpart", "is missing", "dim 0 is 4"):
        assert part in svg


def test_what_does_not_fit_survives_json() -> None:
    drawn = sw.explain("torch.cat([f32[2, 3], f32[2, 4]])").drawn
    assert isinstance(drawn, Drawn)
    again = decode(encode(drawn))
    assert isinstance(again, Drawn)
    assert again.unfit == drawn.unfit


def test_the_users_own_tensors_are_drawn() -> None:
    text = sw.explain(torch.add, torch.full((2, 3), 7.0), torch.ones(2, 4)).text()
    assert "│ 1  1  1 [1]│" in text
    blank = sw.explain(torch.add, torch.empty(2, 3, device="meta"), torch.ones(2, 4))
    assert "cannot line up" in blank.text()
