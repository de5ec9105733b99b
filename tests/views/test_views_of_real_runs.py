"""The views on traces that capture made; the hand-written ones must be like them."""

from pathlib import Path

import pytest

import traces
from shapewright.api import trace_target
from shapewright.record import Trace
from shapewright.views.notebook import format_html
from shapewright.views.terminal import format_trace

EXAMPLE = Path(__file__).parents[2] / "examples" / "lenet.py"


@pytest.fixture(scope="module")
def lenet() -> Trace:
    return trace_target(f"{EXAMPLE}:Net", "f32[B=1024, 3, 32, 32]").trace


def table(trace: Trace, by: str) -> list[str]:
    return format_trace(trace, by, 100).split("\n\n")[1].splitlines()


def test_the_module_table_is_the_one_written_by_hand(lenet: Trace) -> None:
    assert table(lenet, "module") == table(traces.lenet(), "module")
    assert lenet.totals.flops == traces.lenet().totals.flops
    assert lenet.real_bytes == traces.lenet().real_bytes


def test_lines_show_the_source_with_its_shapes(lenet: Trace) -> None:
    made = [line.partition("│")[2] for line in table(lenet, "line")[1:]]
    assert made == [
        line.partition("│")[2] for line in table(traces.lenet(), "line")[1:]
    ]


def test_it_saves_and_shows_itself(lenet: Trace) -> None:
    again = Trace.from_json(lenet.to_json())
    assert again == lenet
    assert str(again) == str(lenet)
    assert format_html(again) == format_html(lenet)
    assert "(1024, 16, 5, 5) f32" in format_html(lenet)
