"""A script, written into a folder and rehearsed."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from shapewright.api import rehearse_script
from shapewright.record.report import Moment, Report


def rehearsed(folder: Path, text: str, *arguments: str, device: str = "cpu") -> Report:
    """What is found in a script of that text."""
    file = folder / "train.py"
    file.write_text(dedent(text))
    return rehearse_script(str(file), arguments, device=device, timeout=120)


def moments(story: Moment, kind: str) -> list[Moment]:
    """All moments of a kind, in order."""
    found = [story] if story.kind == kind else []
    return found + [each for inner in story.inner for each in moments(inner, kind)]
