"""What a page shows of large calls, and that none of its lines is wider than asked."""

from __future__ import annotations

import pytest

import shapewright as sw

WIDE = [
    "F.conv2d(f32[1, 2, 5, 5], f32[3, 2, 3, 3], padding=1)",
    "F.conv_transpose2d(f32[1, 1, 3, 3], f32[1, 1, 3, 3], stride=2)",
    "torch.gather(f32[300, 600], 1, i64[300, 2])",
    "torch.index_select(f32[30, 100], 0, i64[3])",
    "nn.BatchNorm2d(2)(f32[2, 2, 3, 3])",
    "torch.einsum('ikmlj,iljk,i->ijk', f32[2,2,3,2,2], f32[2,2,2,2], f32[2])",
    "f32[4, 600] * 0.5",
]


@pytest.mark.parametrize("call", WIDE)
@pytest.mark.parametrize("width", [80, 100, 200])
def test_no_line_is_wider_than_the_page(call: str, width: int) -> None:
    lines = sw.explain(call).text(width).splitlines()
    assert all(len(line) <= width for line in lines), max(lines, key=len)


@pytest.mark.parametrize(
    "call",
    [
        "torch.gather(f32[300, 600], 1, i64[300, 2])",
        "F.conv2d(f32[8, 3, 32, 32], f32[16, 3, 5, 5])",
    ],
)
def test_of_a_large_call_a_part_is_shown(call: str) -> None:
    text = str(sw.explain(call))
    assert "too large" not in text
    assert "… rows" in text
    assert " reads input[" in text


def test_a_sum_of_too_many_steps_shows_shapes_and_says_why() -> None:
    text = str(sw.explain("torch.sum(f32[1000, 1000])"))
    assert "-> out    () float32" in text
    assert "not drawn: each element is 1,000,000 steps, too many to check here" in text


def test_a_number_of_reads_stays_whole_where_a_line_ends() -> None:
    lines = sw.explain("torch.sum(f32[3, 4])").text(80).splitlines()
    first = next(n for n, line in enumerate(lines) if " reads " in line)
    assert lines[first].endswith("input[0, 2] = 2,")
    assert lines[first + 1].endswith("input[1, 1] = 5 and 6 more")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("f32[3, 1] + f32[4]", "(3, 1) and (4,) give (3, 4)"),
        ("f32[3, 4].mean(1)", "is the mean of 4 elements along dim 1"),
        ("F.max_pool2d(f32[1, 1, 4, 4], 2)", "each element of `input` is read once"),
        ("torch.sum(f32[4])", "new storage: 1 element is written"),
        ("torch.sum(f32[4])", "checked: equal to torch at 1 element"),
        ("torch.zeros(300, 400)", "new storage: 120,000 elements are written"),
        ("torch.scatter(f32[4, 6], 1, i64[4, 2], f32[4, 2])", "goes to the place"),
    ],
)
def test_words(call: str, words: str) -> None:
    assert words in " ".join(str(sw.explain(call)).split())
