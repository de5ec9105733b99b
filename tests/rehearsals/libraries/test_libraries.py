"""hydra, fire, pandas and gymnasium: scripts that use them, and planted mistakes."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.rehearsals.libraries.cases import MISTAKES, NOT_YET, RIGHT
from tests.rehearsals.libraries.measure import (
    FOR_A_GPU,
    HERE,
    copied,
    lines_of,
    plant,
    rehearsed,
)

pytestmark = pytest.mark.zoo

LIBRARIES = "hydra, omegaconf, fire, pandas, gymnasium"


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
@pytest.mark.parametrize(
    ("script", "arguments"),
    [(script, each) for script, calls in RIGHT.items() for each in calls],
)
def test_a_right_script_runs_to_its_end_and_leaves_nothing(
    script: str, arguments: str, device: str, tmp_path: Path
) -> None:
    told, same = rehearsed(copied(script, tmp_path), arguments, device, python())
    assert told["findings"] == []
    assert told["complete"]
    assert same


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=pytest.mark.xfail(reason="not yet") if name in NOT_YET else ()
        )
        for name in MISTAKES
    ],
)
def test_a_planted_mistake_is_told_at_its_line(name: str, tmp_path: Path) -> None:
    mistake = MISTAKES[name]
    copy = copied(mistake.script, tmp_path)
    line = plant(mistake, copy)
    device = "cuda" if name == FOR_A_GPU else "cpu"
    told, same = rehearsed(copy, mistake.arguments, device, python())
    assert line in lines_of(told), told["findings"]
    assert same
