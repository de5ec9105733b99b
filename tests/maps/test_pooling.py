"""Pooling takes the largest or the mean of the elements that its maps say."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape

F = "torch.nn.functional."


def windows(draw: random.Random, dims: int, dilated: bool) -> dict[str, Any]:
    """Arguments of a pooling: windows of 1 to 4, half of it padded at most."""
    kernel = shape(draw, dims, 4)
    made: dict[str, Any] = {
        "kernel_size": kernel,
        "stride": draw.choice([None, shape(draw, dims, 3), draw.randint(1, 3)]),
        "padding": [draw.randint(0, size // 2) for size in kernel],
        "ceil_mode": draw.random() < 0.5,
    }
    if draw.random() < 0.3:
        made |= {"kernel_size": max(kernel), "padding": 0}
    if dilated:
        made["dilation"] = draw.choice([1, draw.randint(1, 3)])
    return made


def pooled(draw: random.Random, dims: int, window: dict[str, Any]) -> torch.Tensor:
    """An input in which the window fits at least once."""
    kernel = window["kernel_size"]
    widest = max([kernel] if isinstance(kernel, int) else kernel)
    least = window.get("dilation", 1) * (widest - 1) + 1
    return channels(draw, *(least + draw.randint(0, 4) for _ in range(dims)))


def channels(draw: random.Random, *sizes: int) -> torch.Tensor:
    """An input with channels, and a batch dim or none."""
    front = shape(draw, draw.randint(1, 2), 3)
    return floats(draw, *front, *sizes)


def largest(draw: random.Random) -> Iterator[Case]:
    while True:
        dims = draw.randint(1, 3)
        window = windows(draw, dims, dilated=True)
        if draw.random() < 0.2:
            yield f"torch.max_pool{dims}d", (pooled(draw, dims, window),), window
        window["return_indices"] = draw.random() < 0.5
        yield f"{F}max_pool{dims}d", (pooled(draw, dims, window),), window


def means(draw: random.Random) -> Iterator[Case]:
    while True:
        dims = draw.randint(1, 3)
        window = windows(draw, dims, dilated=False)
        window["count_include_pad"] = draw.random() < 0.5
        if dims > 1:
            window["divisor_override"] = draw.choice([None, None, draw.randint(1, 5)])
        x = pooled(draw, dims, window)
        if draw.random() < 0.2 and dims < 3:
            x = x.long()
        yield f"{F}avg_pool{dims}d", (x,), window


def adaptive(draw: random.Random) -> Iterator[Case]:
    while True:
        dims = draw.randint(1, 3)
        x = channels(draw, *shape(draw, dims, 9))
        size: Any = shape(draw, dims, 9)
        if dims > 1 and draw.random() < 0.3:
            size[draw.randrange(dims)] = None
        if draw.random() < 0.3:
            size = draw.randint(1, 9)
        if draw.random() < 0.5:
            yield f"{F}adaptive_avg_pool{dims}d", (x, size), {}
        else:
            indices = draw.random() < 0.5
            yield f"{F}adaptive_max_pool{dims}d", (x, size), {"return_indices": indices}


def put_back(draw: random.Random) -> Iterator[Case]:
    while True:
        dims = draw.randint(1, 3)
        kernel = draw.randint(1, 2)
        sizes = [size * kernel for size in shape(draw, dims, 3)]
        more = {}
        if draw.random() < 0.5:
            sizes = [size + kernel - 1 for size in sizes]
            more = {"output_size": sizes}
        x = channels(draw, *sizes)
        pool = getattr(torch.nn.functional, f"max_pool{dims}d")
        values, indices = pool(x, kernel, return_indices=True)
        yield f"{F}max_unpool{dims}d", (values, indices, kernel), more


@pytest.mark.parametrize("cases", [largest, means, adaptive, put_back])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 50)


def test_max_pool_is_written_as_a_window() -> None:
    x = floats(random.Random(0), 2, 3, 8, 8)
    made = drawn(f"{F}max_pool2d", x, 3, stride=2, padding=1, return_indices=True)
    value, where = made.maps
    assert str(value.reads[0]) == "input[n, c, 2*h + u - 1, 2*w + v - 1]"
    assert value.sentence == "The largest element of each 3 x 3 window."
    assert str(where.gives) == "16*h + 8*u + 2*w + v - 9"


def test_unknown_values_win_a_window_as_in_torch() -> None:
    x = torch.tensor([[1.0, float("nan"), 5.0, float("nan"), 7.0, 2.0]])
    made = drawn(f"{F}max_pool1d", x, 6, return_indices=True)
    assert made.outputs[1].values == [[3]]
    assert made.checked == 2


def test_a_dilated_window_that_steps_over_the_input() -> None:
    x = floats(random.Random(0), 1, 2)
    made = drawn(f"{F}max_pool1d", x, 2, padding=1, dilation=3)
    assert made.outputs[0].values == [[float("-inf")]]
    assert made.checked == 1


@pytest.mark.parametrize(
    ("more", "combine", "scale", "says"),
    [
        ({}, "sum", 9, "The mean of each 3 x 3 window."),
        ({"padding": 1}, "sum", 9, "with the padding as zeros."),
        ({"padding": 1, "count_include_pad": False}, "mean", None, "without"),
        ({"ceil_mode": True, "padding": 1}, "mean", None, "cut at its edge."),
        ({"divisor_override": 5}, "sum", 5, "divided by 5."),
    ],
)
def test_what_a_mean_divides_by(  # type: ignore[no-untyped-def]
    more, combine, scale, says
) -> None:
    x = floats(random.Random(0), 2, 3, 8, 8)
    (map_,) = drawn(f"{F}avg_pool2d", x, 3, stride=2, **more).maps
    assert (map_.combine, map_.scale) == (combine, scale)
    assert says in map_.sentence


def test_adaptive_windows_that_divide_evenly_are_plain() -> None:
    x = floats(random.Random(0), 2, 3, 8, 6)
    (map_,) = drawn(f"{F}adaptive_avg_pool2d", x, (4, 1)).maps
    assert str(map_.reads[0]) == "input[n, c, 2*h + u, v]"
    assert not map_.conditions
    assert map_.scale == 12


def test_adaptive_windows_of_several_widths_say_where_they_end() -> None:
    x = floats(random.Random(0), 2, 3, 5)
    (map_,) = drawn(f"{F}adaptive_max_pool1d", x, 3).maps
    assert str(map_.reads[0]) == "input[n, c, 5*w//3 + u]"
    assert str(map_.conditions[0]) == "0 <= 5*w//3 + u < (5*w + 7)//3"


@pytest.mark.parametrize(
    ("name", "args"),
    [("lp_pool2d", (2, 2)), ("fractional_max_pool2d", (2, 3))],
)
def test_what_is_not_drawn_says_why(name, args) -> None:  # type: ignore[no-untyped-def]
    made = drawn(F + name, floats(random.Random(0), 1, 6, 6), *args)
    assert not made.maps
    assert made.reason.startswith("it")


def test_no_parts_at_all() -> None:
    made = drawn(f"{F}adaptive_avg_pool2d", torch.zeros(2, 3, 5, 5), 0)
    assert made.maps[0].shape == (2, 3, 0, 0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_means_in_every_precision_agree(dtype: str) -> None:
    x = floats(random.Random(0), 1, 2, 9, 9).to(getattr(torch, dtype))
    assert drawn(f"{F}avg_pool2d", x, 3, 2, 1, True).checked
