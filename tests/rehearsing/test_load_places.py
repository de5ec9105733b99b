"""Lines that explain why a state dict does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

source = {source}
target = {target}
state = source.state_dict()
target.load_state_dict(state{strict})
print(target(torch.randn(2, 4)).shape)
"""
PLAIN = "nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))"
WIDE = "nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 5))"


def find_places(
    folder: Path, source: str, target: str, strict: str
) -> list[tuple[str, int]]:
    text = PROGRAM.format(source=source, target=target, strict=strict)
    (finding,) = rehearsed(folder, text).findings
    assert finding.code == "state-dict-mismatch"
    return [(place.message, place.span.line) for place in finding.related]


@pytest.mark.parametrize(
    ("source", "target", "line"),
    [(f"nn.DataParallel({PLAIN})", PLAIN, 4), (PLAIN, f"nn.DataParallel({PLAIN})", 5)],
)
def test_the_wrapper_of_the_keys_is_named(
    source: str, target: str, line: int, tmp_path: Path
) -> None:
    places = find_places(tmp_path, source, target, "")
    assert ("`nn.DataParallel` puts `module.` in front of the keys", line) in places


def test_other_sizes_are_not_passed_over(tmp_path: Path) -> None:
    places = find_places(tmp_path, WIDE, PLAIN, ", strict=False")
    assert any(message.endswith("not over other sizes") for message, _ in places)


@pytest.mark.parametrize("strict", ["", ", strict=True"])
def test_nothing_is_said_of_another_flag(strict: str, tmp_path: Path) -> None:
    places = find_places(tmp_path, WIDE, PLAIN, strict)
    assert not any("not over other sizes" in message for message, _ in places)
