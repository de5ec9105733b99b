"""Libraries that own the training loop, each with a script and planted mistakes."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.rehearsals.frameworks.measure import (
    HERE,
    SCRIPTS,
    changed,
    places,
    rehearsed,
)
from tests.rehearsals.frameworks.mistakes import MISTAKES

pytestmark = pytest.mark.zoo

NOT_YET = {
    "an optimizer under a key that nobody reads",
    "logits kept with their graph by training_step",
    "a schedule of epochs that steps with each batch",
    "tokens that the vocabulary has not",
    "an evaluation that returns no targets",
}
"""The keys and the schedule are told at the line of `fit` alone, the others not at all:
kept logits do not hold the graph of the loss, tokens drawn in one large tensor are not
known, and ignite takes two rows of the guesses for a guess and a target."""

LIBRARIES = "accelerate, ignite, lightning, pytorch_lightning, transformers"


@cache
def python() -> str:
    """An interpreter that has the libraries: this one, else that of `make zoo`."""
    zoo = HERE.parents[2] / ".venv-zoo" / "bin" / "python"
    for each in (os.environ.get("ZOO_PYTHON", ""), sys.executable, str(zoo)):
        if not Path(each).is_file():
            continue
        command = [each, "-c", "import importlib.util as u; import sys; sys.exit(not "
                   f"all(map(u.find_spec, '{LIBRARIES}'.split(', '))))"]  # fmt: skip
        if subprocess.run(command, capture_output=True).returncode == 0:
            return each
    pytest.skip(f"no interpreter has {LIBRARIES}")


@pytest.mark.parametrize("device", ["cpu", "H100 80GB"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_right_script_runs_to_its_end(script: str, device: str) -> None:
    text = (HERE / f"{script}.py").read_text()
    told, _, left = rehearsed(text, device, python())
    assert told["findings"] == []
    assert told["complete"]
    assert left == []


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=pytest.mark.xfail(reason="not yet") if name in NOT_YET else ()
        )
        for name in MISTAKES
    ],
)
def test_a_planted_mistake_is_told_at_its_line(name: str) -> None:
    text, line = changed(MISTAKES[name])
    told, _, left = rehearsed(text, MISTAKES[name].device, python())
    assert line in {each[0] for each in places(told)}, told["findings"]
    assert left == []
