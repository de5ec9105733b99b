"""Sections of measurements as Markdown, each bar beside its number."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata

import torch

PACKAGES = (
    "torch", "torchinfo", "torchview", "torchlens", "fvcore", "calflops", "torchtyc",
    "transformers", "timm",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Section:
    """One table: what was measured, its rows, and whether every bar is met."""

    title: str
    text: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    met: bool


def verdict(value: float, bar: float) -> str:
    """`met (bar 0.25)` for a value that may be at most the bar."""
    return f"{'met' if value <= bar else '**not met**'} (bar {bar:g})"


def markdown(section: Section) -> str:
    """A heading, a sentence or two, a table."""
    head = f"| {' | '.join(section.header)} |"
    rule = f"| {' | '.join('---' for _ in section.header)} |"
    rows = [f"| {' | '.join(cell(c) for c in row)} |" for row in section.rows]
    return "\n".join([f"## {section.title}", "", section.text, "", head, rule, *rows])


def cell(value: str) -> str:
    """Text that cannot break a table."""
    return value.replace("|", "\\|").replace("\n", " ")


def page(sections: Sequence[Section], rounds: int) -> str:
    """The whole page."""
    parts = [
        "# Benchmarks",
        "<!-- Written by `make bench`. Do not edit. -->",
        "Everything is measured in one program. Subjects of a table take turns in an"
        f" order that is drawn anew for each of {rounds} rounds (fixed seed), ratios"
        " are taken within a round, and a value is its median with the middle half in"
        " parentheses. Ratios hold from machine to machine; times do not. Absolute"
        f" times here: {torch.get_num_threads()} threads, {platform.machine()}, Python"
        f" {platform.python_version()}.",
        "Versions: " + ", ".join(versions()) + ".",
        *(markdown(section) for section in sections),
    ]
    return "\n\n".join(parts) + "\n"


def versions() -> list[str]:
    """Name and version of what is measured, where installed."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name).split('+')[0]}")
        except metadata.PackageNotFoundError:
            found.append(f"{name} not installed")
    return found
