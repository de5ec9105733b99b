"""Published figures of GPU memory: those whose programs need no more than torch."""

from __future__ import annotations

import pytest

from bench.published_memory import (
    BARS,
    FOLDER,
    PublishedFigure,
    compare_figure,
    read_figures,
    rehearse_program,
)

FIGURES = read_figures()

PLAIN = ("attention.py", "large_vocabulary.py", "linear_layers.py")
"""Programs that need torch alone and little time."""


def get_name(figure: PublishedFigure) -> str:
    return figure.name


def test_figures_have_a_source_and_a_first_prediction() -> None:
    assert len(FIGURES) >= 12
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)
    for figure in FIGURES:
        assert figure.source.startswith("https://"), figure.name
        assert figure.date, figure.name
        assert figure.first is not None, figure.name
        assert figure.measures in BARS, figure.name
        assert (FOLDER / figure.program[0]).exists(), figure.name


def test_a_large_first_error_has_a_cause() -> None:
    for figure in FIGURES:
        assert figure.first is not None
        if abs(figure.first) / 100 > BARS[figure.measures]:
            assert figure.cause, figure.name


@pytest.mark.long
@pytest.mark.parametrize(
    "figure", [f for f in FIGURES if f.program[0] in PLAIN], ids=get_name
)
def test_a_figure_is_predicted(figure: PublishedFigure) -> None:
    row = compare_figure(figure, rehearse_program(figure))
    assert row["complete"]
    assert abs(row["error"]) <= BARS[figure.measures]
    assert figure.now is not None
    assert abs(row["error"] * 100 - figure.now) < 0.01, "the table is of today"
