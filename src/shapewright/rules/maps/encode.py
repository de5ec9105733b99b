"""Drawings as versioned JSON, so that a page or another program can evaluate the maps.

An expression is a number, a letter (`"i"`) or an object with one key for its kind::

    2*h + u - 1           {"sum": [[2, "h"], [1, "u"]], "plus": -1}
    index[i, j]           {"element": "index", "at": ["i", "j"]}

What is at its default is left out. `docs/maps.md` has the whole format.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from shapewright.dims.expression import (
    Absolute,
    Clamped,
    Expression,
    Letter,
    Quotient,
    Remainder,
    Total,
)
from shapewright.rules.maps.drawn import Drawn, Side
from shapewright.rules.maps.index_map import (
    AtMost,
    Condition,
    Element,
    Equal,
    IndexMap,
    Linear,
    Listed,
    Number,
    Read,
    Then,
)
from shapewright.rules.maps.stored import Stored
from shapewright.trace.encode import Tables

VERSION = 1
"""Raised when an old reader would misread what we write, not when a field is added."""

Json = Any
nest = Tables().nest
"""Plain values as in the record of a trace: `{"float": "inf"}`, `{"tuple": [1, 2]}`."""


def encode(drawn: Drawn | Stored, indent: int | None = None) -> str:
    """A drawn call or tensor as JSON text."""
    told = drawing(drawn) if isinstance(drawn, Drawn) else tensor(drawn)
    separators = (",", ":") if indent is None else None
    return json.dumps(
        {"version": VERSION, **told},
        indent=indent,
        separators=separators,
        ensure_ascii=False,
        allow_nan=False,
    )


def drawing(drawn: Drawn) -> Json:
    """A call, its tensors and its maps."""
    return {
        "kind": "drawing",
        "text": drawn.text,
        "name": drawn.name,
        "arguments": {name: nest(value) for name, value in drawn.arguments.items()},
        "inputs": list(map(side, drawn.inputs)),
        "outputs": list(map(side, drawn.outputs)),
        "stages": list(map(side, drawn.stages)),
        "maps": list(map(index_map, drawn.maps)),
        "reason": drawn.reason,
        "error": drawn.error,
        "checked": drawn.checked,
        "sizes": list(drawn.sizes),
        "notes": list(drawn.notes),
        "refusal": list(drawn.refusal),
        "beside": None if drawn.beside is None else asdict(drawn.beside),
    }


def tensor(stored: Stored) -> Json:
    """A tensor with the cells of its storage."""
    return {
        "kind": "tensor",
        "tensor": side(stored.side),
        "count": stored.count,
        "cells": [nest(cell) for cell in stored.cells],
        "itemsize": stored.itemsize,
        "base": None if stored.base is None else list(stored.base),
        "writes": stored.version,
        "reason": stored.reason,
        "notes": list(stored.notes),
    }


def side(one: Side) -> Json:
    """A tensor; its values are nested lists, or null where there are too many."""
    single = one.values if isinstance(one.values, int | float | complex) else None
    return {
        "name": one.name,
        "shape": list(one.shape),
        "dtype": one.dtype,
        "stride": list(one.stride),
        "offset": one.offset,
        "shares": one.shares,
        "letters": list(one.letters),
        "values": numbers(one.values if isinstance(one.values, list) else single),
    }


def numbers(values: Any) -> Json:
    """Nested lists or tuples of numbers as nested lists."""
    if isinstance(values, list | tuple):
        return [numbers(value) for value in values]
    return nest(values)


# -- maps ------------------------------------------------------------------------------


def index_map(one: IndexMap) -> Json:
    """A map: shape, letters and reads, and what is not at its default."""
    row: dict[str, Json] = {"shape": list(one.shape), "letters": list(one.letters)}
    for name, value in (
        ("reads", list(map(read, one.reads))),
        ("loops", [[loop.letter, loop.size] for loop in one.loops]),
        ("conditions", list(map(condition, one.conditions))),
        ("options", options(one.options)),
        ("then", list(map(after, one.then))),
        (
            "tables",
            [
                {"name": table.name, "values": numbers(table.values)}
                for table in one.tables
            ],
        ),
        (
            "stages",
            [{"name": stage.name, "map": index_map(stage.map)} for stage in one.stages],
        ),
        ("windows", [window._asdict() for window in one.windows]),
        ("sizes", [list(pair) for pair in one.sizes]),
    ):
        if value:
            row[name] = value
    plain = {field.name: field.default for field in fields(IndexMap)}
    for name in ("term", "combine", "scale", "sentence", "truncated", "sizing"):
        if getattr(one, name) != plain[name]:
            row[name] = getattr(one, name)
    for name in ("at", "gives"):
        if (value := getattr(one, name)) is not None:
            row[name] = expression(value)
    for name in ("start", "value", "missing"):
        if (value := getattr(one, name)) is not None:
            row[name] = given(value)
    return row


def given(value: Read | Linear | Expression | float) -> Json:
    """What stands where a read, an expression or a number may stand."""
    if isinstance(value, Read):
        return read(value)
    if isinstance(value, Linear):
        return {
            "linear": expression(value.over),
            "start": nest(value.start),
            "step": nest(value.step),
            "divisor": value.divisor,
            "whole": value.whole,
        }
    if isinstance(value, Expression):
        return {"expression": expression(value)}
    return nest(value)


def read(one: Read) -> Json:
    """A read of a tensor, or a number in its place."""
    row: dict[str, Json] = {}
    if isinstance(one, Number):
        row["number"] = nest(one.number)
    else:
        row["tensor"] = one.tensor
        row["at"] = list(map(expression, one.indices))
    if one.when:
        row["when"] = list(map(condition, one.when))
    return row


def after(one: Then) -> Json:
    """A function that comes after."""
    row: dict[str, Json] = {"function": one.function}
    if one.reads:
        row["reads"] = list(map(read, one.reads))
    if one.options:
        row["options"] = options(one.options)
    return row


def options(every: tuple[tuple[str, Any], ...]) -> Json:
    """Keyword arguments."""
    return {name: nest(value) for name, value in every}


def condition(one: Condition) -> Json:
    """`low <= a < high`, `a == b` or `a <= b`."""
    if isinstance(one, Equal):
        return {"equal": [expression(one.left), expression(one.right)]}
    if isinstance(one, AtMost):
        return {"at_most": [expression(one.left), expression(one.right)]}
    high = one.high if isinstance(one.high, int) else expression(one.high)
    return {"within": expression(one.expression), "low": one.low, "high": high}


def expression(one: Expression) -> Json:
    """An expression by its kind."""
    match one:
        case Letter(name):
            return name
        case Total((), constant):
            return constant
        case Total(terms, constant):
            parts = [[factor, expression(term)] for term, factor in terms]
            return {"sum": parts, "plus": constant}
        case Quotient(over, divisor):
            return {"floor": expression(over), "by": divisor}
        case Remainder(over, divisor):
            return {"rest": expression(over), "by": divisor}
        case Absolute(over):
            return {"abs": expression(over)}
        case Clamped(over, low, high):
            return {"clamp": expression(over), "low": low, "high": high}
        case Element(name, indices):
            return {"element": name, "at": list(map(expression, indices))}
        case Listed(values, indices):
            return {"list": numbers(values), "at": list(map(expression, indices))}
    raise AssertionError(f"no form for {type(one).__name__}")
