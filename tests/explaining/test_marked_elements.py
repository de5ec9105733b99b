"""Which elements a picture marks: what moves, what a target picks, a window whole."""

from __future__ import annotations

import re

import pytest

import shapewright as sw
from shapewright.index_maps.drawn_calls import Drawn
from shapewright.views.drawing.followed_elements import Followed, follow
from shapewright.views.drawing.grids import get_element

SWAPS = [
    "f32[4, 4].t()",
    "f32[4, 4].T",
    "f32[2, 3].transpose(0, 1)",
    "f32[2, 3, 4].transpose(0, 2)",
    "f32[2, 3, 4, 5].transpose(1, 2)",
    "f32[5, 4, 4].mT",
    "f32[2, 3, 4].permute(0, 2, 1)",
    "torch.einsum('ij->ji', f32[3, 3])",
    "torch.swapaxes(f32[2, 3, 4], 0, 1)",
]


def followed(call: str) -> Followed:
    drawn = sw.explain(call).drawn
    assert isinstance(drawn, Drawn)
    path = follow(drawn)
    assert path is not None
    return path


@pytest.mark.parametrize("call", SWAPS)
def test_a_transposed_pair_is_marked_on_both_sides(call: str) -> None:
    path = followed(call)
    (before, reads), (after, writes) = path.marks[0], path.marks[-1]
    assert len(reads) == len(writes) == 2
    assert reads == writes[::-1]  # each reads the index of the other
    for out, read in zip(writes, reads, strict=True):
        assert get_element(after.values, out) == get_element(before.values, read)
    text = sw.explain(call).text()
    for index in writes:
        assert f"out[{', '.join(map(str, index))}]" in text
    assert "not shown" not in text
    assert len(re.findall(r"\[\d+\][ \]\[│]|\[\d+\]│", text)) >= 4
    assert sw.explain(call).svg().count('class="sw-arrow"') == 2


@pytest.mark.parametrize(
    "call", ["f32[2, 3, 4].permute(2, 0, 1)", "f32[4, 4, 4].movedim(0, 2)"]
)
def test_a_permuted_element_is_one_that_moves(call: str) -> None:
    path = followed(call)
    ((_, read),) = path.found
    assert read != path.index
    assert path.partner is None


@pytest.mark.parametrize(
    "call",
    ["f32[1, 4].t()", "f32[2, 1].transpose(0, 1)", "f32[1, 1].t()", "f32[0, 3].t()"],
)
def test_where_nothing_changes_places_the_usual_element_is_marked(call: str) -> None:
    assert "input" in sw.explain(call).text()


def test_a_cross_entropy_marks_the_class_that_each_target_picks() -> None:
    call = "F.cross_entropy(f32[4, 3], i64[4]=[0, 2, 1, 2])"
    path = followed(call)
    marks = {side.name: places for side, places in path.marks}
    assert sorted(marks["logs"]) == [(0, 0), (1, 2), (2, 1), (3, 2)]
    assert sorted(marks["target"]) == [(0,), (1,), (2,), (3,)]
    assert "│ [-2.41]  -1.41  -0.408 │" in sw.explain(call).text()
    ignored = followed("F.cross_entropy(f32[3, 3], i64[3]=[0, -100, 1])")
    marks = {side.name: places for side, places in ignored.marks}
    assert sorted(marks["logs"]) == [(0, 0), (2, 1)]


@pytest.mark.parametrize(
    ("call", "high"),
    [
        ("F.conv2d(f32[1, 1, 12, 60], f32[1, 1, 11, 9])", 11),
        ("F.max_pool2d(f32[1, 1, 40, 60], 12)", 12),
        ("F.avg_pool2d(f32[1, 1, 40, 60], 16)", 16),
    ],
)
def test_a_window_is_drawn_whole(call: str, high: int) -> None:
    text = sw.explain(call).text(160)
    assert "more marked" not in text
    first = text[text.index("input[0, 0, :, :]") :]
    rows = first.splitlines()[2 : 2 + high]
    assert all(row.count("[") == rows[0].count("[") >= 9 for row in rows)


def test_a_window_larger_than_a_page_says_what_is_not_shown() -> None:
    text = sw.explain("F.avg_pool2d(f32[1, 1, 60, 60], 30)").text(80)
    assert re.search(r"… \d+ more marked, not shown", text)
