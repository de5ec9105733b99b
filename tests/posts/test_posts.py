"""What is found in the posts stays found, with the same first edit."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

from posts import measure

HERE = Path(__file__).resolve().parent
SOURCE = str(HERE.parents[1] / "src")
KNOWN = json.loads((HERE / "found.json").read_text("utf-8"))
POSTS = [
    pytest.param(name, marks=pytest.mark.long)
    for name in sorted(KNOWN)
    if not KNOWN[name]["needs"]
]
"""Posts that need torchvision or einops are measured, not tested."""


def first_edits(told: dict) -> list[str]:
    """The first checked edit of each finding."""
    checked = ([f for f in each["fixes"] if f["checked"]] for each in told["findings"])
    return [fixes[0]["message"] for fixes in checked if fixes]


def test_every_post_has_its_files_and_label() -> None:
    for wave in ("wave1", "wave2", "wave3"):
        folders = sorted((HERE / wave).iterdir())
        assert len(folders) == 50
        for folder in folders:
            label = tomllib.loads((folder / "label.toml").read_text("utf-8"))
            assert label["kind"] in ("error", "silent")
            assert label["lines"]
            assert (folder / "answer.py").exists()


@pytest.mark.parametrize("name", POSTS)
def test_what_was_found_is_found_with_the_same_edit(name: str) -> None:
    folder = HERE / name
    label = tomllib.loads((folder / "label.toml").read_text("utf-8"))
    told = measure.ask(folder, label["command"], False, SOURCE)["told"]
    assert told is not None
    assert measure.is_found(label, told)
    assert first_edits(told) == KNOWN[name]["edits"]


def write() -> None:
    """Write what is found now, of the posts that are found."""
    known = {}
    for wave in sys.argv[1:]:
        for folder in sorted((HERE / wave).iterdir()):
            text = (folder / "program.py").read_text("utf-8")
            label = tomllib.loads((folder / "label.toml").read_text("utf-8"))
            told = measure.ask(folder, label["command"], False, SOURCE)["told"]
            if measure.is_found(label, told):
                needs = [n for n in ("torchvision", "einops") if f"import {n}" in text
                         or f"from {n}" in text]  # fmt: skip
                edits = first_edits(told)
                known[f"{wave}/{folder.name}"] = {"needs": needs, "edits": edits}
    (HERE / "found.json").write_text(json.dumps(known, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    write()
