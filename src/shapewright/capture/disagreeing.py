"""Where torch's data-free kernels are known to differ from its CPU kernels.

The table is generated from torch's own operator samples (`meta_disagrees.json`, made by
`tests/zoo`), for the version of torch that it names.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import torch

WRONG = frozenset({"stride", "shape", "dtype", "alias", "accepts-error"})
"""Kinds of disagreement in which the data-free kernel answers, and answers wrongly."""

_kinds: dict[Any, frozenset[str]] = {}


def wrong_in(func: Any) -> frozenset[str]:
    """In what the data-free kernel of a function may be wrong; mostly nothing."""
    if not _kinds:
        _read()
    try:
        return _kinds.get(func, frozenset())
    except TypeError:
        return frozenset()


def _read() -> None:
    text = (files("shapewright.capture") / "meta_disagrees.json").read_text()
    for name, entries in json.loads(text)["functions"].items():
        kinds = frozenset(kind for entry in entries for kind in entry["kinds"]) & WRONG
        if not kinds:
            continue
        dotted = name if name.startswith("torch.") else f"torch.{name}"
        last = dotted.rpartition(".")[2]
        for place in (
            dotted, f"torch.Tensor.{last}", f"torch.{last}", f"torch.Tensor.{last}_"
        ):  # fmt: skip
            found: Any = torch
            for part in place.split(".")[1:]:
                found = getattr(found, part, None)
            if found is not None:
                _kinds[found] = kinds
    _kinds.setdefault(None, frozenset())
