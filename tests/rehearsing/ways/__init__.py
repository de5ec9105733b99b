"""One training, and one attention, in the ways in which people write them, and the
mistakes that can be made in each.

A line of a program has a name behind `#@`, by which a mistake finds it: `zero` is the
line that clears the gradients, wherever it stands. So one mistake is made in all ways.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

Row = tuple[str, str]
"""A line of a program, and its name."""
Mistake = Callable[[list[Row]], int]
"""What changes the rows of a program, and returns where."""

FOLDER = Path(__file__).parent


class DoesNotApplyError(Exception):
    """The program has no such line."""


def list_ways(kind: str) -> list[str]:
    """The ways in which there is a program of a kind: `training` or `attention`."""
    paths = sorted(FOLDER.glob(f"{kind}_*.txt"))
    return [path.stem.removeprefix(f"{kind}_") for path in paths]


def read_rows(kind: str, way: str) -> list[Row]:
    """The rows of a program."""
    rows = []
    for line in (FOLDER / f"{kind}_{way}.txt").read_text("utf-8").splitlines():
        code, _, name = line.partition("  #@")
        rows.append((code, name))
    return rows


def write(rows: list[Row]) -> str:
    """The text of a program."""
    return "\n".join(code for code, _ in rows) + "\n"


def find(rows: list[Row], name: str) -> int:
    """Where a line with a name stands."""
    for at, row in enumerate(rows):
        if row[1] == name:
            return at
    raise DoesNotApplyError(name)


def drop(name: str) -> Mistake:
    """Leave a line out."""

    def change(rows: list[Row]) -> int:
        at = find(rows, name)
        del rows[at]
        return at

    return change


def move(name: str, to: str, *, is_behind: bool = True) -> Mistake:
    """Put a line behind or before another one, with its indent."""

    def change(rows: list[Row]) -> int:
        code, _ = rows.pop(find(rows, name))
        at = find(rows, to)
        other = rows[at][0]
        indent = other[: len(other) - len(other.lstrip())]
        rows.insert(at + is_behind, (indent + code.lstrip(), name))
        return at + is_behind

    return change


def move_before_epochs(name: str) -> Mistake:
    """Put a line before the loop over epochs of its block."""

    def change(rows: list[Row]) -> int:
        at = find(rows, name)
        code, _ = rows.pop(at)
        for before in range(at - 1, -1, -1):
            other = rows[before][0]
            if other.lstrip().startswith("for epoch"):
                indent = other[: len(other) - len(other.lstrip())]
                rows.insert(before, (indent + code.lstrip(), name))
                return before
        raise DoesNotApplyError(name)

    return change


def replace(name: str, pattern: str, new: str) -> Mistake:
    """Write a part of a line otherwise."""

    def change(rows: list[Row]) -> int:
        at = find(rows, name)
        code = re.sub(pattern, new, rows[at][0])
        if code == rows[at][0]:
            raise DoesNotApplyError(name)
        rows[at] = code, name
        return at

    return change


def replace_each(name: str, texts: dict[str, str]) -> Mistake:
    """Write the first of several texts that a line has otherwise."""

    def change(rows: list[Row]) -> int:
        at = find(rows, name)
        for old, new in texts.items():
            if old in rows[at][0]:
                rows[at] = rows[at][0].replace(old, new), name
                return at
        raise DoesNotApplyError(name)

    return change


def leave_block(name: str) -> Mistake:
    """Take the head of a `with` away, or a decorator."""

    def change(rows: list[Row]) -> int:
        at = find(rows, name)
        head = rows.pop(at)[0]
        indent = len(head) - len(head.lstrip())
        for inner in range(at, len(rows) if head.lstrip().startswith("with") else at):
            code = rows[inner][0]
            if code.strip() and len(code) - len(code.lstrip()) <= indent:
                break
            rows[inner] = code[4:], rows[inner][1]
        return at

    return change


def read_other_loader(rows: list[Row]) -> int:
    """Go through the loader of training in the evaluation."""
    at = find(rows, "valloop")
    loaders = [
        re.search(r"in (?:enumerate\()?([\w.]+)\)?:", rows[place][0])
        for place in (find(rows, "trainloop"), at)
    ]
    train, held_out = (loader[1] if loader else "" for loader in loaders)
    if train == held_out or "def validate" in write(rows):
        raise DoesNotApplyError("valloop")
    rows[at] = rows[at][0].replace(held_out, train), "valloop"
    return at


def count_batches(name: str, loop: str) -> Mistake:
    """Divide by the number of batches in place of that of samples."""

    def change(rows: list[Row]) -> int:
        at = find(rows, name)
        over = re.search(r"in (?:enumerate\()?([\w.]+)\)?:", rows[find(rows, loop)][0])
        samples = r"/ (\w+|len\([\w.]+\.dataset\))(?=$|[:,)])"
        new = f"/ len({over[1] if over else ''})"
        code = re.sub(samples, new, rows[at][0], count=1)
        if code == rows[at][0]:
            raise DoesNotApplyError(name)
        rows[at] = code, name
        return at

    return change
