"""The workflow of docs/start/reviewer.md: its steps run here as GitHub runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faces.processes import shared
from tests.house import pages

yaml = pytest.importorskip("yaml")  # comes with the dependencies of the documentation

FILE = pages.ROOT / "examples" / "shapes.yml"

MODEL = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear({}, 4)

    def forward(self, x):
        return self.second(self.first(x))
"""

TEST = """\
import torch
from model import Net


def test_a_row_for_each_sample():
    assert Net()(torch.zeros(2, 8)).shape == (2, 4)
"""

PROJECT = """\
[tool.shapewright]
targets = [{ target = "model.py:Net", input = "f32[2, 8]" }]

[tool.pytest.ini_options]
pythonpath = ["."]
"""


def read_steps() -> list[dict[str, Any]]:
    """Return the steps of the only job."""
    (job,) = yaml.safe_load(FILE.read_text("utf-8"))["jobs"].values()
    return list(job["steps"])


def read_commands() -> list[str]:
    """Return what the steps run, without the installation."""
    commands = [step["run"] for step in read_steps() if "run" in step]
    assert commands[0].split()[:3] == ["pip", "install", "shapewright"]
    return commands[1:]


def create_project(folder: Path, width: int) -> None:
    """Write a repository with one model, whose second layer takes `width` features."""
    (folder / "model.py").write_text(MODEL.format(width))
    (folder / "test_model.py").write_text(TEST)
    (folder / "pyproject.toml").write_text(PROJECT)


def run_step(command: str, folder: Path) -> tuple[int, str]:
    """Run a step as GitHub does on Linux, and return its exit code and output."""
    if command.startswith("pytest"):
        command = f"{sys.executable} -m {command} -p no:cacheprovider"
    path = os.pathsep.join((str(shared().commands), os.environ["PATH"]))
    step = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "CI": "true"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return step.returncode, step.stdout + step.stderr


def test_a_project_without_a_mistake_passes(tmp_path: Path) -> None:
    create_project(tmp_path, 16)
    for command in read_commands():
        code, output = run_step(command, tmp_path)
        assert code == 0, output
    report = json.loads((tmp_path / "shapes.json").read_text("utf-8"))
    assert report["findings"] == []


@pytest.mark.long
def test_a_mistake_fails_and_is_shown_at_its_line(tmp_path: Path) -> None:
    create_project(tmp_path, 12)
    check, keep, tests = read_commands()
    code, output = run_step(check, tmp_path)
    assert code == 1
    assert "::error file=model.py,line=11," in output
    assert "title=shapewright inner-dim-mismatch" in output
    code, output = run_step(keep, tmp_path)
    assert code == 0, output
    report = json.loads((tmp_path / "shapes.json").read_text("utf-8"))
    assert [finding["code"] for finding in report["findings"]] == ["inner-dim-mismatch"]
    code, output = run_step(tests, tmp_path)
    assert code == 1
    assert "`second` needs 12 input features, got 16" in output


def test_what_follows_the_check_runs_after_a_mistake_too() -> None:
    steps = read_steps()
    (check,) = (n for n, step in enumerate(steps) if "github" in step.get("run", ""))
    assert all(step["if"] == "always()" for step in steps[check + 1 :])


def test_the_page_shows_the_workflow() -> None:
    assert "examples/shapes.yml" in pages.read("docs/start/reviewer.md")
