"""The part of a target after the colon: `Net(10, width=2).encode`.

Names, attributes, calls and literals, held as data. It looks like Python and is read
by Python's own parser, but it is not evaluated: only names that the file defines are
looked up, and only what is written as a call is called.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, NoReturn

from shapewright.inputs.errors import InputError


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, string, bytes, bool or None."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    """A name to be looked up in the file; `position` is an index into the target."""

    name: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of what stands before the dot; `position` is that of its name."""

    of: Expression
    name: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A call; `position` is that of the opening bracket."""

    of: Expression
    args: tuple[Expression, ...]
    kwargs: tuple[tuple[str, Expression], ...]
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Nest:
    """A list, tuple, set or dict; `keys` only for a dict."""

    kind: str
    items: tuple[Expression, ...]
    keys: tuple[Expression, ...] = ()


Expression = Constant | Name | Attribute | Call | Nest

_NESTS = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}


@dataclass(frozen=True, slots=True)
class _Reading:
    """The whole target and where in it the expression begins."""

    target: str
    start: int

    def position(self, node: ast.expr, end: bool = False) -> int:
        """Index into the target of the node's first (or one past its last) character.

        `ast` counts UTF-8 bytes.
        """
        column = (node.end_col_offset or 0) if end else node.col_offset
        written = self.target[self.start :].encode()
        return self.start + len(written[:column].decode())

    def fail(self, message: str, position: int) -> NoReturn:
        raise InputError(message, self.target, position)


def read(target: str, start: int) -> Expression:
    """Read `target[start:]` as an expression.

    Example: ``read("model.py:Net(10)", 9)`` is
    ``Call(Name("Net"), (Constant(10),), ())``.
    """
    start += len(target[start:]) - len(target[start:].lstrip())
    reading = _Reading(target, start)
    try:
        tree = ast.parse(target[start:], mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        at = start + max((getattr(error, "offset", 1) or 1) - 1, 0)
        reason = getattr(error, "msg", None) or "too deeply nested"
        reading.fail(f"`{target[start:]}` is not readable: {reason}", at)
    return _expression(tree.body, reading)


def _expression(node: ast.expr, reading: _Reading) -> Expression:
    match node:
        case ast.Name(name):
            return Name(name, reading.position(node))
        case ast.Attribute(of, name):
            at = reading.position(node, end=True) - len(name)
            return Attribute(_expression(of, reading), name, at)
        case ast.Call(of, args, keywords):
            return _call(of, args, keywords, reading)
        case ast.List(items) | ast.Tuple(items) | ast.Set(items):
            parts = tuple(_expression(item, reading) for item in items)
            return Nest(_NESTS[type(node)], parts)
        case ast.Dict(keys, values) if None not in keys:
            return Nest(
                "dict",
                tuple(_expression(value, reading) for value in values),
                tuple(_expression(key, reading) for key in keys if key),
            )
    return _constant(node, reading)


def _call(
    of: ast.expr, args: list[ast.expr], keywords: list[ast.keyword], reading: _Reading
) -> Call:
    for keyword in keywords:
        if keyword.arg is None:
            reading.fail("`**` is not read here", reading.position(keyword.value))
    return Call(
        _expression(of, reading),
        tuple(_expression(arg, reading) for arg in args),
        tuple((k.arg, _expression(k.value, reading)) for k in keywords if k.arg),
        reading.position(of, end=True),
    )


def _constant(node: ast.expr, reading: _Reading) -> Constant:
    """Literals, negative and complex numbers included."""
    try:
        return Constant(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, RecursionError):
        written = ast.unparse(node)
        reading.fail(
            f"`{written}` is not evaluated: a target holds names, calls and literals",
            reading.position(node),
        )


def text(expression: Expression) -> str:
    """The expression as a user would write it: `Net(10, width=2).encode`."""
    match expression:
        case Constant(value):
            return repr(value)
        case Name(name):
            return name
        case Attribute(of, name):
            return f"{text(of)}.{name}"
        case Call(of, args, kwargs):
            inside = [text(arg) for arg in args]
            inside += [f"{name}={text(value)}" for name, value in kwargs]
            return f"{text(of)}({', '.join(inside)})"
        case Nest("dict", items, keys):
            pairs = zip(keys, items, strict=True)
            return "{" + ", ".join(f"{text(k)}: {text(v)}" for k, v in pairs) + "}"
        case Nest(kind, items):
            brackets = {"list": "[]", "tuple": "()", "set": "{}"}[kind]
            comma = "," if kind == "tuple" and len(items) == 1 else ""
            return brackets[0] + ", ".join(map(text, items)) + comma + brackets[1]
