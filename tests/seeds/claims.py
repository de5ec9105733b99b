"""What a comment of a suite states about the value of its line.

A claim is a list of leaves, one for the value itself or one for each of its items:

- ``f32[2, 3]``: a tensor of this dtype and shape, and with ``= [[...], [...]]`` behind
  it a tensor that holds these values (compared in the real run);
- ``(2, 3)``: a tensor, of any dtype, or a tuple of ints, of this shape;
- ``16``, ``True``, ``"cpu"``, ``None``, ``[1, 2]``: a plain value; floats to 1e-4.

``(4, 8) then (2, 8)`` is a line that ran several times: what it gave first, and what
once that changed. ``error: words`` is a line that raises, with these words.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from typing import Any

from shapewright.record.ops import SHORT

DTYPES = "|".join(SHORT.values())
_TENSOR = re.compile(rf"\b({DTYPES})\[([\d, ]*)\]")
_BEGINS = re.compile(rf"({DTYPES})\[|\(|\[|-?\d|\"|True$|False$|None$|error:")


@dataclass(frozen=True, slots=True)
class Tensor:
    """What is compared of a tensor, in a run and in a trace alike.

    `dtype` is its short name; `values` is None where they are not known.
    """

    dtype: str
    shape: tuple[int, ...]
    values: Any = None

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Claim:
    """`steps`: the leaves of each value that a line gave, runs of equal ones once."""

    text: str
    line: int
    steps: tuple[tuple[Any, ...], ...] = ()
    error: str | None = None


def read(comment: str, line: int) -> Claim | None:
    """The claim that a comment makes; None for prose. `ValueError` for half a one."""
    text = comment.lstrip("#").strip()
    if not _BEGINS.match(text):
        return None
    if text.startswith("error:"):
        return Claim(text, line, error=text.removeprefix("error:").strip())
    try:
        steps = tuple(_leaves(step) for step in text.split(" then "))
    except (SyntaxError, ValueError):
        raise ValueError(f"line {line}: `{text}` begins as a claim and is none")
    return Claim(text, line, steps)


def _leaves(text: str) -> tuple[Any, ...]:
    text, _, values = text.partition(" = ")
    text = _TENSOR.sub(r"('\1',(\2,))", text).replace("(,)", "()")
    items = ast.parse(f"({text},)", mode="eval").body
    assert isinstance(items, ast.Tuple)
    leaves = [_leaf(ast.literal_eval(item)) for item in items.elts]
    if values:
        (tensor,) = leaves
        leaves = [Tensor(tensor.dtype, tensor.shape, ast.literal_eval(values))]
    return tuple(leaves)


def _leaf(value: Any) -> Any:
    if isinstance(value, tuple) and value and value[0] in SHORT.values():
        return Tensor(*value)
    return value


def holds(leaves: tuple[Any, ...], seen: Any) -> bool:
    """Does a described value have these leaves?"""
    if len(leaves) == 1 and _fits(leaves[0], seen):
        return True
    items = list(seen.values()) if isinstance(seen, dict) else seen
    if not isinstance(items, list | tuple) or len(items) != len(leaves):
        return False
    return all(_fits(leaf, item) for leaf, item in zip(leaves, items, strict=True))


def _fits(leaf: Any, seen: Any) -> bool:
    if isinstance(seen, Tensor):
        if not isinstance(leaf, Tensor):
            return bool(leaf == seen.shape)
        if (leaf.dtype, leaf.shape) != (seen.dtype, seen.shape):
            return False
        return None in (leaf.values, seen.values) or _equal(leaf.values, seen.values)
    return _equal(leaf, seen)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-4)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        same = type(one) is type(other) and len(one) == len(other)
        return same and all(map(_equal, one, other))
    return type(one) is type(other) and bool(one == other)
