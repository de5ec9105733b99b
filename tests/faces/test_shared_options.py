"""Options that commands share: colors, what `-q` leaves out, the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from faces.processes import Done, shared

MODEL = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x, y):
        return ((self.fc(x).mean(1) - y) ** 2).mean()


def double(x):
    return x * 2


def example_inputs():
    return "f32[6, 8], f32[6, 1]"
"""

SCRIPT = """\
import torch

net = torch.nn.Linear(8, 1)
images, wanted = torch.randn(6, 8), torch.randn(6)
loss = ((net(images) - wanted) ** 2).mean()
loss.backward()
"""

COLOR = "\x1b["


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def run(desk: Path, line: str, **environment: str) -> Done:
    return shared().run(desk, *line.split(), **environment)


@pytest.mark.parametrize(
    "line",
    [
        "trace {} -i f32[3] model.py:double",
        "check {} model.py:Net -i f32[6,8],f32[6,1]",
        "solve {} -i f32[N] model.py:double",
        "rehearse {} train.py",
        "explain {} f32[3]+f32[3]",
    ],
)
def test_colors_are_used_as_they_are_asked_for(desk: Path, line: str) -> None:
    assert COLOR not in run(desk, line.format("")).out
    assert COLOR in run(desk, line.format("--color=always"), NO_COLOR="1").out
    assert COLOR not in run(desk, line.format("--color=never"), FORCE_COLOR="1").out


def test_quiet_says_nothing_where_nothing_is_wrong(desk: Path) -> None:
    for line in ("check -q model.py:double -i f32[3]", "rehearse -q model.py"):
        assert run(desk, line) == Done(0, "", ""), line


def test_quiet_shows_findings_and_nothing_else(desk: Path) -> None:
    given = "model.py:Net -i f32[6,8],f32[6,1]"
    for line in (f"check -q {given}", "rehearse -q train.py"):
        done = run(desk, line)
        assert done.code == 1
        first, *_, last = done.out.splitlines()
        assert first.startswith("warning[outer-broadcast]: ")
        assert last.endswith(".py:Net: 1 warning") or last == "train.py: 1 warning"
    (line,) = run(desk, f"check -q --format concise {given}").out.splitlines()
    assert "warning[outer-broadcast]" in line


def test_quiet_leaves_out_what_was_assumed(desk: Path) -> None:
    (desk / "lone.py").write_text(MODEL.replace("mean(1)", "mean(9)"))
    assert "assumed " in run(desk, "check lone.py:Net").out
    assert "assumed " not in run(desk, "check -q lone.py:Net").out


def test_quiet_writes_a_file_without_a_word(desk: Path) -> None:
    assert run(desk, "trace -q -o t.json -i f32[3] model.py:double") == Done(0, "", "")
    assert (desk / "t.json").read_text().startswith("{")


@pytest.mark.parametrize(
    "line",
    ["check {} model.py:Net -i f32[6,8],f32[6,1]", "rehearse {} train.py"],
)
def test_findings_decide_the_exit_code_unless_it_is_to_be_zero(
    desk: Path, line: str
) -> None:
    assert run(desk, line.format("")).code == 1
    done = run(desk, line.format("--exit-zero"))
    assert done.code == 0
    assert "warning[outer-broadcast]" in done.out


def test_a_run_that_cannot_start_is_no_finding(desk: Path) -> None:
    assert run(desk, "check --exit-zero missing.py:Net").code == 2


@pytest.mark.parametrize("format", ["full", "concise", "json", "github", "sarif"])
def test_warnings_are_errors_in_every_format(desk: Path, format: str) -> None:
    done = run(desk, f"check --format {format} --warnings-as-errors model.py:Net")
    assert done.code == 1
    assert "error" in done.out
    assert "warning[" not in done.out
    assert '"warning"' not in done.out


def test_warnings_of_a_rehearsal_are_errors(desk: Path) -> None:
    done = run(desk, "rehearse --warnings-as-errors train.py")
    assert "error[outer-broadcast]" in done.out
    assert done.out.endswith("train.py: 1 error\n")
