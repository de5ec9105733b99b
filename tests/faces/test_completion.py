"""Shells complete what the parser takes; a real shell is asked where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from shapewright.cli.main import main
from shapewright.findings.codes import CODES

Printed = pytest.CaptureFixture[str]

COMMANDS = {"trace", "check", "explain", "solve", "rehearse", "memory", "completion"}


def complete_in_bash(script: str, words: Sequence[str], folder: Path) -> set[str]:
    """What bash offers for the last of these words."""
    listed = " ".join(f"'{word}'" for word in words)
    asked = (
        f"{script}\ncompopt() {{ :; }}\nCOMP_WORDS=(shapewright {listed})\n"
        f"COMP_CWORD={len(words)}\n_shapewright\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", asked], capture_output=True, text=True, cwd=folder
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("", COMMANDS | {"help", "-h", "--help", "-V", "--version"}),
        ("tr", {"trace"}),
        ("help ch", {"check"}),
        ("trace --by ", {"module", "op", "line"}),
        ("trace --by o", {"op"}),
        ("trace --fo", {"--format"}),
        ("check m.py:Net --un", {"--unsafe-fixes"}),
        ("check --format s", {"sarif"}),
        ("solve --w", {"--want"}),
        ("completion ", {"bash", "zsh", "fish", "-h", "--help"}),
        ("explain chan", {code for code in CODES if code.startswith("chan")}),
        ("trace -i ", set()),
    ],
)
def test_bash_offers_what_may_follow(
    line: str, offered: set[str], capsys: Printed, tmp_path: Path
) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert complete_in_bash(script, line.split(" "), tmp_path) == offered


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("", COMMANDS | {"help"}),
        ("help ch", {"check"}),
        ("help trace --fo", set()),
        ("trace --by ", {"module", "op", "line"}),
        ("trace m.py:Net --fo", {"--format"}),
        ("check --format s", {"sarif"}),
        ("completion ", {"bash", "zsh", "fish"}),
        ("trace mod", {"model.py"}),
        ("explain mod", {"model.py", "model-not-copied"}),
        ("trace -i ", set()),
    ],
)
def test_fish_offers_what_may_follow(
    line: str, offered: set[str], capsys: Printed, tmp_path: Path
) -> None:
    (tmp_path / "model.py").touch()
    assert main(["completion", "fish"]) == 0
    script = f"{capsys.readouterr().out}\ncomplete -C 'shapewright {line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        capture_output=True, text=True, cwd=tmp_path, env={"HOME": str(tmp_path)},
    )  # fmt: skip
    assert {row.partition("\t")[0] for row in done.stdout.splitlines()} == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_option_of_every_help_is_offered(shell: str, capsys: Printed) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for command in COMMANDS:
        assert command in script
        main([command, "--help"])
        listed = re.findall(r"^  (-.*?)(?:  |$)", capsys.readouterr().out, re.MULTILINE)
        for option in re.findall(r"--([\w-]+)", " ".join(listed)):
            assert f"-l {option}" in script or f"--{option}" in script


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_can_read(shell: str, capsys: Printed) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    main(["completion", shell])
    script = capsys.readouterr().out
    done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
