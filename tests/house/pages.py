"""Fenced blocks of the documentation, as programs to run."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from markdown_it import MarkdownIt

from faces.processes import shared

ROOT = Path(__file__).parents[2]

_FILES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]

PAGES = sorted(file.relative_to(ROOT).as_posix() for file in _FILES)
"""Every page that has snippets."""


def read(page: str) -> str:
    """The text of a page."""
    return (ROOT / page).read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its language, its text and the line where the text begins."""

    language: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    tokens = MarkdownIt().parse((ROOT / page).read_text("utf-8"))
    fences = [token for token in tokens if token.type == "fence" and token.map]
    return [
        Block(token.info.strip(), token.content, token.map[0] + 2) for token in fences
    ]


def run(page: str, desk: Path) -> Iterator[tuple[Block, Block]]:
    """Run a page in the folder `desk`: blocks that claim an output, as they are and
    as they would be true."""
    namespace: dict[str, object] = {"__name__": "snippet"}
    printed: str | None = None
    for block in blocks(page):
        if block.language == "text":
            assert printed is not None, f"{page}:{block.line}: output of nothing"
            yield block, replace(block, text=printed)
        printed = None
        if block.language == "python":
            printed = run_python(page, block, desk, namespace)
        if block.language == "console":
            yield block, replace(block, text=run_console(block, desk))


def run_python(
    page: str, block: Block, desk: Path, namespace: dict[str, object]
) -> str:
    """Run a block as a file of its own, so that spans and source lines are real."""
    file = desk / f"{Path(page).stem.lower()}_page.py"
    file.write_text("\n" * (block.line - 1) + block.text, encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), at(desk):
        exec(compile(file.read_text("utf-8"), str(file), "exec"), namespace)
    return printed.getvalue()


@contextlib.contextmanager
def at(desk: Path) -> Iterator[None]:
    """In that folder, with its own `examples` to import."""
    sys.path.insert(0, str(desk))
    with contextlib.chdir(desk):
        try:
            yield
        finally:
            sys.path.remove(str(desk))
            for name in [name for name in sys.modules if name.startswith("examples")]:
                del sys.modules[name]


def run_console(block: Block, desk: Path) -> str:
    """Run what follows each `$ ` and give commands and outputs as a terminal would."""
    places = shared().commands, Path(sys.executable).parent, os.environ["PATH"]
    path = os.pathsep.join(map(str, places))
    shown = ""
    for command in re.findall(r"^\$ ((?:.*\\\n)*.*)$", block.text, flags=re.MULTILINE):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=desk,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        shown += f"$ {command}\n{done.stdout}"
    return shown


DURATION = re.compile(r"\b\d+(\.\d+)? (s|ms|µs)\b")
VERSION = re.compile(r"\btorch \d\S*\w")
HASH = re.compile(r"\b[0-9a-f]{64}\b")


def stable(text: str) -> str:
    """What stays the same from run to run: no durations, no hashes, no line ends,
    not the version of torch."""
    for pattern, word in ((DURATION, "TIME"), (HASH, "HASH"), (VERSION, "torch")):
        text = pattern.sub(word, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def rewrite(page: str, desk: Path) -> None:
    """Put into a page what its snippets print now, where that is something else."""
    lines = (ROOT / page).read_text("utf-8").splitlines(keepends=True)
    for claimed, true in reversed(list(run(page, desk))):
        if stable(claimed.text) != stable(true.text):
            start, count = claimed.line - 1, len(claimed.text.splitlines())
            text = true.text.replace("+cpu", "")  # the build of torch that ran here
            text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
            lines[start : start + count] = [text]
    (ROOT / page).write_text("".join(lines), encoding="utf-8")
