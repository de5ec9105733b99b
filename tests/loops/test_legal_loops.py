"""Nothing is said of loops that are meant as loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import shapewright as sw
from tests.loops import legal

ROWS = ("f32[20, 5]",)
OVER_TIME = ("f32[20, 3, 5]", "f32[5, 5]", "f32[5, 5]")

LEGAL: list[tuple[Callable[..., Any], tuple[str, ...]]] = [
    (legal.recurrent, OVER_TIME),
    (legal.recurrent_with_all_states, OVER_TIME),
    (legal.from_the_row_before, ROWS),
    (legal.moving_average, ROWS),
    (legal.in_place_from_the_row_before, ROWS),
    (legal.two_rows_before, ROWS),
    (legal.state_and_states, (*ROWS, "f32[5]")),
    (legal.positions_from_speeds, ROWS),
    (legal.a_view_of_what_is_written, ROWS),
    (legal.Layers(), ("f32[2, 5]",)),
    (legal.Heads(), ("f32[2, 12, 5]",)),
    (legal.a_cell_over_time, ("f32[3, 20, 5]",)),
    (legal.one_token_after_the_other, ("i64[3, 20]", "f32[50, 50]")),
    (legal.batches, (*ROWS, "i64[20]")),
    (legal.chunks, ("f32[100, 5]",)),
    (legal.dropped, ROWS),
    (legal.noise_of_its_own, ROWS),
    (legal.three_channels, ("f32[3, 5]", "f32[3, 5]")),
    (legal.a_function_of_their_own, ROWS),
    (legal.pieces_of_their_own_length, ("f32[20, 9, 5]", "i64[20]")),
    (legal.ended_early, ROWS),
    (legal.the_last_row_is_used_after_it, ROWS),
    (legal.tensors_in_a_list, ROWS),
    (legal.the_same_place_each_time, ROWS),
    (legal.said_while_it_runs, ROWS),
    (legal.rows_that_are_used_before_they_are_stacked, ROWS),
    (legal.asked_in_between, ROWS),
]


@pytest.mark.parametrize(
    ("program", "specs"),
    LEGAL,
    ids=[getattr(each, "__name__", type(each).__name__) for each, _ in LEGAL],
)
def test_nothing_is_said(program: Callable[..., Any], specs: tuple[str, ...]) -> None:
    trace = sw.trace(program, *specs)
    assert trace.complete
    assert trace.findings == ()
