"""Tables of torch functions: sizes, views, factories, reads, and wrong kernels.

Where kernels err is generated from torch's own operator samples
(`meta_disagrees.json`, made by `tests/zoo`), for the version of torch that it names.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import torch

from shapewright.operators.facts import operators_with

PASS = operators_with("reads_metadata")
"""Metadata reads whose answer is the same for the stand-in."""


VIEWS = operators_with("is_view")
"""Functions that may return a view of an input, so torch runs every call."""

FACTORIES = operators_with("is_factory")

DATA = operators_with("takes_program_data")
"""Factories that take their values from the program."""

BLANK_FACTORIES = operators_with("leaves_values_unset")
"""Factories of uninitialized memory: values are never known."""

LIKE = operators_with("ignores_given_values")
"""Factories whose values follow from the arguments, not from the given tensor."""

RANDOM = operators_with("is_random")

FILLING = operators_with("overwrites_all")
"""Functions that overwrite every element."""

OF_NUMBERS = operators_with("takes_plain_numbers")
"""Functions that also take plain numbers and return a CPU tensor."""

READS = operators_with("returns_python_value")
"""Functions that return a Python value."""

DATA_DEPENDENT = operators_with("depends_on_data")
"""Functions whose result shape depends on values."""

NAMED_OTHERWISE = {"ReshapeAliasBackward0": "ViewBackward0"}
"""Node names of real tensors, and their names for data-free tensors."""

RESHAPES = operators_with("copies_if_needed")

RESHAPED_IN_PLACE = operators_with("changes_tensor_itself")
"""Functions that change the tensor object, so they run on the program's own."""

CUTS = frozenset({"detach", "data"})
"""Functions whose views never require grad."""

DEVICE_READS = operators_with("reads_device")

MOVES = operators_with("moves_device")

GRADIENT = operators_with("needs_graph")
"""Functions that need torch's graph: the program is rerun in graph mode."""


TAKES_VALUES = operators_with("is_recurrent", "reads_integers")
"""Functions whose kernels read integers (lengths, batch sizes) even without data."""


WRONG = frozenset({"stride", "shape", "dtype", "alias", "accepts-error"})
"""Kinds of disagreement in which the data-free kernel answers, and answers wrongly."""

_kinds: dict[Any, frozenset[str]] = {}


def find_meta_errors(func: Any) -> frozenset[str]:
    """Return the kinds of error of a function's data-free kernel; most have none."""
    if not _kinds:
        _read_tables()
    try:
        return _kinds.get(func, frozenset())
    except TypeError:
        return frozenset()


def _read_tables() -> None:
    text = (files("shapewright.engine.dispatch") / "meta_disagrees.json").read_text()
    for name, entries in json.loads(text)["functions"].items():
        kinds = frozenset(kind for entry in entries for kind in entry["kinds"]) & WRONG
        if not kinds:
            continue
        dotted = name if name.startswith("torch.") else f"torch.{name}"
        last = dotted.rpartition(".")[2]
        for place in (
            dotted, f"torch.Tensor.{last}", f"torch.{last}", f"torch.Tensor.{last}_"
        ):  # fmt: skip
            function: Any = torch
            for part in place.split(".")[1:]:
                function = getattr(function, part, None)
            if function is not None:
                _kinds[function] = kinds
    _kinds.setdefault(None, frozenset())
