"""Data sets of the Hugging Face hub that everybody knows, and rows of local files."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shapewright.runtime.absent.stand_ins._rows import WORDS, make_picture


@dataclass(frozen=True, slots=True)
class HubSet:
    """The columns of a data set and the rows of its splits, as its card says.

    A column is `text`, `number`, `strings`, a number of classes, or the width, height
    and mode of its pictures.
    """

    page: str
    columns: dict[str, Any]
    splits: dict[str, int]

    @property
    def says(self) -> str:
        """What is documented, in words."""
        rows = ", ".join(f"{count:,} rows in `{part}`" for part, count in
                         self.splits.items())  # fmt: skip
        return f"columns {', '.join(self.columns)}; {rows} ({self.page})"

    @property
    def labels(self) -> dict[str, list[str]]:
        """The names of the classes of each column that has some."""
        return {
            name: [str(number) for number in range(kind)]
            for name, kind in self.columns.items()
            if isinstance(kind, int)
        }

    def make_row(self, number: int) -> dict[str, Any]:
        """Return a row."""
        return {name: _make(kind, number) for name, kind in self.columns.items()}


def _make(kind: Any, number: int) -> Any:
    if isinstance(kind, int):
        return number % kind
    if isinstance(kind, tuple):
        return make_picture(kind[:2], kind[2])
    return {"text": WORDS, "number": number, "strings": [WORDS]}[kind]


def _set(
    path: str, columns: dict[str, Any], train: int, **others: int
) -> tuple[str, HubSet]:
    page = f"https://huggingface.co/datasets/{path.partition(':')[0]}"
    return path, HubSet(page, columns, {"train": train, **others})


CIFAR = (32, 32, "RGB")
GRAY = (28, 28, "L")
HUB_SETS = dict((
    _set("Salesforce/wikitext", {"text": "text"}, 36_718, validation=3_760, test=4_358),
    _set("Salesforce/wikitext:103", {"text": "text"}, 1_801_350, validation=3_760,
         test=4_358),
    _set("stanfordnlp/imdb", {"text": "text", "label": 2}, 25_000, test=25_000,
         unsupervised=50_000),
    _set("fancyzhx/ag_news", {"text": "text", "label": 4}, 120_000, test=7_600),
    _set("dair-ai/emotion", {"text": "text", "label": 6}, 16_000, validation=2_000,
         test=2_000),
    _set("roneneldan/TinyStories", {"text": "text"}, 2_119_719, validation=21_990),
    _set("Skylion007/openwebtext", {"text": "text"}, 8_013_769),
    _set("tatsu-lab/alpaca", {"instruction": "text", "input": "text", "output": "text",
                              "text": "text"}, 52_002),
    _set("openai/gsm8k", {"question": "text", "answer": "text"}, 7_473, test=1_319),
    _set("ylecun/mnist", {"image": GRAY, "label": 10}, 60_000, test=10_000),
    _set("zalando-datasets/fashion_mnist", {"image": GRAY, "label": 10}, 60_000,
         test=10_000),
    _set("uoft-cs/cifar10", {"img": CIFAR, "label": 10}, 50_000, test=10_000),
    _set("uoft-cs/cifar100", {"img": CIFAR, "fine_label": 100, "coarse_label": 20},
         50_000, test=10_000),
))  # fmt: skip
"""Data sets by their full names."""


def find_hub_set(path: str, name: str | None = None) -> HubSet | None:
    """Return a data set by its full or its short name, and that of its part."""
    if name is not None and "103" in name:
        path = f"{path}:103"
    for full, known in HUB_SETS.items():
        if path in (full, full.partition("/")[2]):
            return known
    return None


READERS = ("json", "csv", "text")


def read_files(path: str, folder: Any, files: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each split of files that are here; none if they are not."""
    if files is None:
        place = Path(path if os.path.isdir(path) else folder or "")
        files = [
            str(file)
            for file in (sorted(place.iterdir()) if path or folder else ())
            if file.suffix in (".json", ".jsonl", ".csv", ".txt") and file.is_file()
        ] if os.path.isdir(path) or folder else []  # fmt: skip
    parts = files if isinstance(files, dict) else {"train": files}
    rows = {}
    for part, names in parts.items():
        listed = [names] if isinstance(names, str | os.PathLike) else list(names)
        places = [Path(folder or "", name) for name in listed]
        if not places or not all(place.is_file() for place in places):
            return {}
        rows[part] = [row for place in places for row in _read_file(path, place)]
    return rows


def _read_file(path: str, file: Path) -> Iterable[dict[str, Any]]:
    """Return the rows of a file, in the format of its name."""
    kind = path if path in READERS else file.suffix.lstrip(".")
    with file.open(encoding="utf-8") as stream:
        if kind == "csv":
            return _read_numbers(list(csv.DictReader(stream)))
        if kind in ("text", "txt"):
            return [{"text": line.rstrip("\n")} for line in stream]
        text = stream.read()
    if text.lstrip().startswith("["):
        return list(json.loads(text))
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _read_numbers(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows whose columns of numbers are numbers."""
    for name in rows[0] if rows else ():
        for kind in (int, float):
            try:
                values = [kind(row[name]) for row in rows]
            except (TypeError, ValueError):
                continue
            for row, value in zip(rows, values, strict=True):
                row[name] = value
            break
    return rows
