"""pytest's option, and the extension of IPython."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

import shapewright as sw

TESTS = """\
import sys

import pytest
import torch


@pytest.fixture
def broken():
    return torch.ones(2, 3) @ torch.ones(4, 5)


def test_fails():
    x = torch.ones(2, 3)
    assert (x @ torch.ones(4, 5)).sum() == 1


def test_setup(broken):
    pass


def test_own():
    assert {} == []


def test_right():
    with pytest.raises(RuntimeError):
        torch.ones(2, 3) @ torch.ones(4, 5)
    names = "shapewright.commands.check", "shapewright"
    print("LOADED", *(name in sys.modules for name in names))
"""


def pytest_of(folder: Path, *options: str) -> str:
    """What pytest prints of these tests."""
    (folder / "test_it.py").write_text(TESTS)
    plugins = ["-p", "shapewright_pytest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *options, "-rP", "test_it.py"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert "2 failed, 1 passed" in done.stdout, done.stdout
    return done.stdout


def test_failing_tests_gain_the_note(tmp_path: Path) -> None:
    shown = pytest_of(tmp_path, "--shapewright")
    assert "`@` needs as many columns in `x` (2, 3) as rows in `torch.ones(4" in shown
    assert "in `torch.ones(2, 3)` (2, 3) as rows" in shown  # of the fixture
    assert shown.count("error[inner-dim-mismatch]") == 2


def test_off_means_off(tmp_path: Path) -> None:
    shown = pytest_of(tmp_path)
    assert "error[" not in shown
    assert "LOADED False False" in shown


def test_the_option_starts_without_torch() -> None:
    program = "import sys, shapewright_pytest\nprint('torch' in sys.modules)"
    program += "\nprint(any(name.startswith('shapewright.') for name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]


class Shell:
    """Stands for IPython's: it calls `showtraceback` on itself while it handles."""

    def __init__(self) -> None:
        self.shown: list[BaseException] = []

    def run_cell(self, cell: str) -> None:
        try:
            exec(compile(cell, "<cell>", "exec"), {"torch": torch})
        except Exception:
            self.showtraceback(running_compiled_code=True)

    def showtraceback(
        self,
        exc_tuple: Any = None,
        filename: str | None = None,
        tb_offset: int | None = None,
        exception_only: bool = False,
        running_compiled_code: bool = False,
    ) -> None:
        error = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
        assert error is not None
        self.shown.append(error)


CELL = "x = torch.nn.Linear(3, 4)\nx(torch.ones(2, 5))"


def test_failing_cells_gain_the_note() -> None:
    shell = Shell()
    sw.load_ipython_extension(shell)
    sw.load_ipython_extension(shell)
    shell.run_cell(CELL)
    assert "needs 3 input features, got 5" in shell.shown[0].__notes__[0]
    shell.run_cell("1 / 0")
    assert not hasattr(shell.shown[1], "__notes__")
    sw.unload_ipython_extension(shell)
    shell.run_cell(CELL)
    assert not hasattr(shell.shown[2], "__notes__")
    assert "showtraceback" not in vars(shell)
