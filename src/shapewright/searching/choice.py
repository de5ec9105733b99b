"""What is said of inputs that nobody gave."""

from __future__ import annotations

import re
from typing import Any

from shapewright.inputs.bind import parameters_of
from shapewright.inputs.loaded import Loaded
from shapewright.inputs.spec import Spec
from shapewright.inputs.tensor import TensorSpec
from shapewright.trace.fact import SHORT
from shapewright.trace.report import Chosen

MOST = 4
"""Inputs that are told."""

_PLAIN = re.compile(r"[\w./:=-]+")


def chosen_inputs(loaded: Loaded, spec: Spec, target: str | None) -> Chosen:
    """Inputs that were looked for, by name, and how to check with one's own.

    `target` is the command line's; None for a live model.

    Example: ``x is f32[2, 3, 40, 40]``, ``shapewright check -i "f32[...]" net.py:Net``.
    """
    named = {**dict(zip(_names(loaded), spec.args, strict=False)), **spec.kwargs}
    told = [f"{name} is {_text(value)}" for name, value in named.items()]
    if len(told) > MOST:
        told[MOST - 1 :] = [f"and {len(told) - MOST + 1} more"]
    items = [_pattern(value) for value in spec.args]
    items += [f"{name}={_pattern(value)}" for name, value in spec.kwargs.items()]
    pattern = ", ".join(items)
    if target is None:
        return Chosen(", ".join(told), f'sw.check(model, "{pattern}")')
    shown = target if _PLAIN.fullmatch(target) else f'"{target}"'
    return Chosen(", ".join(told), f'shapewright check -i "{pattern}" {shown}')


def _names(loaded: Loaded) -> list[str]:
    """Names for the positional inputs, those behind a star counted."""
    names: list[str] = []
    for name, parameter in (parameters_of(loaded) or {}).items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            return [*names, *(f"{name}[{n}]" for n in range(64))]
        if parameter.kind in (
            parameter.POSITIONAL_ONLY,
            parameter.POSITIONAL_OR_KEYWORD,
        ):
            names.append(name)
    return names or [f"input {n}" for n in range(1, 64)]


def _text(value: Any) -> str:
    """An input with its sizes."""
    return _nest(value, str)


def _pattern(value: Any) -> str:
    """An input with its sizes left open."""
    return _nest(value, lambda leaf: f"{SHORT.get(leaf.dtype, leaf.dtype)}[...]")


def _nest(value: Any, leaf: Any) -> str:
    if isinstance(value, TensorSpec):
        text: str = leaf(value)
        return text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_nest(v, leaf)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        items = ", ".join(_nest(each, leaf) for each in value)
        return f"[{items}]" if isinstance(value, list) else f"({items})"
    return "''" if value == "" else str(value)
