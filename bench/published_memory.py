"""Predicted memory against figures that others published: ``python -m
bench.published_memory``.

    python -m bench.published_memory                 all figures
    python -m bench.published_memory ViT             those whose name has the text
    python -m bench.published_memory -o rows.json    the rows as JSON, too

Each figure of `published/figures.toml` names a script that builds the program which was
measured. The script is rehearsed for its GPU: nothing is allocated, no GPU is needed.
torchvision and transformers must be installed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shapewright.analysis.memory.caching_allocator import CachingAllocator, replay_event
from shapewright.api import rehearse_script
from shapewright.record.memory import FREE, WORKSPACES
from shapewright.record.rehearsed_memory import RehearsedMemory

FOLDER = Path(__file__).parent / "published"

UNITS = {"GB": 10**9, "GiB": 2**30, "MB": 10**6, "MiB": 2**20}

BARS = {"allocated": 0.03, "after": 0.03, "reserved": 0.07, "process": 0.07}
"""How far a prediction may be off, as a part of the figure."""


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """A figure as its source prints it, and the program that it is of.

    `beyond` are bytes that the source subtracts; `context` is what it says that a CUDA
    context takes, in `unit`. `first` and `now` are errors of predictions, in percent.
    """

    name: str
    source: str
    date: str
    program: list[str]
    device: str
    measures: str
    number: float
    unit: str
    beyond: int = 0
    context: float = 0.0
    torch: str = ""
    first: float | None = None
    now: float | None = None
    cause: str = ""

    @property
    def bytes(self) -> float:
        """Return the bytes that torch's allocator had."""
        return (self.number - self.context) * UNITS[self.unit] + self.beyond


def read_figures(text: str = "") -> list[PublishedFigure]:
    """Return the figures whose name has the text."""
    with open(FOLDER / "figures.toml", "rb") as file:
        rows = tomllib.load(file)["figure"]
    return [PublishedFigure(**row) for row in rows if text in row["name"]]


HELD = (1, 11)
"""The first torch whose allocator holds the workspaces of cuBLAS."""


def predict_bytes(figure: PublishedFigure, memory: RehearsedMemory) -> int:
    """Return what corresponds to the figure in the memory of its program."""
    if figure.torch and tuple(map(int, figure.torch.split(".")[:2])) < HELD:
        return _predict_without_workspaces(figure, memory)
    if figure.measures in ("reserved", "process"):
        assert memory.reserved is not None
        return memory.reserved
    if figure.measures == "allocated":
        assert memory.allocated is not None
        return memory.allocated
    allocator = CachingAllocator()
    for event in memory.run.events.events:
        replay_event(allocator, event)
    return allocator.allocated


def _predict_without_workspaces(
    figure: PublishedFigure, memory: RehearsedMemory
) -> int:
    """Return the same for a torch that did not hold the workspaces of cuBLAS."""
    events = memory.run.events
    freed = {event.storage for event in events.events if event.action == FREE}
    allocator = CachingAllocator()
    for event in events.events:
        if events.storages[event.storage].kind != WORKSPACES or event.storage in freed:
            replay_event(allocator, event)
    if figure.measures in ("reserved", "process"):
        return allocator.most_reserved
    if figure.measures == "allocated":
        return allocator.most_allocated
    return allocator.allocated


def compare_figure(
    figure: PublishedFigure, memory: RehearsedMemory | None
) -> dict[str, Any]:
    """Return a row: what is published, what is predicted, and the error."""
    row: dict[str, Any] = {"name": figure.name, "measures": figure.measures}
    row["published"] = round(figure.bytes)
    row["predicted"] = row["error"] = None
    if memory is None:
        return row
    row["predicted"] = predict_bytes(figure, memory)
    row["error"] = row["predicted"] / row["published"] - 1
    row["complete"] = not memory.run.ended_early
    if memory.total is not None:
        row["process"] = [memory.total.low, memory.total.high]
    return row


def rehearse_program(figure: PublishedFigure) -> RehearsedMemory | None:
    """Return the memory of a figure's program; None if it does not run."""
    script, *arguments = figure.program
    report = rehearse_script(
        str(FOLDER / script), arguments, device=figure.device, memory=True
    )
    return None if report.rehearsal is None else report.rehearsal.memory


def print_row(row: dict[str, Any]) -> None:
    """Print a row as a line."""
    error = row["error"]
    shown = "does not run" if error is None else f"{error:+8.2%}"
    if error is not None and not row["complete"]:
        shown += "  incomplete"
    if error is not None and abs(error) > BARS[row["measures"]]:
        shown += "  above the bar"
    print(
        f"{row['name']:<54} {row['measures']:<9} {row['published'] / 2**30:>8.3f} "
        f"{(row['predicted'] or 0) / 2**30:>8.3f} GiB {shown}",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures beside the predictions, and return the exit code."""
    parser = argparse.ArgumentParser(description="published memory against predictions")
    parser.add_argument("text", nargs="?", default="", help="a part of a figure's name")
    parser.add_argument("-o", dest="output", help="a file for the rows as JSON")
    options = parser.parse_args(arguments)
    rows, known = [], {}
    for figure in read_figures(options.text):
        key = (*figure.program, figure.device)
        if key not in known:
            known[key] = rehearse_program(figure)
        rows.append(compare_figure(figure, known[key]))
        print_row(rows[-1])
    for measures in BARS:
        errors = [
            abs(row["error"])
            for row in rows
            if row["measures"] == measures and row["error"] is not None
        ]
        if errors:
            middle = statistics.median(errors)
            print(f"{measures}: median {middle:.2%}, worst {max(errors):.2%}")
    if options.output:
        Path(options.output).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
