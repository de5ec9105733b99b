"""Interpolation copies or weighs the elements that its maps say."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape

F = "torch.nn.functional."
LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def asked(draw: random.Random, dims: int) -> dict[str, Any]:
    """A size, or a factor by which sizes of 2 and more give at least 1."""
    way = draw.random()
    if way < 0.3:
        return {"size": shape(draw, dims, 12)}
    if way < 0.4:
        return {"size": draw.randint(1, 12)}
    factors = [draw.choice([0.5, 0.7, 1, 1.5, 2, 2.3, 3]) for _ in range(dims)]
    made: dict[str, Any] = {"scale_factor": factors if way < 0.8 else factors[0]}
    return made | {"recompute_scale_factor": draw.choice([None, True])}


def copies(draw: random.Random) -> Iterator[Case]:
    while True:
        dims = draw.randint(1, 3)
        x = floats(draw, *shape(draw, 2, 2), *shape(draw, dims, 9, least=2))
        mode = draw.choice(["nearest", "nearest-exact", "area"])
        if draw.random() < 0.1:
            yield f"{F}upsample_nearest", (x,), {"scale_factor": draw.randint(1, 3)}
        yield f"{F}interpolate", (x,), {"mode": mode, **asked(draw, dims)}


def weights(draw: random.Random) -> Iterator[Case]:
    while True:
        dims = draw.randint(1, 3)
        x = floats(draw, *shape(draw, 2, 2), *shape(draw, dims, 7, least=2))
        mode = LINEAR[dims] if dims != 2 else draw.choice(["bilinear", "bicubic"])
        more: dict[str, Any] = {"mode": mode, **asked(draw, dims)}
        corners = draw.choice([None, False, True])
        if dims == 2 and draw.random() < 0.3:
            # A width of 1 is not drawn.
            more["antialias"], more["size"] = True, (draw.randint(1, 9), 2)
            more.pop("scale_factor", None)
            more.pop("recompute_scale_factor", None)
        yield f"{F}interpolate", (x,), {**more, "align_corners": corners}


@pytest.mark.parametrize("cases", [copies, weights])
@pytest.mark.filterwarnings("ignore:`nn.functional.upsample")
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


@pytest.mark.parametrize(
    ("more", "index"),
    [
        ({"scale_factor": 2}, "w//2"),
        ({"scale_factor": 0.5}, "2*w"),
        ({"scale_factor": 1.5}, "2*w//3"),
        ({"size": 4}, "3*w//2"),
        ({"scale_factor": 0.5, "mode": "nearest-exact"}, "2*w + 1"),
    ],
)
def test_copies_are_written_as_one_index(more, index) -> None:  # type: ignore[no-untyped-def]
    (map_,) = drawn(f"{F}interpolate", floats(random.Random(0), 1, 1, 6), **more).maps
    assert str(map_.reads[0]) == f"input[n, c, {index}]"


def test_weights_are_tables_of_the_map() -> None:
    x = floats(random.Random(0), 1, 1, 4, 4)
    (map_,) = drawn(f"{F}interpolate", x, scale_factor=2, mode="bilinear").maps
    assert [str(read) for read in map_.reads] == [
        "input[n, c, source_h[h, u], source_w[w, v]]",
        "weight_h[h, u]",
        "weight_w[w, v]",
    ]
    tables = {table.name: table.values for table in map_.tables}
    assert tables["source_h"][:3] == ((0, 1), (0, 1), (0, 1))
    assert tables["weight_h"][:3] == ((1.0, 0.0), (0.75, 0.25), (0.25, 0.75))


def test_long_rows_are_read_where_float32_rounds_to() -> None:
    x = torch.arange(1000.0).reshape(1, 1, 1000)
    for size in (7, 49, 333, 1001, 1999, 4567):
        assert drawn(f"{F}interpolate", x, size=size).checked


def test_smoothing_down_to_a_width_of_one_is_not_drawn() -> None:
    x = floats(random.Random(0), 1, 1, 4, 4)
    more = {"mode": "bilinear", "antialias": True}
    assert "width of 1" in drawn(f"{F}interpolate", x, (2, 1), **more).reason
    assert drawn(f"{F}interpolate", x, (1, 2), **more).checked


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("affine_grid", (torch.zeros(1, 2, 3), [1, 1, 2, 2])),
        ("grid_sample", (torch.zeros(1, 1, 2, 2), torch.zeros(1, 2, 2, 2))),
    ],
)
def test_sampling_at_a_grid_is_not_drawn(name, args) -> None:  # type: ignore[no-untyped-def]
    made = drawn(F + name, *args, align_corners=False)
    assert not made.maps
    assert made.reason
