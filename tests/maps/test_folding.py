"""Unfold, fold and the shuffles move the elements that their maps say."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape
from shapewright.index_maps.evaluation import count_meetings, count_reads

F = "torch.nn.functional."


def blocks(draw: random.Random) -> tuple[list[int], dict[str, object]]:
    """An image's size, and the arguments of its blocks."""
    kernel, dilation, stride = shape(draw, 2, 3), shape(draw, 2, 2), shape(draw, 2, 3)
    padding = [draw.randint(0, 2), draw.randint(0, 2)]
    sizes = [
        max(1, d * (k - 1) + 1 - 2 * pad) + draw.randint(0, 4)
        for d, k, pad in zip(dilation, kernel, padding, strict=True)
    ]
    named = {"dilation": dilation, "padding": padding, "stride": stride}
    some = {key: value for key, value in named.items() if draw.random() < 0.8}
    reach = [
        size + 2 * pad - d * (k - 1)
        for size, k, pad, d in zip(
            sizes,
            kernel,
            some.get("padding", [0, 0]),
            some.get("dilation", [1, 1]),
            strict=True,
        )
    ]
    sizes = [size + max(0, 1 - least) for size, least in zip(sizes, reach, strict=True)]
    return sizes, {"kernel_size": kernel, **some}


def unfolds(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes, more = blocks(draw)
        front = shape(draw, draw.randint(1, 2), 3)
        yield f"{F}unfold", (floats(draw, *front, *sizes),), more


def folds(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes, more = blocks(draw)
        front = shape(draw, draw.randint(1, 2), 3)
        columns = torch.nn.functional.unfold(floats(draw, *front, *sizes), **more)
        yield f"{F}fold", (columns, sizes), more


def shuffles(draw: random.Random) -> Iterator[Case]:
    while True:
        factor = draw.randint(1, 3)
        front = shape(draw, draw.randint(0, 3), 2)
        channels, high, wide = shape(draw, 3, 3)
        x = floats(draw, *front, channels * factor * factor, high, wide)
        yield f"{F}pixel_shuffle", (x, factor), {}
        x = floats(draw, *front, channels, high * factor, wide * factor)
        yield "torch.pixel_unshuffle", (x, factor), {}
        x = floats(draw, high, channels * factor, *shape(draw, draw.randint(1, 3), 3))
        yield f"{F}channel_shuffle", (x, factor), {}


@pytest.mark.parametrize("cases", [unfolds, folds, shuffles])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 50)


def test_columns_are_written_by_row_and_place() -> None:
    x = floats(random.Random(0), 1, 1, 6, 7)
    (map_,) = drawn(f"{F}unfold", x, (2, 3)).maps
    assert map_.shape == (1, 6, 25)
    assert str(map_.reads[0]) == "input[n, 0, p//5 + r//3, p%5 + r%3]"
    assert map_.sentence == (
        "Column `p` holds block `p` of 5 x 5: each 2 x 3 block of 1 channel becomes "
        "6 numbers."
    )


def test_shuffled_pixels_are_written_as_blocks() -> None:
    x = floats(random.Random(0), 1, 8, 3, 3)
    (map_,) = drawn("torch.pixel_shuffle", x, 2).maps
    assert str(map_.reads[0]) == "input[n, 4*c + 2*(h%2) + w%2, h//2, w//2]"


def test_how_often_a_pixel_is_touched_is_what_fold_gives_for_ones() -> None:
    x = torch.ones(1, 1, 5, 5)
    columns = torch.nn.functional.unfold(x, 3)
    made = drawn(f"{F}fold", columns, (5, 5), 3)
    counts = count_meetings(made.maps[0])
    assert [counts[0, 0, 1, w] for w in range(5)] == [2, 4, 6, 4, 2]
    assert counts[0, 0, 2, 2] == 9
    back = torch.nn.functional.fold(columns, (5, 5), 3)
    assert all(back[index].item() == count for index, count in counts.items())
    read = count_reads(drawn(f"{F}unfold", x, 3).maps[0], "input")
    assert read == counts


def test_a_pixel_that_no_block_reaches_is_touched_zero_times() -> None:
    x = torch.ones(1, 1, 5, 5)
    made = drawn(f"{F}unfold", x, 2, stride=3)
    assert (0, 0, 2, 2) not in count_reads(made.maps[0], "input")
    columns = torch.nn.functional.unfold(x, 2, stride=3)
    folded = drawn(f"{F}fold", columns, (5, 5), 2, stride=3)
    assert count_meetings(folded.maps[0])[0, 0, 2, 2] == 0
