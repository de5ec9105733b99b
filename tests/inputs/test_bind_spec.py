"""A spec that cannot fit `forward` is refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from inputs.programs import loaded, write
from shapewright.inputs.callables import Loaded, bind_inputs, make_loaded
from shapewright.inputs.errors import InputError
from shapewright.inputs.python_files import ProgramFolder
from shapewright.inputs.spec import parse_spec


class Net(nn.Module):
    def forward(self, x: Any, mask: Any = None, *, scale: float = 1.0) -> Any:
        return x

    def two(self, x: Any, y: Any) -> Any:
        return x


class Open(nn.Module):
    def forward(self, *inputs: Any, **more: Any) -> Any:
        return inputs


def target(found: Any, name: str = "f") -> Loaded:
    return make_loaded(found, name, ProgramFolder(Path()))


FITS = [
    (Net(), "f32[2]"),
    (Net(), "x=f32[2], scale=2"),
    (Net(), "f32[2], None"),
    (Net().two, "f32[2], y=f32[2]"),
    (Open(), "f32[2], f32[2], a=None"),
    (nn.Sequential(nn.Linear(2, 2)), "f32[2]"),
    (nn.Module(), "f32[2], f32[3]"),
    (torch.add, "f32[2], f32[2]"),
    (lambda: 0, ""),
]


@pytest.mark.parametrize(("found", "spec"), FITS)
def test_a_spec_that_fits(found: Any, spec: str) -> None:
    bind_inputs(target(found), parse_spec(spec))


MISTAKES = [
    (
        Net(),
        "f32[2], None, f32[3]",
        "`Net.forward` takes 2 inputs by position (x, mask=None, *, scale=1.0),"
        " the spec gives 3\n  f32[2], None, f32[3]\n                ^",
    ),
    (
        Net(),
        "y=f32[2]",
        "`Net.forward` has no input `y`; it takes (x, mask=None, *, scale=1.0)"
        "\n  y=f32[2]\n  ^",
    ),
    (
        Net(),
        "f32[2], maks=None",
        "`Net.forward` has no input `maks`; did you mean `mask`? it takes"
        " (x, mask=None, *, scale=1.0)\n  f32[2], maks=None\n          ^",
    ),
    (
        Net(),
        "f32[2], x=f32[2]",
        "`x` is already given by position\n  f32[2], x=f32[2]\n          ^",
    ),
    (
        Net(),
        "mask=None",
        "`Net.forward` also needs `x`; it takes (x, mask=None, *, scale=1.0)"
        "\n  mask=None\n           ^",
    ),
    (
        Net().two,
        "f32[2]",
        "`Net.two` also needs `y`; it takes (x, y)\n  f32[2]\n        ^",
    ),
    (
        nn.Linear(2, 2),
        "f32[2], f32[3]",
        "`Linear.forward` takes 1 input (input), the spec gives 2"
        "\n  f32[2], f32[3]\n          ^",
    ),
    (
        nn.Linear(2, 2),
        "8, 2",
        "`Linear.forward` takes 1 input (input), the spec gives 2; a tensor of these"
        " sizes is `f32[8, 2]`\n  8, 2\n     ^",
    ),
    (
        lambda: 0,
        "f32[2]",
        "`f` takes no input (), the spec gives 1\n  f32[2]\n  ^",
    ),
]


@pytest.mark.parametrize(("found", "spec", "message"), MISTAKES)
def test_a_spec_that_does_not_fit(found: Any, spec: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        bind_inputs(target(found), parse_spec(spec))
    assert str(error.value) == message


def test_the_message_of_a_loaded_function(tmp_path: Path) -> None:
    write(tmp_path, own="def loss(prediction, truth): return 0")
    with pytest.raises(InputError) as error:
        bind_inputs(loaded(f"{tmp_path}/own.py:loss"), parse_spec(""))
    assert error.value.message == (
        "`loss` needs `prediction`, `truth`; it takes (prediction, truth)"
    )
