"""The names in the table by op are torch's own."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import shapewright as sw
from shapewright.views.argument_names import SIGNATURES, name_arguments
from shapewright.views.terminal import format_trace


def _find(name: str) -> Any:
    place, _, last = name.partition(".")
    home = {"F": F, "torch": torch, "Tensor": torch.Tensor}[place]
    return getattr(home, f"_{last}" if "max_pool" in last else last)


def _list_known(name: str) -> list[list[tuple[str, Any]]]:
    """Return torch's parameters of a call, by each of its signatures."""
    function = _find(name)
    try:
        taken = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        last = name.rpartition(".")[2]
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{last}")
        return [
            [(p.name, p.default_value if p.has_default_value() else inspect._empty)
             for p in schema.arguments]
            for schema in schemas
        ]  # fmt: skip
    return [[(p.name, p.default) for p in taken]]


LOOSE = {name: {"self", "input", name} for name in ("input", "self", "tensor")}


@pytest.mark.parametrize("name", SIGNATURES)
def test_parameters_are_those_of_torch(name: str) -> None:
    text = SIGNATURES[name]
    ours = list(inspect.signature(eval(f"lambda {text}: 0")).parameters.values())

    def agrees(theirs: list[tuple[str, Any]]) -> bool:
        places = dict(theirs)
        for at, mine in enumerate(ours):
            if at < len(theirs) and theirs[at][0] in LOOSE.get(mine.name, {mine.name}):
                default = theirs[at][1]
            elif mine.name in places and at:
                default = places[mine.name]
            else:
                return False
            if mine.default is inspect._empty:
                continue
            if default is inspect._empty and mine.default is None:
                continue  # another of its signatures has the argument
            got = default[0] if isinstance(default, list) and default else default
            if got != mine.default and got not in ([], None, inspect._empty):
                return False
        return True

    assert any(agrees(theirs) for theirs in _list_known(name)), _list_known(name)


def test_arguments_are_named_and_defaults_left_out() -> None:
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=2, padding=1),
        torch.nn.MaxPool2d(2),
        torch.nn.Dropout(0.2),
        torch.nn.Flatten(),
    )
    text = format_trace(sw.trace(net, "f32[2, 3, 32, 32]"), by="op", width=200)
    assert "F.conv2d(stride=(2, 2), padding=(1, 1))" in text
    assert "F.max_pool2d(kernel_size=2, stride=2)" in text
    assert "F.dropout(p=0.2)" in text
    assert "Tensor.flatten(start_dim=1)" in text


def test_a_call_without_an_entry_keeps_its_positions() -> None:
    assert name_arguments("Tensor.permute", (("1", 0), ("2", 2), ("3", 1))) == [
        ("1", 0),
        ("2", 2),
        ("3", 1),
    ]
    assert name_arguments("F.unknown", (("flag", False), ("p", 2))) == [("p", 2)]
