"""Errors of every kind of place: scripts, cells, comprehensions, threads, causes."""

from __future__ import annotations

import asyncio
import linecache
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import shapewright as sw
from explaining.notes import explained, note_of, raised


def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x @ y


def test_a_decorated_function() -> None:
    told = raised(lambda: sw.explaining()(product)(torch.ones(2, 3), torch.ones(4, 5)))
    assert "in `x` (2, 3) as rows in `y` (4, 5)" in told.__notes__[0]


def test_a_decorated_coroutine() -> None:
    @sw.explaining()
    async def late(x: torch.Tensor) -> torch.Tensor:
        await asyncio.sleep(0)
        return x @ x

    told = raised(lambda: asyncio.run(late(torch.ones(2, 3))))
    assert "transposed, `x` would fit" in told.__notes__[0]


def test_a_block_in_a_block_notes_once() -> None:
    def nested() -> None:
        with sw.explaining():
            product(torch.ones(2, 3), torch.ones(4, 5))

    assert len(explained(nested).__notes__) == 1


def test_a_block_inside_a_handler_of_the_program() -> None:
    try:
        with sw.explaining():
            torch.ones(2, 3) @ torch.ones(4, 5)
    except RuntimeError as error:
        told = error
    assert "needs as many columns in `torch.ones(2, 3)`" in told.__notes__[0]


def test_a_comprehension_and_a_lambda() -> None:
    w = torch.ones(4, 2)
    note = note_of(lambda: [x @ w for x in (torch.ones(3, 4), torch.ones(3, 5))])
    assert "in `x` (3, 5) as rows in `w` (4, 2)" in note


def test_private_names_and_containers() -> None:
    class Holder:
        def __init__(self) -> None:
            self.__weight = torch.ones(3, 4)
            self.table = {"key": torch.ones(5, 6)}

        def private(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.__weight

        def held(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.table["key"][1:3]

    x = torch.ones(2, 5)
    assert "as rows in `self.__weight` (3, 4)" in note_of(lambda: Holder().private(x))
    assert '`self.table["key"][1:3]` (2, 6)' in note_of(lambda: Holder().held(x))


def test_another_thread() -> None:
    errors: list[BaseException] = []
    work = threading.Thread(
        target=lambda: errors.append(
            explained(lambda: product(torch.ones(2, 3), torch.ones(4, 5)))
        )
    )
    work.start()
    work.join()
    assert "`x` (2, 3)" in errors[0].__notes__[0]


def test_the_cause_of_an_error_of_the_programs() -> None:
    def wrapped() -> None:
        try:
            product(torch.ones(2, 3), torch.ones(4, 5))
        except RuntimeError as error:
            raise ValueError("step failed") from error

    told = explained(wrapped)
    assert not hasattr(told, "__notes__")
    assert "`x` (2, 3)" in told.__cause__.__notes__[0]  # type: ignore[union-attr]


CELL = """\
import torch
x = torch.ones(2, 3)
y = x @ torch.ones(4, 5)
"""


def test_a_cell_of_a_notebook() -> None:
    name = "<cell 7>"
    lines = CELL.splitlines(keepends=True)
    linecache.cache[name] = (len(CELL), None, lines, name)
    space: dict[str, Any] = {}
    note = note_of(lambda: exec(compile(CELL, name, "exec"), space))
    assert f"--> {name}:3:5" in note
    assert "3 │ y = x @ torch.ones(4, 5)" in note


SCRIPT = """\
import torch
import shapewright as sw

def forward(x):
    y = torch.ones(4, 5)
    return x @ y

with sw.explaining():
    forward(torch.ones(2, 3))
"""


@pytest.mark.parametrize("options", [[], ["-X", "no_debug_ranges"]])
def test_a_script_prints_it_below_the_error(options: list[str], tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, *options, "script.py"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    lines = done.stderr.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("RuntimeError: "))
    assert "cannot be multiplied" in lines[at]
    assert lines[at + 1].startswith("error[inner-dim-mismatch]: `@` needs as many")
    assert "--> script.py:6:" in lines[at + 2]


def test_the_name_is_the_block_whatever_was_imported() -> None:
    before = sw.explaining
    sw.explain("torch.matmul(f32[2, 3], f32[3, 4])")
    assert sw.explaining is before


def test_sizes_that_were_drawn_are_told_only_if_they_are_the_same() -> None:
    y = torch.ones(3, 4)
    for _ in range(20):
        count = torch.randint(50, 5000, ())
        torch.manual_seed(int(count))
        error = explained(lambda: y @ torch.ones(torch.randint(5, 5000, ()).item(), 2))
        torch.manual_seed(int(count))
        drawn = torch.randint(5, 5000, ()).item()
        assert all(f"({drawn}, 2)" in note for note in getattr(error, "__notes__", ()))


def test_a_changed_file_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "changing.py"
    file.write_text("def f(x, y):\n    return x @ y\n")
    space: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    file.write_text("# new\ndef f(x, y):\n    return (y @ x, x @ y)\n")
    note = note_of(lambda: space["f"](torch.ones(2, 3), torch.ones(4, 5)))
    assert "`y`" not in note


def own_error() -> None:
    raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)")


def wrong_int() -> None:
    int("x")


def no_gradient() -> None:
    torch.ones(3).sum().backward()


def not_a_scalar() -> None:
    (torch.ones(3, requires_grad=True) * 2).backward()


def unpacked() -> None:
    _, _ = torch.ones(2, 3, 4).shape


def of_a_list() -> None:
    [1, 2][product(torch.ones(1, 1), torch.ones(1, 1)).int().item() + 5]


def leaf() -> None:
    x = torch.ones(3, requires_grad=True)
    x += 1


def stopped() -> None:
    raise KeyboardInterrupt


def of_torchs_own_settings() -> None:
    torch.optim.SGD([torch.ones(3, requires_grad=True)], lr=-1)


def in_a_trace() -> None:
    trace = sw.trace(lambda x: x @ x, "f32[2, 3]")
    assert not trace.complete
    own_error()


SILENT = (
    own_error, wrong_int, no_gradient, not_a_scalar, unpacked, of_a_list, leaf,
    stopped, of_torchs_own_settings, in_a_trace,
)  # fmt: skip


@pytest.mark.parametrize("function", SILENT, ids=lambda each: each.__name__)
def test_where_nothing_can_be_said_there_is_no_note(function: Any) -> None:
    assert note_of(function) == ""


def test_inside_a_trace_the_trace_tells() -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        with sw.explaining():
            return x @ x

    (finding,) = sw.trace(model, "f32[2, 3]").findings
    assert finding.code == "torch-error"


def test_a_fault_of_ours_is_one_short_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from shapewright.commands.check import real_errors
    from shapewright.findings import faults

    def broken(error: BaseException) -> None:
        raise KeyError("a" * 500)

    monkeypatch.setattr(faults, "RAISED", False)  # as for a user

    monkeypatch.setattr(real_errors, "explain_error", broken)
    note = note_of(lambda: torch.ones(2, 3) @ torch.ones(4, 5))
    assert note.startswith("shapewright: not explained (KeyError: 'aaa")
    assert len(note) < 120
    assert "\n" not in note


def test_the_traceback_is_the_programs_own() -> None:
    def run() -> object:
        return F.linear(torch.ones(2, 3), nn.Linear(4, 5).weight)

    bare, told = raised(run), explained(run)
    own = [frame.name for frame in traceback.extract_tb(told.__traceback__)]
    assert [frame.name for frame in traceback.extract_tb(bare.__traceback__)] == [
        name for name in own if name != "inside"
    ]
    assert told.__context__ is None
    assert told.__cause__ is None
