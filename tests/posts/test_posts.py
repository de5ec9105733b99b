"""What is found in the posts stays found."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from posts import measure

HERE = Path(__file__).resolve().parent
SOURCE = str(HERE.parents[1] / "src")
KNOWN: dict[str, list[str]] = json.loads((HERE / "found.json").read_text("utf-8"))
"""The posts whose mistake is found, each with the libraries that it needs."""

USUAL = ("usual", *(f"usual_{number}" for number in range(2, 16)))
MANY = (
    *("usual_25", "usual_26", "usual_27"),
    *("drafts_3", "drafts_4", "drafts_5", "drafts_6"),
    *("silent_4", "silent_5", "silent_6", "silent_7"),
)
MARKS = dict.fromkeys((*USUAL, *MANY), pytest.mark.zoo)
"""Where many programs are asked that `tests/rehearsing/test_usual_mistakes.py` has, or
whose classes have tests of their own beside it.
"""
POSTS = [
    pytest.param(name, marks=MARKS.get(name.partition("/")[0], pytest.mark.long))
    for name, needs in KNOWN.items()
    if not set(needs) - {"einops"}  # the rest is measured, where the libraries are
]


def test_every_post_has_its_files_and_label() -> None:
    counts = {
        "wave1": 50,
        "wave2": 50,
        "wave3": 50,
        "wave4": 50,
        "wave5": 33,
        "wave6": 33,
        "wave7": 32,
        "wave8": 22,
        "wave9": 26,
        "wave10": 26,
        "wave11": 24,
        "wave12": 28,
        "wave13": 29,
        "wave14": 33,
        "wave15": 26,
        "wave16": 24,
        "wave17": 29,
        "wave18": 29,
        "usual": 36,
        "usual_2": 30,
        "usual_3": 24,
        "usual_4": 24,
        "usual_5": 24,
        "usual_6": 24,
        "usual_7": 24,
        "usual_8": 24,
        "usual_9": 24,
        "usual_10": 24,
        "usual_11": 24,
        "usual_12": 24,
        "usual_13": 24,
        "usual_14": 24,
        "usual_15": 24,
        "errors_2": 60,
    }
    for wave, count in counts.items():
        folders = [each for each in (HERE / wave).iterdir() if each.is_dir()]
        assert len(folders) == count
        for folder in folders:
            label = tomllib.loads((folder / "label.toml").read_text("utf-8"))
            assert label["kind"] in ("error", "silent")
            assert label["lines"]
            assert (folder / "answer.py").exists()


@pytest.mark.parametrize("name", POSTS)
def test_what_was_found_is_found(name: str) -> None:
    folder = HERE / name
    label = tomllib.loads((folder / "label.toml").read_text("utf-8"))
    told = measure.ask(folder, label["command"], False, SOURCE)["told"]
    assert measure.is_found(label, told)
