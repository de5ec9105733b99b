"""Legal programs full of odd but right shape code: nothing is warned of, or noted.

Each file of `legal/` is a technique of its own in a few lines: decoders, attention of
many kinds, contrastive and reinforcement learning, detectors, graphs, mixtures.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright import api

FOLDER = Path(__file__).parent / "legal"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_legal(name: str) -> None:
    report = api.check_target(f"{FOLDER / name}.py:Model")
    assert report.complete
    assert [str(each.span) + each.message for each in report.findings] == []


def test_there_are_fifty() -> None:
    assert len(NAMES) >= 50
