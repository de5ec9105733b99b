"""The command line: a mistake gets one sentence and exit code 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shapewright.cli.main import main

MISTAKES = {
    "model.py:Net": "no command given; `shapewright trace model.py:Net` shows its "
    "shapes, `shapewright check model.py:Net` shows its errors",
    "-i f32[8,3] timm:resnet18": "no command given; `shapewright trace -i 'f32[8,3]' "
    "timm:resnet18` shows its shapes, `shapewright check -i 'f32[8,3]' timm:resnet18` "
    "shows its errors",
    "train.py --lr 1": "no command given; `shapewright trace train.py --lr 1` shows "
    "its shapes, `shapewright rehearse train.py --lr 1` runs it without data",
    "f32[3]+f32[4]": "no command given; `shapewright explain 'f32[3]+f32[4]'` draws it",
    "help tarce": "no command `tarce`; did you mean `trace`?",
    "tarce": "no command `tarce`; did you mean `trace`?",
    "chek net.py": "no command `chek`; did you mean `check`?",
    "frobnicate": "no command `frobnicate`; there is trace, check, explain, solve, "
    "rehearse, memory, completion",
    "completion": "no shell given; there is bash, zsh, fish",
    "completion tcsh": "no completion for `tcsh`; there is bash, zsh, fish",
    "completion bsh": "no completion for `bsh`; did you mean `bash`?",
    "--vers": "no option `--vers`; did you mean `--version`?",
    "trace": "no target given; name one, as in `model.py:Net`",
    "check": "no target given; name one, as in `model.py:Net`, or list `targets` in "
    "`[tool.shapewright]` of pyproject.toml",
    "rehearse": "no script given; write it after the options, as in `train.py`",
    "trace --bye=op m.py:Net": "no option `--bye=op`; did you mean `--by`?",
    "trace --by layer m.py:Net": "no `--by` `layer`; there is module, op, line",
    "trace --format jsn m.py:Net": "no `--format` `jsn`; did you mean `json`?",
    "trace --timeout soon m.py:Net": "--timeout: needs a number of seconds, got `soon`",
    "trace --timeout 0 m.py:Net": "--timeout: needs a number of seconds, got `0`",
    "trace -i": "-i/--input: expected one argument",
    "trace m.py n.py": "`n.py` comes after the target; a script's own arguments "
    "follow `--`",
    "trace train.py --epochs 3": "no option `--epochs`; a script's own arguments "
    "follow `--`",
    "check train.py --epochs 3": "no option `--epochs`; a script's own arguments "
    "follow `--`",
    "trace --epochs 3 train.py": "no option `--epochs`",
    "check timm:resnet18 -- -x": "`-x` is for a script, and `timm:resnet18` is a model "
    "of a library",
    "solve m.py:Net --prove soon": "`soon` comes after the target; a script's own "
    "arguments follow `--`",
    "explain": "no call given; write one, as in `f32[3, 1] + f32[4]`",
    "explain torch.cat(f32[3], 0)": "`0)` comes after the call; quote the call as one "
    "argument",
    "explain f32[3] -- 4": "`4` comes after `--`, where a script's arguments are; "
    "give the line before it, as in `train.py:57`",
    "rehearse --epochs 90 train.py --lr 1": "no option `--epochs`; a script's own "
    "arguments follow it: `shapewright rehearse train.py --epochs 90 --lr 1`",
    "rehearse --device cuda --seed=1 train.py": "no option `--seed=1`; a script's own "
    "arguments follow it: `shapewright rehearse --device cuda train.py --seed=1`",
    "rehearse --devise cuda train.py": "no option `--devise`; did you mean `--device`?",
    "trace -o no/such/t.json m.py:Net": "no folder `no/such` to write `t.json` to",
}


@pytest.mark.parametrize("line", MISTAKES, ids=lambda line: line or "nothing")
def test_a_mistake_gets_one_sentence(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"error: {MISTAKES[line]}\n"


def test_help_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert main(["trace", "--help"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    for word in (
        "trace",
        "-i, --input SPEC",
        "--by {module,op,line}",
        "--timeout S",
        "TARGET",
    ):
        assert word in printed.out


def test_a_command_line_without_a_word_prints_the_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    printed = []
    for line in ([], ["--help"], ["help"]):
        assert main(line) == 0
        printed.append(capsys.readouterr())
    assert printed[0] == printed[1] == printed[2]
    assert "shapewright help COMMAND" in printed[0].out


def test_help_of_a_command_is_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "trace"]) == 0
    asked = capsys.readouterr().out
    assert main(["trace", "--help"]) == 0
    assert capsys.readouterr().out == asked


def test_piped_help_is_the_same_at_any_width() -> None:
    helps = {
        subprocess.run(
            [sys.executable, "-m", "shapewright", "trace", "--help"],
            env={"COLUMNS": columns},
            capture_output=True,
            check=True,
        ).stdout
        for columns in ("40", "200")
    }
    assert len(helps) == 1
    assert max(map(len, helps.pop().decode().splitlines())) <= 88


def test_version_names_all_that_a_bug_report_needs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["-V"]) == 0
    short = capsys.readouterr().out
    assert main(["--version"]) == 0
    printed = capsys.readouterr().out
    assert printed == short
    assert [part.split()[0] for part in printed.split(", ")] == [
        "shapewright",
        "torch",
        "Python",
    ]


def test_the_installed_command_is_the_module() -> None:
    script = Path(sys.executable).with_name("shapewright")
    done = subprocess.run([script, "--version"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("shapewright ")


STANDS = """\
import signal
from shapewright.cli import child_process as apart

apart.STILL = 0.4


def ended(child):
    print(child)
    return 7


print(apart.run(lambda parent: signal.pause(), ended))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")
def test_a_program_that_waits_for_ever_is_ended() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STANDS],
        capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert "computed nothing for 0.4 s" in done.stdout
    assert done.stdout.endswith("7\n")
