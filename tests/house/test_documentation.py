"""What the documentation promises to have: places for questions, all of Python."""

from __future__ import annotations

import contextlib
import io
import re
from functools import cache

import pytest
from markdown_it import MarkdownIt

import shapewright
from shapewright.cli.main import main
from tests.house import pages

RECORDS = (
    "Drawing Fact Finding LargestBatch Memory ModuleCall Op RehearsedChange Report"
    " Solution Totals"
).split()

_QUESTIONS = pages.read("tests/newcomers/questions.md")
NUMBERS = [int(number) for number in re.findall(r"^(\d+)\. ", _QUESTIONS, re.M)]

_ROW = re.compile(r"^\| (\d+) \| [^|]* \| `(\S+)#(\S+)` \|", re.M)
PLACES = {
    int(number): (page, heading)
    for number, page, heading in _ROW.findall(pages.read("tests/newcomers/README.md"))
}


def find_headings(page: str) -> set[str]:
    """Return the anchors of a page's headings."""
    tokens = MarkdownIt().parse(pages.read(page))
    headings = (
        tokens[n + 1].content for n, t in enumerate(tokens) if t.type == "heading_open"
    )
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("number", NUMBERS)
def test_a_question_has_its_place(number: int) -> None:
    page, heading = PLACES[number]
    assert heading in find_headings(f"docs/{page}")


def test_the_reference_has_everything_public() -> None:
    text = pages.read("docs/python.md")
    documented = re.findall(
        r"^\.\. auto(?:function|class):: (?:.*\.)?(\w+)$", text, re.M
    )
    assert sorted(documented) == sorted({*shapewright.__all__, *RECORDS})


def test_the_first_page_has_three_ways_in() -> None:
    index = pages.read("docs/index.md")
    for page in ("student", "researcher", "reviewer"):
        assert f"](start/{page}.md)" in index
    first = pages.read("docs/start/student.md").partition("```\n")[2]
    assert first.startswith("RuntimeError: mat1 and mat2 shapes cannot be multiplied")


def test_the_sidebar_is_by_purpose() -> None:
    captions = re.findall(r"^:caption: (.*)$", pages.read("docs/index.md"), re.M)
    assert captions == "Start Commands Guides Gallery Reference Internals".split()
    assert "coverage-" not in pages.read("docs/index.md")


def test_the_gallery_is_in_pictures() -> None:
    languages = [block.language for block in pages.blocks("docs/gallery.md")]
    assert sum(language.startswith("{drawing}") for language in languages) > 40
    assert "console" not in languages


_PEER = re.compile(r"^\| ([^|]+) \|([^|]*)\| ([^|]+) \|$", re.M)
PEERS = [row for row in _PEER.findall(pages.read("docs/peers.md")) if row[0] != "what"]


@pytest.mark.parametrize("cell", [cell for *_, cell in PEERS])
def test_what_peers_can_do_names_a_command_that_exists_or_a_reason(cell: str) -> None:
    if cell.startswith("no: "):
        assert len(cell.split()) > 4
        return
    spans = re.findall(r"`([^`]+)`", cell)
    known = [span for span in spans if _is_known(span)]
    assert known, cell
    for span in spans:
        command, *words = span.split()
        if command in COMMANDS:
            help_text = _get_help(command)
            for option in (word for word in words if word.startswith("-")):
                assert option in help_text, span


COMMANDS = ("trace", "check", "explain", "solve", "rehearse")


def _is_known(span: str) -> bool:
    """Return whether a span is a command, an option of `trace`, or a public name."""
    word = span.split()[0]
    name = word.removeprefix("sw.")
    return word in COMMANDS or word == "-i" or name in shapewright.__all__


@cache
def _get_help(command: str) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        main([command, "--help"])
    return text.getvalue()


def test_every_tool_that_is_compared_has_a_row() -> None:
    others = " ".join(other for _, other, _ in PEERS)
    for tool in "torchinfo torchview torchlens torchtyc PyTea pyrefly".split():
        assert tool in others
    assert len(PEERS) > 40
