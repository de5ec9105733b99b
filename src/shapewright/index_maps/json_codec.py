"""Drawings and their index maps as versioned JSON, written and read back.

An expression is a number, a letter (`"i"`) or an object with one key for its kind::

    2*h + u - 1           {"sum": [[2, "h"], [1, "u"]], "plus": -1}
    index[i, j]           {"element": "index", "at": ["i", "j"]}

What is at its default is left out. `docs/maps.md` has the whole format.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from shapewright.index_maps.drawn_calls import (
    Autograd,
    Called,
    Dispatch,
    Drawn,
    InputGradient,
    Kept,
    PictureNotes,
    Side,
    Stored,
    Unfit,
)
from shapewright.index_maps.index_map import (
    AtMost,
    CallNumber,
    Condition,
    Element,
    Equal,
    IndexMap,
    Linear,
    Listed,
    Loop,
    Options,
    Read,
    Stage,
    Table,
    Then,
    Within,
    constant,
)
from shapewright.record.json_reader import TableReader, name_damages, parse_document
from shapewright.record.json_writer import TableWriter
from shapewright.sizes.expressions import (
    Absolute,
    Clamped,
    Expression,
    Letter,
    Quotient,
    Remainder,
    Total,
    number,
)
from shapewright.sizes.window_sizes import Window

VERSION = 1
"""The format version; raised if an old reader would misread what we write, not when a
field is added."""

Json = Any
write_nest = TableWriter().nest
"""Plain values as in the record of a trace: `{"float": "inf"}`, `{"tuple": [1, 2]}`."""


def encode(drawn: Drawn | Stored, indent: int | None = None) -> str:
    """Return a drawn call or tensor as JSON text."""
    data = _write_drawing(drawn) if isinstance(drawn, Drawn) else _write_tensor(drawn)
    separators = (",", ":") if indent is None else None
    return json.dumps(
        {"version": VERSION, **data},
        indent=indent,
        separators=separators,
        ensure_ascii=False,
        allow_nan=False,
    )


def _write_drawing(drawn: Drawn) -> Json:
    """Return a call with its tensors and maps as JSON data."""
    return {
        "kind": "drawing",
        "text": drawn.text,
        "name": drawn.name,
        "arguments": {
            name: write_nest(value) for name, value in drawn.arguments.items()
        },
        "inputs": list(map(_write_side, drawn.inputs)),
        "outputs": list(map(_write_side, drawn.outputs)),
        "stages": list(map(_write_side, drawn.stages)),
        "maps": list(map(_write_index_map, drawn.maps)),
        "reason": drawn.reason,
        "error": drawn.error,
        "checked": drawn.checked,
        "sizes": list(drawn.sizes),
        "notes": list(drawn.notes),
        "refusal": list(drawn.refusal),
        "beside": None if drawn.beside is None else asdict(drawn.beside),
        "unfit": list(map(asdict, drawn.unfit)),
    }


def _write_tensor(stored: Stored) -> Json:
    """Return a tensor, with the cells of its storage, as JSON data."""
    return {
        "kind": "tensor",
        "tensor": _write_side(stored.side),
        "count": stored.count,
        "cells": [write_nest(cell) for cell in stored.cells],
        "itemsize": stored.itemsize,
        "base": None if stored.base is None else list(stored.base),
        "writes": stored.version,
        "reason": stored.reason,
        "notes": list(stored.notes),
    }


def _write_side(side: Side) -> Json:
    """Return a tensor as JSON data; its values are null if there are too many."""
    single = side.values if isinstance(side.values, int | float | complex) else None
    return {
        "name": side.name,
        "shape": list(side.shape),
        "dtype": side.dtype,
        "stride": list(side.stride),
        "offset": side.offset,
        "shares": side.shares,
        "letters": list(side.letters),
        "values": _write_numbers(
            side.values if isinstance(side.values, list) else single
        ),
    }


def _write_numbers(values: Any) -> Json:
    """Return nested lists or tuples of numbers as nested lists."""
    if isinstance(values, list | tuple):
        return [_write_numbers(value) for value in values]
    return write_nest(values)


# -- maps ------------------------------------------------------------------------------


def _write_index_map(index_map: IndexMap) -> Json:
    """Return a map as JSON data: shape, letters, reads, and non-default fields."""
    row: dict[str, Json] = {
        "shape": list(index_map.shape),
        "letters": list(index_map.letters),
    }
    for name, value in (
        ("reads", list(map(_write_element_read, index_map.reads))),
        ("loops", [[loop.letter, loop.size] for loop in index_map.loops]),
        ("conditions", list(map(_write_condition, index_map.conditions))),
        ("options", _write_options(index_map.options)),
        ("then", list(map(_write_function, index_map.then))),
        (
            "tables",
            [
                {"name": table.name, "values": _write_numbers(table.values)}
                for table in index_map.tables
            ],
        ),
        (
            "stages",
            [
                {"name": stage.name, "map": _write_index_map(stage.map)}
                for stage in index_map.stages
            ],
        ),
        ("windows", [window._asdict() for window in index_map.windows]),
        ("sizes", [list(pair) for pair in index_map.sizes]),
    ):
        if value:
            row[name] = value
    plain = {field.name: field.default for field in fields(IndexMap)}
    for name in ("term", "combine", "scale", "sentence", "truncated", "sizing"):
        if getattr(index_map, name) != plain[name]:
            row[name] = getattr(index_map, name)
    for name in ("at", "gives"):
        if (value := getattr(index_map, name)) is not None:
            row[name] = _write_expression(value)
    for name in ("start", "value", "missing"):
        if (value := getattr(index_map, name)) is not None:
            row[name] = _write_operand(value)
    return row


def _write_operand(value: Read | Linear | Expression | float) -> Json:
    """Return an operand: a read, an expression or a number."""
    if isinstance(value, Read):
        return _write_element_read(value)
    if isinstance(value, Linear):
        return {
            "linear": _write_expression(value.over),
            "start": write_nest(value.start),
            "step": write_nest(value.step),
            "divisor": value.divisor,
            "whole": value.whole,
        }
    if isinstance(value, Expression):
        return {"expression": _write_expression(value)}
    return write_nest(value)


def _write_element_read(read: Read) -> Json:
    """Return a read of a tensor, or the number in its place, as JSON data."""
    row: dict[str, Json] = {}
    if isinstance(read, CallNumber):
        row["number"] = write_nest(read.number)
    else:
        row["tensor"] = read.tensor
        row["at"] = list(map(_write_expression, read.indices))
    if read.when:
        row["when"] = list(map(_write_condition, read.when))
    return row


def _write_function(function: Then) -> Json:
    """Return a function that is applied afterwards as JSON data."""
    row: dict[str, Json] = {"function": function.function}
    if function.reads:
        row["reads"] = list(map(_write_element_read, function.reads))
    if function.options:
        row["options"] = _write_options(function.options)
    return row


def _write_options(every: tuple[tuple[str, Any], ...]) -> Json:
    """Return keyword arguments."""
    return {name: write_nest(value) for name, value in every}


def _write_condition(condition: Condition) -> Json:
    """Return `low <= a < high`, `a == b` or `a <= b`."""
    if isinstance(condition, Equal):
        return {
            "equal": [
                _write_expression(condition.left),
                _write_expression(condition.right),
            ]
        }
    if isinstance(condition, AtMost):
        return {
            "at_most": [
                _write_expression(condition.left),
                _write_expression(condition.right),
            ]
        }
    high = (
        condition.high
        if isinstance(condition.high, int)
        else _write_expression(condition.high)
    )
    return {
        "within": _write_expression(condition.expression),
        "low": condition.low,
        "high": high,
    }


def _write_expression(expression: Expression) -> Json:
    """Return an expression by its kind."""
    match expression:
        case Letter(name):
            return name
        case Total((), constant):
            return constant
        case Total(terms, constant):
            parts = [[factor, _write_expression(term)] for term, factor in terms]
            return {"sum": parts, "plus": constant}
        case Quotient(over, divisor):
            return {"floor": _write_expression(over), "by": divisor}
        case Remainder(over, divisor):
            return {"rest": _write_expression(over), "by": divisor}
        case Absolute(over):
            return {"abs": _write_expression(over)}
        case Clamped(over, low, high):
            return {"clamp": _write_expression(over), "low": low, "high": high}
        case Element(name, indices):
            return {"element": name, "at": list(map(_write_expression, indices))}
        case Listed(values, indices):
            return {
                "list": _write_numbers(values),
                "at": list(map(_write_expression, indices)),
            }
    raise AssertionError(f"no form for {type(expression).__name__}")


NO_TABLES: dict[str, Json] = {
    "files": [],
    "facts": [],
    "spans": [],
    "frames": [],
    "chains": [],
}
read_nest = TableReader(NO_TABLES).nest


class UnreadableDrawing(ValueError):
    """Raised if the text is not a readable drawing; the message is the reason."""


def decode(text: str | bytes) -> Drawn | Stored:
    """Read the drawn call or tensor from JSON text, ignoring unknown fields."""
    kinds = ("drawing", "tensor")
    record = parse_document(text, kinds, VERSION, UnreadableDrawing)
    with name_damages("drawing", UnreadableDrawing):
        if record["kind"] == "drawing":
            return _read_drawing(record)
        return _read_tensor(record)


def _read_drawing(record: dict[str, Json]) -> Drawn:
    """Read a call, its tensors and its maps."""
    return Drawn(
        text=record["text"],
        name=record["name"],
        inputs=tuple(map(_read_side, record["inputs"])),
        outputs=tuple(map(_read_side, record["outputs"])),
        maps=tuple(map(_read_index_map, record["maps"])),
        reason=record["reason"],
        checked=record["checked"],
        error=record["error"],
        arguments={
            name: read_nest(value) for name, value in record["arguments"].items()
        },
        sizes=tuple(record["sizes"]),
        stages=tuple(map(_read_side, record["stages"])),
        notes=tuple(record.get("notes", ())),
        refusal=tuple(record.get("refusal", ())),
        beside=None if record.get("beside") is None else _read_notes(record["beside"]),
        unfit=tuple(Unfit(**row) for row in record.get("unfit", ())),
    )


def _read_notes(record: dict[str, Json]) -> PictureNotes:
    """Read the notes of autograd and the dispatcher on a call."""
    row = record["autograd"]
    autograd = Autograd(
        nodes=tuple(row["nodes"]),
        kept=tuple(Kept(**{**row, "shape": _read_shape(row)}) for row in row["kept"]),
        gradients=tuple(
            InputGradient(row["name"], _read_shape(row), row["reason"])
            for row in row["gradients"]
        ),
        written=tuple((name, old, new) for name, old, new in row["written"]),
        refused=tuple((what, reason) for what, reason in row["refused"]),
        reason=row["reason"],
    )
    way = record["dispatch"]
    calls = tuple(Called(**{**row, "keys": tuple(row["keys"])}) for row in way["calls"])
    return PictureNotes(
        autograd,
        Dispatch(calls, way["reason"]),
        record["flops"],
        record["device"],
        record["default"],
    )


def _read_shape(row: dict[str, Json]) -> Any:
    """Read the shape in a row, or return None if it has none."""
    return None if row["shape"] is None else tuple(row["shape"])


def _read_tensor(record: dict[str, Json]) -> Stored:
    """Read a tensor with the cells of its storage."""
    base = record["base"]
    return Stored(
        _read_side(record["tensor"]),
        count=record["count"],
        cells=tuple(read_nest(cell) for cell in record["cells"]),
        itemsize=record["itemsize"],
        base=None if base is None else tuple(base),
        version=record["writes"],
        reason=record["reason"],
        notes=tuple(record["notes"]),
    )


def _read_side(row: Json) -> Side:
    """Read a tensor with its values."""
    return Side(
        row["name"],
        tuple(row["shape"]),
        row["dtype"],
        tuple(row["stride"]),
        row["offset"],
        _read_numbers(row["values"], list),
        row["shares"],
        tuple(row.get("letters", ())),
    )


def _read_numbers(values: Json, kind: Any) -> Any:
    """Read nested lists of numbers, as lists or as tuples."""
    if isinstance(values, list):
        return kind([_read_numbers(value, kind) for value in values])
    return read_nest(values)


# -- maps ------------------------------------------------------------------------------


def _read_index_map(row: Json) -> IndexMap:
    """Read a map; missing fields get their default."""
    more: dict[str, Any] = {
        name: row[name]
        for name in ("term", "combine", "scale", "sentence", "truncated", "sizing")
        if name in row
    }
    more |= {
        name: _read_expression(row[name]) for name in ("at", "gives") if name in row
    }
    more |= {
        name: _read_operand(row[name])
        for name in ("start", "value", "missing")
        if name in row
    }
    return IndexMap(
        tuple(row["shape"]),
        tuple(map(_read_element_read, row.get("reads", ()))),
        tuple(Loop(letter, size) for letter, size in row.get("loops", ())),
        tuple(map(_read_condition, row.get("conditions", ()))),
        letters=tuple(row["letters"]),
        options=_read_options(row.get("options", {})),
        then=tuple(map(_read_function, row.get("then", ()))),
        sizes=tuple((letter, name) for letter, name in row.get("sizes", ())),
        tables=tuple(
            Table(table["name"], _read_numbers(table["values"], tuple))
            for table in row.get("tables", ())
        ),
        stages=tuple(
            Stage(stage["name"], _read_index_map(stage["map"]))
            for stage in row.get("stages", ())
        ),
        windows=tuple(
            Window(*(window[name] for name in Window._fields))
            for window in row.get("windows", ())
        ),
        **more,
    )


def _read_operand(row: Json) -> Any:
    """Read an operand: a read, an expression or a number."""
    if not isinstance(row, dict) or "float" in row:
        return read_nest(row)
    if "linear" in row:
        start, step = read_nest(row["start"]), read_nest(row["step"])
        over = _read_expression(row["linear"])
        return Linear(start, step, over, row["divisor"], row["whole"])
    return (
        _read_expression(row["expression"])
        if "expression" in row
        else _read_element_read(row)
    )


def _read_element_read(row: Json) -> Read:
    """Read a read of a tensor, or a number in its place."""
    when = tuple(map(_read_condition, row.get("when", ())))
    if "number" in row:
        return constant(read_nest(row["number"]), when)
    return Read(row["tensor"], tuple(map(_read_expression, row["at"])), when)


def _read_function(row: Json) -> Then:
    """Read a function that is applied afterwards."""
    reads = tuple(map(_read_element_read, row.get("reads", ())))
    return Then(row["function"], reads, _read_options(row.get("options", {})))


def _read_options(row: Json) -> Options:
    """Read keyword arguments."""
    return tuple((name, read_nest(value)) for name, value in row.items())


def _read_condition(row: Json) -> Condition:
    """Read `low <= a < high`, `a == b` or `a <= b`."""
    if "equal" in row:
        return Equal(*map(_read_expression, row["equal"]))
    if "at_most" in row:
        return AtMost(*map(_read_expression, row["at_most"]))
    high = row["high"]
    within = high if isinstance(high, int) else _read_expression(high)
    return Within(_read_expression(row["within"]), row["low"], within)


def _read_expression(row: Json) -> Expression:
    """Read an expression by its kind."""
    if isinstance(row, str):
        return Letter(row)
    if isinstance(row, int):
        return number(row)
    match row:
        case {"sum": parts, "plus": constant}:
            terms = tuple((_read_expression(term), factor) for factor, term in parts)
            return Total(terms, constant)
        case {"floor": over, "by": divisor}:
            return Quotient(_read_expression(over), divisor)
        case {"rest": over, "by": divisor}:
            return Remainder(_read_expression(over), divisor)
        case {"abs": over}:
            return Absolute(_read_expression(over))
        case {"clamp": over, "low": low, "high": high}:
            return Clamped(_read_expression(over), low, high)
        case {"element": name, "at": at}:
            return Element(name, tuple(map(_read_expression, at)))
        case {"list": values, "at": at}:
            return Listed(
                _read_numbers(values, tuple), tuple(map(_read_expression, at))
            )
    raise ValueError(f"no expression has the form {row!r}")
