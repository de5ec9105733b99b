"""Every picture of docs/ is drawn, from the call that stands in the page."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from tests.house import pages

DRAWN = [
    (page, block)
    for page in pages.PAGES
    for block in pages.blocks(page)
    if block.language.startswith("{drawing}")
]


@pytest.fixture(scope="module")
def drawings() -> ModuleType:
    """The module that Sphinx loads for the directive."""
    file = pages.ROOT / "docs" / "drawings.py"
    found = importlib.util.spec_from_file_location("drawings", file)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("page", "block"), DRAWN, ids=[f"{page}:{block.line}" for page, block in DRAWN]
)
def test_a_picture_is_drawn(
    page: str, block: pages.Block, drawings: ModuleType
) -> None:
    call = block.language.removeprefix("{drawing}").strip()
    drawing = drawings.made(call, block.text)
    text = str(drawing)
    assert "not drawn" not in text
    assert "too large" not in text
    assert drawings.html(drawing).startswith("<div><!-- shapewright")
    ElementTree.fromstring(drawing.svg(drawings.WIDTH))


def test_every_page_to_learn_from_is_on_its_list() -> None:
    folder = pages.ROOT / "docs" / "learn"
    index = (folder / "index.md").read_text("utf-8")
    for page in folder.glob("*.md"):
        if page.stem != "index":
            assert f"]({page.name})" in index
            assert f"\n{page.stem}\n" in index


def test_the_pages_have_pictures() -> None:
    learn = {Path(page).stem for page, _ in DRAWN if page.startswith("docs/learn/")}
    assert len(learn) >= 9
