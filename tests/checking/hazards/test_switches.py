"""Comments, configuration, `--strict`, pages: how hazards are switched and read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from checking.hazards import found, program, warned
from shapewright import api
from shapewright.findings.codes import CODES
from shapewright.inputs.errors import InputError

LOSS = (
    "self.fc = nn.Linear(5, 1)",
    """x, y:
    pred = self.fc(x)
    one = (pred - y).pow(2).mean()
    two = (
        pred * y
    ).sum()
    return one + two""",
    "torch.randn(9, 5), torch.randn(9)",
)


def test_a_comment_at_the_end_of_the_line(tmp_path: Path) -> None:
    text = program(*LOSS)
    assert len(warned(tmp_path, text)) == 2
    text = text.replace(
        ".pow(2).mean()", ".pow(2).mean()  # shapewright: ignore[outer-broadcast]"
    )
    assert warned(tmp_path, text) == ["outer-broadcast: pred * y"]


def test_a_comment_on_the_line_before(tmp_path: Path) -> None:
    comment = "# shapewright: ignore[lost-batch, outer-broadcast]\n        "
    text = program(*LOSS).replace("two = (", f"{comment}two = (")
    assert [each.partition(" = ")[0] for each in warned(tmp_path, text)] == [
        "outer-broadcast: one"
    ]


def test_a_comment_with_another_code_changes_nothing(tmp_path: Path) -> None:
    text = program(*LOSS).replace("mean()", "mean()  # shapewright: ignore[layout]")
    assert len(warned(tmp_path, text)) == 2


def test_a_comment_with_the_code_of_an_error_is_said_to_change_nothing(
    tmp_path: Path,
) -> None:
    text = program(
        "self.fc = nn.Linear(5, 1)",
        "x:\n        return self.fc(x)  # shapewright: ignore[inner-dim-mismatch]",
        "torch.randn(9, 6)",
    )
    file = tmp_path / "net.py"
    file.write_text(text)
    (one,) = api.check_target(f"{file}:Model").findings
    assert one.code == "inner-dim-mismatch"
    assert one.lines[-1] == (
        "`ignore[inner-dim-mismatch]` has no effect: errors cannot be switched off"
    )


def test_the_project_switches_a_kind_off(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.shapewright]\nignore = ["outer-broadcast"]\n'
    )
    folder = tmp_path / "package"
    folder.mkdir()
    assert warned(folder, program(*LOSS)) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('ignore = ["outer-brodcast"]', "did you mean `outer-broadcast`?"),
        ('ignore = "layout"', "must be a list of finding codes"),
        ("ignore = [", "cannot be read"),
        ('ignroe = ["layout"]', "no key `ignroe`; did you mean `ignore`?"),
        ("strict = true", "no key `strict`; there is ignore, targets"),
        ("[tool.shapewright.ignore]", "must be a list of finding codes"),
        (
            'ignore = ["layout", "inner-dim-mismatch"]',
            "`inner-dim-mismatch` is the code of an error",
        ),
    ],
)
def test_what_cannot_be_meant_is_said(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.shapewright]\n{text}\n")
    file = tmp_path / "net.py"
    file.write_text(program(*LOSS))
    with pytest.raises(InputError, match=r"pyproject\.toml") as raised:
        api.check_target(f"{file}:Model")
    assert said in str(raised.value)


def test_the_settings_are_a_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nshapewright = true\n")
    (tmp_path / "net.py").write_text(program(*LOSS))
    with pytest.raises(InputError, match="must be a table of settings"):
        api.check_target(f"{tmp_path}/net.py:Model")


LOOP = """x:
        out = torch.zeros_like(x)
        for i in range(x.shape[0]):
            out[i] = x[i] * 2
        return out"""


def test_a_note_on_a_loop_is_switched_off_like_a_warning(tmp_path: Path) -> None:
    text = program("pass", LOOP, "torch.randn(9, 5)")
    assert [each.code for each in found(tmp_path, text)] == ["python-loop"]
    quiet = text.replace("* 2", "* 2  # shapewright: ignore[python-loop]")
    assert found(tmp_path, quiet) == []
    (tmp_path / "pyproject.toml").write_text(
        '[tool.shapewright]\nignore = ["python-loop"]\n'
    )
    assert found(tmp_path, text) == []


def test_every_hazard_of_the_pages_can_be_switched_off() -> None:
    listed = {
        code
        for page in ("hazards.md", "rehearse.md")
        for code in re.findall(
            r"^\| `([a-z][a-z-]+)` \|", read_page(page), re.MULTILINE
        )
    }
    refused = {"collated-list", "collective-mismatch", "items-do-not-stack"}  # errors
    assert {code for code in listed if not CODES[code].is_switchable} == refused


def read_page(name: str) -> str:
    return (Path(__file__).parents[3] / "docs" / name).read_text("utf-8")


def test_strict_notes_every_implicit_broadcast(tmp_path: Path) -> None:
    text = program(
        "self.scale = nn.Parameter(torch.ones(6))",
        """x:
        y = x * self.scale + 1.0
        return y + y""",
        "torch.randn(4, 6)",
    )
    assert found(tmp_path, text) == []
    (one,) = found(tmp_path, text, strict=True)
    assert (one.code, one.severity) == ("implicit-broadcast", "note")
    assert one.message == "`*` broadcasts `x` (4, 6) with `scale` (6,) to (4, 6)"


def test_first_stops_at_the_first(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(program(*LOSS))
    assert len(api.check_target(f"{file}:Model", first=True).findings) == 1


def test_a_live_model_is_looked_at_too() -> None:
    from torch import nn

    import shapewright as sw

    class Scorer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(5, 1)

        def forward(self, x, y):  # type: ignore[no-untyped-def]
            return ((self.fc(x) - y) ** 2).mean()

    report = sw.check(Scorer(), "f32[9, 5]", "f32[9]")
    assert [each.code for each in report.findings] == ["outer-broadcast"]
    assert report.exit_code == 1


SCRIPT = """\
import torch
from torch import nn


def main():
    net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 1))
    x, y = torch.randn(32, 10), torch.randn(32)
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    h = torch.zeros(32, 10) + x
    return loss, h


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("target", ["train.py:main", "train.py"])
def test_a_program_that_makes_its_own_data(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    (one,) = api.check_target(target).findings
    assert one.code == "outer-broadcast"
    assert one.span is not None
    assert one.span.line == 8


def test_equal_blocks_are_one_finding(tmp_path: Path) -> None:
    text = program(
        "self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(4))",
        """x:
        for layer in self.layers:
            x = x + layer(x).view(-1, 6, 11).transpose(1, 2)
        return x""",
        "torch.randn(4, 11, 6)",
    )
    (one,) = found(tmp_path, text)
    assert (one.code, one.count) == ("view-mixes-dims", 4)


def test_the_command_prints_warnings_and_exits_with_one(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(program(*LOSS))
    given = ["check", "--strict", "--format", "concise", f"{file}:Model"]
    ran = subprocess.run(
        [sys.executable, "-m", "shapewright", *given],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 1
    assert "warning[outer-broadcast]: `-` of `pred` (9, 1)" in ran.stdout
    assert "note[implicit-broadcast]" in ran.stdout
