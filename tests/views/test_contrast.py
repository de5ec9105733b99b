"""Colours of the terminal: those of the sixteen that can be read on most themes."""

from __future__ import annotations

import pytest

from shapewright.views.formatting import CODES
from tests.house import pages
from views.contrast import (
    ENOUGH,
    THEMES,
    compute_contrast,
    find_number,
    format_table,
    list_contrasts,
)


def count_readable(number: int) -> tuple[int, float]:
    """On how many themes a colour has enough contrast, and its worst contrast."""
    values = [list_contrasts(theme)[number] for theme in THEMES]
    return sum(round(value, 1) >= ENOUGH for value in values), min(values)


def test_the_formula_is_that_of_wcag() -> None:
    assert compute_contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert compute_contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)
    assert compute_contrast("#C50F1F", "#C50F1F") == 1


@pytest.mark.parametrize(
    "style", [style for style, code in CODES.items() if find_number(code) is not None]
)
def test_no_other_shade_of_a_colour_can_be_read_on_more_themes(style: str) -> None:
    number = find_number(CODES[style])
    assert number is not None
    other = (number + 8) % 16
    assert count_readable(number) > count_readable(other)


def test_the_page_has_the_numbers() -> None:
    assert format_table() in pages.read("docs/trace.md")
