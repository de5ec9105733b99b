"""How many tokens those vocabularies count that a refused lookup can see."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from torch import nn

from shapewright.engine.call_sites import USER
from shapewright.engine.engine import Engine
from shapewright.findings.codes import INDEX_OUT_OF_RANGE
from shapewright.operators.failed_calls import Unmet
from shapewright.program.spans import is_installed

TOKENIZING = ("encode", "vocab", "stoi", "get_vocab")
"""Methods and attributes of which a tokenizer or a vocabulary has one."""
MOST = 20
"""Names that are kept."""


def count_tokens(engine: Engine, needed: Unmet | None) -> tuple[tuple[str, int], ...]:
    """Return the names of dicts and tokenizers in the frames of the program around a
    lookup that has too few rows, each with its length. Installed libraries that call
    the program have dicts of their own, which say nothing of it.
    """
    if needed is None or needed.code != INDEX_OUT_OF_RANGE:
        return ()
    counts: dict[str, int] = {}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(counts) < MOST:
        is_of_user = engine.sites.kind_of(frame.f_code) == USER
        if is_of_user and not is_installed(frame.f_code.co_filename):
            for name, value in _iter_values(dict(frame.f_locals)):
                length = _count_tokens_of(value)
                if length and len(counts) < MOST:
                    counts.setdefault(name, length)
        frame = frame.f_back
    return tuple(counts.items())


def _iter_values(names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each variable of a frame with its value, and the attributes of objects."""
    for name, value in names.items():
        yield name, value
        if not isinstance(value, nn.Module | type):
            for attribute, inner in getattr(value, "__dict__", {}).items():
                yield f"{name}.{attribute}", inner


def _count_tokens_of(value: Any) -> int:
    """Return the length of a dict of tokens or of a tokenizer; 0 of all else."""
    if type(value) is dict:
        return len(value)
    kind = type(value)
    if isinstance(value, str | bytes | nn.Module) or not hasattr(kind, "__len__"):
        return 0
    held = getattr(value, "__dict__", {})
    if not any(hasattr(kind, name) or name in held for name in TOKENIZING):
        return 0
    try:
        return len(value)
    except Exception:  # of the program
        return 0
