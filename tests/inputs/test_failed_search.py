"""A search that finds no inputs is no error of the program, unless it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shapewright.cli.main import main

PROGRAMS = Path(__file__).parents[1] / "bugs/programs"

TEXT = '''\
import torch
from torch import nn


class Refusing(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3)

    def forward(self, x):
        if x.shape[2] != 7919:
            raise ValueError("the image has the wrong height")
        return self.conv(x)


class NoSize(nn.Module):
    """401 features are never 16 channels of any size."""

    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 16, 3), nn.Linear(401, 3)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


class Contradiction(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 16), nn.Linear(17, 3)

    def forward(self, x):
        return self.second(self.first(x))


class Misspelt(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 16)

    def forward(self, x):
        return self.frist(x)


class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16)

    def forward(self, x):
        return self.norm(self.conv(x).flatten(1))


class Patches(nn.Module):
    """The first convolution comes behind a cut into patches."""

    def __init__(self):
        super().__init__()
        self.norm = nn.Parameter(torch.ones(1, 48, 1, 1))
        self.conv = nn.Conv2d(48, 8, 1)

    def forward(self, img):
        cut = nn.functional.pixel_unshuffle(img, 4)
        return self.conv(cut * self.norm)


def plain():
    made = nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 6))
    return made.eval()


def sized(width):
    return nn.Linear(width, 4)


def nested(width=3):
    return sized(width)


def hidden():
    from torch.nn import Linear

    return Linear(3, 4)
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.py").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", ["check", "trace"])
def test_no_input_was_found(command: str, capsys: Any) -> None:
    assert main([command, "model.py:Refusing"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(
        "error: no input was found that runs `Refusing.forward`; the best guess was"
        " f32[2, 3, 224, 224], which ended with: `ValueError`: the image has the wrong"
        " height at model.py:"
    )
    assert "give inputs with -i" in said.err


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("NoSize", "inner-dim-mismatch"),
        ("Contradiction", "inner-dim-mismatch"),
        ("Misspelt", "program-error"),
        ("Flat", "wrong-rank"),
    ],
)
def test_wrong_for_every_input_is_an_error(name: str, code: str, capsys: Any) -> None:
    assert main(["check", "--format", "concise", f"model.py:{name}"]) == 1
    assert f"error[{code}]" in capsys.readouterr().out


def test_images_have_the_channels_of_images(capsys: Any) -> None:
    assert main(["check", "model.py:Patches"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert "at sizes that were chosen: img is f32[2, 3, 224, 224]" in last


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("anchor_iou_matching:Model", 0),  # an input with too few dims gets more
        ("recsys_two_towers_in_batch:main", 0),  # all of them had one too many
        ("chess_move_policy:Model", 2),  # a batch was taken for the channels
        ("detr_style_box_matching:Model", 2),  # a list, not a tensor
    ],
)
def test_a_right_program_has_no_error(
    program: str, code: int, folder: Path, capsys: Any
) -> None:
    name, _, target = program.partition(":")
    text = (PROGRAMS / f"{name}.py").read_text()
    (folder / "bare.py").write_text(text.replace("def example_inputs", "def _example"))
    assert main(["check", "--format", "concise", f"bare.py:{target}"]) == code
    assert "error[" not in capsys.readouterr().out


def test_a_function_that_returns_a_module_is_its_builder(capsys: Any) -> None:
    assert main(["check", "--format", "concise", "model.py:plain"]) == 1
    assert "needs 5 input features, got 4" in capsys.readouterr().out
    assert main(["check", "-i", "f32[2, 3]", "model.py:nested"]) == 0
    assert capsys.readouterr().out == "model.py:nested: no findings\n"


def test_no_findings_where_no_forward_ran_does_not_exist(capsys: Any) -> None:
    assert main(["check", "model.py:hidden"]) == 2
    assert "`model.py:hidden` made no tensor call" in capsys.readouterr().err


def test_a_builder_that_needs_arguments(capsys: Any) -> None:
    assert main(["check", "model.py:sized"]) == 2
    assert capsys.readouterr().err == (
        "error: `sized` builds a module and needs `width`; write"
        " `model.py:sized(width=...)`\n"
    )
