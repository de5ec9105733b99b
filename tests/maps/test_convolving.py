"""Convolutions, and their transposes, sum the products that their maps say."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape


def either(draw: random.Random, values: list[int]) -> Any:
    """Numbers for each dim, or the first of them for all."""
    return tuple(values) if draw.random() < 0.5 else values[0]


def convolutions(draw: random.Random) -> Iterator[Case]:
    while True:
        dims, groups = draw.randint(1, 3), draw.choice([1, 1, 2, 3])
        channels, outputs = draw.randint(1, 3), groups * draw.randint(1, 3)
        kernel = shape(draw, dims, 3)
        stride, dilation = shape(draw, dims, 3), shape(draw, dims, 3)
        padding: Any = [draw.randint(0, 2) for _ in range(dims)]
        # A size at which the window fits at least once.
        sizes = [
            max(1, d * (k - 1) + 1 - 2 * pad) + draw.randint(0, 4)
            for d, k, pad in zip(dilation, kernel, padding, strict=True)
        ]
        by_name = draw.random()
        if by_name < 0.15:
            padding, stride = "same", [1] * dims
        elif by_name < 0.3:
            padding = draw.choice(["valid", 0])
            sizes = [size + 2 * 2 for size in sizes]
        elif by_name < 0.5:
            padding, stride, dilation = max(padding), stride[:1], dilation[:1]
            sizes = [size + 4 for size in sizes]
        batch = [draw.randint(1, 2)] if draw.random() < 0.7 else []
        more = {"stride": stride, "padding": padding, "dilation": dilation}
        yield (
            f"{draw.choice(['torch', 'torch.nn.functional'])}.conv{dims}d",
            (
                floats(draw, *batch, groups * channels, *sizes),
                floats(draw, outputs, channels, *kernel),
                floats(draw, outputs) if draw.random() < 0.5 else None,
            ),
            more | {"groups": groups},
        )


def transposes(draw: random.Random) -> Iterator[Case]:
    while True:
        dims, groups = draw.randint(1, 3), draw.choice([1, 1, 2, 3])
        channels, each = groups * draw.randint(1, 3), draw.randint(1, 3)
        kernel = shape(draw, dims, 3)
        stride, dilation = draw.randint(1, 3), draw.randint(1, 3)
        padding = either(draw, [draw.randint(0, 1) for _ in range(dims)])
        more = draw.randint(0, max(stride, dilation) - 1)
        batch = [draw.randint(1, 2)] if draw.random() < 0.7 else []
        bias = floats(draw, each * groups) if draw.random() < 0.5 else None
        sizes = [size + 2 for size in shape(draw, dims, 3)]
        where = draw.choice(["torch", "torch.nn.functional"])
        yield (
            f"{where}.conv_transpose{dims}d",
            (
                floats(draw, *batch, channels, *sizes),
                floats(draw, channels, each, *kernel),
                bias,
            ),
            {
                "stride": either(draw, [stride] * dims),
                "padding": padding,
                "output_padding": more,
                "groups": groups,
                "dilation": dilation,
            },
        )


@pytest.mark.parametrize("cases", [convolutions, transposes])
@pytest.mark.filterwarnings("ignore:Using padding=.same")
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 50)


def test_a_convolution_is_written_as_in_a_textbook() -> None:
    draw = random.Random(0)
    x, weight = floats(draw, 2, 3, 8, 9), floats(draw, 4, 3, 3, 3)
    made = drawn("torch.conv2d", x, weight, floats(draw, 4), stride=2, padding=1)
    (map_,) = made.maps
    assert [str(read) for read in map_.reads] == [
        "input[n, c, 2*h + u - 1, 2*w + v - 1]",
        "weight[o, c, u, v]",
    ]
    assert str(map_.start) == "bias[o]"
    assert [str(condition) for condition in map_.conditions] == [
        "0 <= 2*h + u - 1 < 8",
        "0 <= 2*w + v - 1 < 9",
    ]
    assert map_.sentence == (
        "Each output element is the sum of 27 products: a 3 x 3 window over 3 "
        "channels, times the weights of output channel `o`, plus its bias."
    )


def test_without_padding_nothing_is_left_out() -> None:
    draw = random.Random(0)
    made = drawn("torch.conv1d", floats(draw, 3, 8), floats(draw, 4, 3, 3))
    (map_,) = made.maps
    assert [str(read) for read in map_.reads] == ["input[c, w + u]", "weight[o, c, u]"]
    assert not map_.conditions


def test_a_depthwise_convolution_reads_its_own_channel() -> None:
    draw = random.Random(0)
    x, weight = floats(draw, 1, 4, 5, 5), floats(draw, 4, 1, 1, 3)
    made = drawn("torch.nn.functional.conv2d", x, weight, groups=4)
    (map_,) = made.maps
    assert [str(read) for read in map_.reads] == [
        "input[n, o, h, w + v]",
        "weight[o, 0, 0, v]",
    ]


def test_groups_are_told_from_the_output_channel() -> None:
    draw = random.Random(0)
    made = drawn("torch.conv1d", floats(draw, 6, 8), floats(draw, 4, 3, 1), groups=2)
    assert str(made.maps[0].reads[0]) == "input[3*(o//2) + c, w]"


def test_a_transpose_reads_what_was_sent_to_a_place() -> None:
    draw = random.Random(0)
    x, weight = floats(draw, 1, 2, 4, 4), floats(draw, 2, 3, 3, 3)
    more = {"stride": 2, "padding": 1, "output_padding": 1}
    made = drawn("torch.conv_transpose2d", x, weight, **more)
    (map_,) = made.maps
    assert [str(read) for read in map_.reads] == [
        "input[n, c, (h - u + 1)//2, (w - v + 1)//2]",
        "weight[c, o, u, v]",
    ]
    assert [str(condition) for condition in map_.conditions][:2] == [
        "(h - u + 1)%2 == 0",
        "0 <= (h - u + 1)//2 < 4",
    ]


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "complex64", "int64"])
def test_every_precision_agrees(dtype: str) -> None:
    draw, kind = random.Random(0), getattr(torch, dtype)
    x, weight = floats(draw, 2, 4, 9, 9).to(kind), floats(draw, 6, 4, 3, 3).to(kind)
    assert drawn("torch.conv2d", x / 7 if kind.is_floating_point else x, weight).checked


def test_sums_too_large_for_half_precision_are_infinite() -> None:
    x = torch.full((1, 2, 3), 300.0, dtype=torch.float16)
    made = drawn("torch.conv1d", x, x)
    assert made.outputs[0].values == [[[float("inf")]]]
    assert made.checked == 1


def test_sums_that_wrap_around_are_not_drawn() -> None:
    x = torch.full((1, 2, 3), 100, dtype=torch.uint8)
    assert "wrap around" in drawn("torch.conv1d", x, x).reason


def test_without_channels_there_are_no_weights() -> None:
    made = drawn("torch.conv1d", torch.zeros(2, 0, 5), torch.zeros(4, 0, 3))
    assert made.reason == "its weights are empty"
