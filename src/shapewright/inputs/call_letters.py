"""Letters for sizes in a typed call: `torch.matmul(f32[B=8, T, C=6], f32[C, 6])`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from math import lcm

from shapewright.inputs.errors import InputError
from shapewright.inputs.size import (
    Arithmetic,
    DividedByZero,
    Letter,
    Number,
    Size,
    letters_in,
    value,
)
from shapewright.inputs.tensor import DTYPES

_TENSOR = re.compile(rf"\b(?:{'|'.join(map(re.escape, DTYPES))})\s*\[[^\[\]]*\]")
_STATED = re.compile(r"(?<![=<>!])=(?!=)")
_SYMBOLS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip


@dataclass(slots=True)
class Letters:
    """The letters of a call: all sizes, and which of them nobody stated."""

    sizes: dict[str, int] = field(default_factory=dict)
    chosen: dict[str, int] = field(default_factory=dict)


def as_python(text: str) -> str:
    """The call with `B:8` for `B=8` between a tensor's brackets, which Python reads.

    Every character stays where it is.
    """
    return _TENSOR.sub(lambda found: _STATED.sub(":", found[0]), text)


def letters_of_call(tree: ast.expr, text: str) -> Letters:
    """All letters of a call with their sizes; those without one get a small one.

    Chosen sizes differ from each other and from those that were stated, so that what
    has the same size has the same letter; a letter that is divided gets a multiple.
    """
    found = Letters()
    stated: dict[str, tuple[int, int]] = {}
    free: dict[str, int] = {}
    for node in sizes_in(tree):
        if isinstance(node, ast.Slice):
            letter, size = stated_in(node, text)
            before = stated.setdefault(letter.name, (size, letter.position))
            if before[0] != size:
                message = (
                    f"`{letter.name}` is {before[0]} at column {before[1] + 1}"
                    f" and {size} here"
                )
                raise InputError(message, text, letter.position)
            continue
        written = size_of(node, text)
        for letter in letters_in(written):
            free.setdefault(letter.name, 1)
        for name, divisor in divided(written):
            free[name] = lcm(free[name], divisor)
    found.sizes = {name: size for name, (size, _) in stated.items()}
    for name, multiple in free.items():
        if name not in found.sizes:
            used = {*found.sizes.values()}
            fresh = (n * multiple for n in count(1))
            size = next(n for n in fresh if n > 1 and n not in used)
            found.sizes[name] = found.chosen[name] = size
    return found


def sizes_in(tree: ast.expr) -> Iterator[ast.expr]:
    """What stands between the brackets of tensors, in the order of the text."""
    found = [
        item
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in DTYPES
        for item in items(node)
    ]
    yield from sorted(found, key=lambda node: (node.lineno, node.col_offset))


def items(node: ast.Subscript) -> list[ast.expr]:
    """The sizes of one tensor."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def stated_in(node: ast.Slice, text: str) -> tuple[Letter, int]:
    """`B=8`, which was made `B:8` for Python."""
    name, size = node.lower, node.upper
    written = text[node.col_offset : node.end_col_offset]
    if "=" not in written or not isinstance(name, ast.Name) or name.id in DTYPES:
        raise InputError("a size is a whole number or a letter", text, node.col_offset)
    number = isinstance(size, ast.Constant) and size.value
    if type(number) is not int or node.step is not None:
        place = node.col_offset if size is None else size.col_offset
        message = f"the size of `{name.id}` must be a number, 0 or more"
        raise InputError(message, text, place)
    return Letter(name.id, node.col_offset), number


def size_of(node: ast.expr, text: str) -> Size:
    """A size as data: a number, a letter, arithmetic on them."""
    at = node.col_offset
    if isinstance(node, ast.Slice):
        return stated_in(node, text)[0]
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Number(node.value, at)
    if isinstance(node, ast.Name):
        if node.id in DTYPES:
            raise InputError(f"`{node.id}` cannot be a size", text, at)
        return Letter(node.id, at)
    if isinstance(node, ast.BinOp) and type(node.op) in _SYMBOLS:
        sides = size_of(node.left, text), size_of(node.right, text)
        return Arithmetic(_SYMBOLS[type(node.op)], *sides, at)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        raise InputError("sizes are divided by `//`", text, at)
    raise InputError("a size is a whole number, 0 or more", text, at)


def divided(size: Size) -> Iterator[tuple[str, int]]:
    """Letters that are divided by a number, and the number."""
    if isinstance(size, Arithmetic):
        if size.operator in ("//", "%") and isinstance(size.right, Number):
            for letter in letters_in(size.left):
                yield letter.name, size.right.value or 1
        yield from divided(size.left)
        yield from divided(size.right)


def sized(node: ast.expr, text: str, letters: Letters) -> tuple[int, str | None]:
    """The number that a size comes to, and its letter where it is one."""
    written = size_of(node, text)
    try:
        number = value(written, letters.sizes)
    except DividedByZero as error:
        message = "this size divides by zero"
        raise InputError(message, text, error.position) from None
    if number < 0:
        message = f"a size is a whole number, 0 or more; this is {number}"
        raise InputError(message, text, node.col_offset)
    return number, written.name if isinstance(written, Letter) else None
