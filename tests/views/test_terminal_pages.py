"""Whole pages, kept as files in `pages/` so that a person can look at them.

After a wanted change: ``python tests/views/test_terminal_pages.py``.
"""

from pathlib import Path

import pytest

import traces
from shapewright.views.terminal import format_trace

PAGES = Path(__file__).parent / "pages"
SHOWN = [
    (name, by, width)
    for name, by in [
        ("lenet", "module"), ("lenet", "op"), ("lenet", "line"),
        ("gpt", "module"), ("gpt", "line"),
        ("nested", "module"), ("twice", "module"), ("twice", "line"),
        ("failed", "module"), ("failed", "op"), ("failed", "line"),
    ]
    for width in (80, 100, 200)
]  # fmt: skip


def file(name: str, by: str, width: int) -> Path:
    return PAGES / f"{name}-{by}-{width}.txt"


@pytest.mark.parametrize(("name", "by", "width"), SHOWN)
def test_page_is_as_it_was_looked_at(name: str, by: str, width: int) -> None:
    expected = file(name, by, width).read_text("utf-8")
    assert format_trace(traces.ALL[name](), by, width) == expected


if __name__ == "__main__":
    PAGES.mkdir(exist_ok=True)
    for shown in SHOWN:
        page = format_trace(traces.ALL[shown[0]](), shown[1], shown[2])
        file(*shown).write_text(page, "utf-8")
