"""Every snippet of the README and of docs/ runs and prints what the page says.

Python blocks of a page share one namespace; a `text` block right after one is what it
prints. Each `console` block is commands after `$ ` with their output. A `sh` block has
commands that set something up: they are looked at, not run.

`REWRITE=1 pytest tests/house/test_snippets.py` puts the true outputs into the pages;
read the difference before you commit it.
"""

from __future__ import annotations

import os
import re
import shutil
from difflib import unified_diff
from pathlib import Path

import pytest

from tests.house import pages

RUN = {"python", "console", "text", "sh"}
SHOWN_ONLY = {"json", "toml", "diff", ""}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with the examples in it, as the reader's own would be."""
    shutil.copytree(pages.ROOT / "examples", tmp_path / "examples")
    return tmp_path


@pytest.mark.parametrize("page", pages.PAGES)
def test_snippets_print_what_the_page_says(page: str, desk: Path) -> None:
    if os.environ.get("REWRITE"):
        pages.rewrite(page, desk)
    for claimed, true in pages.run(page, desk):
        lines = pages.stable(claimed.text).splitlines()
        now = pages.stable(true.text).splitlines()
        names = (f"{page}:{claimed.line}", "what it prints now")
        if difference := list(unified_diff(lines, now, *names, lineterm="")):
            pytest.fail("\n".join(difference), pytrace=False)


@pytest.mark.parametrize("page", pages.PAGES)
def test_no_snippet_is_overlooked(page: str) -> None:
    for block in pages.blocks(page):
        directive = block.language.startswith("{")
        assert directive or block.language in RUN | SHOWN_ONLY, (
            f"{page}:{block.line}: blocks of `{block.language}` are not run"
        )


@pytest.mark.parametrize("page", pages.PAGES)
def test_commands_that_set_up_exist(page: str) -> None:
    makefile = (pages.ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    for block in pages.blocks(page):
        for line in block.text.splitlines() if block.language == "sh" else ():
            command = line.partition("#")[0].split()
            if command[0] == "make":
                assert command[1] in targets, line
            else:
                assert command[:3] == ["pip", "install", "shapewright"], line
