"""Reading drawings back from JSON: the twin of `encode`."""

from __future__ import annotations

import json
from typing import Any

from shapewright.dims.expression import (
    Absolute,
    Clamped,
    Expression,
    Letter,
    Quotient,
    Remainder,
    Total,
    number,
)
from shapewright.rules.maps.beside import (
    Autograd,
    Beside,
    Called,
    Dispatch,
    Gradient,
    Kept,
)
from shapewright.rules.maps.drawn import Drawn, Side
from shapewright.rules.maps.encode import VERSION, Json
from shapewright.rules.maps.index_map import (
    AtMost,
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
from shapewright.rules.maps.stored import Stored
from shapewright.rules.windows import Window
from shapewright.trace.decode import Tables

NO_TABLES: dict[str, Json] = {
    "files": [],
    "facts": [],
    "spans": [],
    "frames": [],
    "chains": [],
}
nest = Tables(NO_TABLES).nest


class UnreadableDrawing(ValueError):
    """The text is not a drawing that this version can read; one sentence says why."""


def decode(text: str | bytes) -> Drawn | Stored:
    """The drawn call or tensor in JSON text. Fields that are not known are ignored."""
    record = parsed(text)
    try:
        return drawing(record) if record["kind"] == "drawing" else tensor(record)
    except KeyError as missing:
        raise UnreadableDrawing(f"the drawing is damaged: it lacks {missing}") from None
    except (IndexError, TypeError, ValueError, AttributeError) as wrong:
        raise UnreadableDrawing(f"the drawing is damaged: {wrong}") from wrong


def parsed(text: str | bytes) -> dict[str, Json]:
    """The JSON, once it is clear that it is one of ours."""
    try:
        record = json.loads(text)
    except ValueError as wrong:
        raise UnreadableDrawing(f"not a drawing: not JSON ({wrong})") from None
    kinds = ("drawing", "tensor")
    if not isinstance(record, dict) or record.get("kind") not in kinds:
        raise UnreadableDrawing(
            'not a drawing: the JSON has no `"kind": "drawing"` or `"tensor"`'
        )
    version = record.get("version")
    if not isinstance(version, int) or version < 1:
        raise UnreadableDrawing(f"the drawing is damaged: version {version!r}")
    if version > VERSION:
        raise UnreadableDrawing(
            f"this drawing has version {version}, written by a newer Shapewright; this "
            f"one reads version {VERSION}: `pip install --upgrade shapewright`"
        )
    return record


def drawing(record: dict[str, Json]) -> Drawn:
    """A call, its tensors and its maps."""
    return Drawn(
        text=record["text"],
        name=record["name"],
        inputs=tuple(map(side, record["inputs"])),
        outputs=tuple(map(side, record["outputs"])),
        maps=tuple(map(index_map, record["maps"])),
        reason=record["reason"],
        checked=record["checked"],
        error=record["error"],
        arguments={name: nest(value) for name, value in record["arguments"].items()},
        sizes=tuple(record["sizes"]),
        stages=tuple(map(side, record["stages"])),
        notes=tuple(record.get("notes", ())),
        refusal=tuple(record.get("refusal", ())),
        beside=None if record.get("beside") is None else beside(record["beside"]),
    )


def beside(record: dict[str, Json]) -> Beside:
    """What autograd and the dispatcher said of a call."""
    told = record["autograd"]
    autograd = Autograd(
        nodes=tuple(told["nodes"]),
        kept=tuple(Kept(**{**row, "shape": shape(row)}) for row in told["kept"]),
        gradients=tuple(
            Gradient(row["name"], shape(row), row["reason"])
            for row in told["gradients"]
        ),
        written=tuple((name, old, new) for name, old, new in told["written"]),
        refused=tuple((what, said) for what, said in told["refused"]),
        reason=told["reason"],
    )
    way = record["dispatch"]
    calls = tuple(Called(**{**row, "keys": tuple(row["keys"])}) for row in way["calls"])
    return Beside(
        autograd,
        Dispatch(calls, way["reason"]),
        record["flops"],
        record["device"],
        record["default"],
    )


def shape(row: dict[str, Json]) -> Any:
    """The shape in a row, None where it has none."""
    return None if row["shape"] is None else tuple(row["shape"])


def tensor(record: dict[str, Json]) -> Stored:
    """A tensor with the cells of its storage."""
    base = record["base"]
    return Stored(
        side(record["tensor"]),
        count=record["count"],
        cells=tuple(nest(cell) for cell in record["cells"]),
        itemsize=record["itemsize"],
        base=None if base is None else tuple(base),
        version=record["writes"],
        reason=record["reason"],
        notes=tuple(record["notes"]),
    )


def side(row: Json) -> Side:
    """A tensor with its values."""
    return Side(
        row["name"],
        tuple(row["shape"]),
        row["dtype"],
        tuple(row["stride"]),
        row["offset"],
        listed(row["values"], list),
        row["shares"],
        tuple(row.get("letters", ())),
    )


def listed(values: Json, kind: Any) -> Any:
    """Nested lists of numbers, as lists or as tuples."""
    if isinstance(values, list):
        return kind([listed(value, kind) for value in values])
    return nest(values)


# -- maps ------------------------------------------------------------------------------


def index_map(row: Json) -> IndexMap:
    """A map; what is not there is at its default."""
    more: dict[str, Any] = {
        name: row[name]
        for name in ("term", "combine", "scale", "sentence", "truncated", "sizing")
        if name in row
    }
    more |= {name: expression(row[name]) for name in ("at", "gives") if name in row}
    more |= {
        name: given(row[name]) for name in ("start", "value", "missing") if name in row
    }
    return IndexMap(
        tuple(row["shape"]),
        tuple(map(read, row.get("reads", ()))),
        tuple(Loop(letter, size) for letter, size in row.get("loops", ())),
        tuple(map(condition, row.get("conditions", ()))),
        letters=tuple(row["letters"]),
        options=options(row.get("options", {})),
        then=tuple(map(after, row.get("then", ()))),
        sizes=tuple((letter, name) for letter, name in row.get("sizes", ())),
        tables=tuple(
            Table(one["name"], listed(one["values"], tuple))
            for one in row.get("tables", ())
        ),
        stages=tuple(
            Stage(one["name"], index_map(one["map"])) for one in row.get("stages", ())
        ),
        windows=tuple(
            Window(*(one[name] for name in Window._fields))
            for one in row.get("windows", ())
        ),
        **more,
    )


def given(row: Json) -> Any:
    """What stands where a read, an expression or a number may stand."""
    if not isinstance(row, dict) or "float" in row:
        return nest(row)
    if "linear" in row:
        start, step = nest(row["start"]), nest(row["step"])
        over = expression(row["linear"])
        return Linear(start, step, over, row["divisor"], row["whole"])
    return expression(row["expression"]) if "expression" in row else read(row)


def read(row: Json) -> Read:
    """A read of a tensor, or a number in its place."""
    when = tuple(map(condition, row.get("when", ())))
    if "number" in row:
        return constant(nest(row["number"]), when)
    return Read(row["tensor"], tuple(map(expression, row["at"])), when)


def after(row: Json) -> Then:
    """A function that comes after."""
    reads = tuple(map(read, row.get("reads", ())))
    return Then(row["function"], reads, options(row.get("options", {})))


def options(row: Json) -> Options:
    """Keyword arguments."""
    return tuple((name, nest(value)) for name, value in row.items())


def condition(row: Json) -> Condition:
    """`low <= a < high`, `a == b` or `a <= b`."""
    if "equal" in row:
        return Equal(*map(expression, row["equal"]))
    if "at_most" in row:
        return AtMost(*map(expression, row["at_most"]))
    high = row["high"]
    within = high if isinstance(high, int) else expression(high)
    return Within(expression(row["within"]), row["low"], within)


def expression(row: Json) -> Expression:
    """An expression by its kind."""
    if isinstance(row, str):
        return Letter(row)
    if isinstance(row, int):
        return number(row)
    match row:
        case {"sum": parts, "plus": constant}:
            terms = tuple((expression(term), factor) for factor, term in parts)
            return Total(terms, constant)
        case {"floor": over, "by": divisor}:
            return Quotient(expression(over), divisor)
        case {"rest": over, "by": divisor}:
            return Remainder(expression(over), divisor)
        case {"abs": over}:
            return Absolute(expression(over))
        case {"clamp": over, "low": low, "high": high}:
            return Clamped(expression(over), low, high)
        case {"element": name, "at": at}:
            return Element(name, tuple(map(expression, at)))
        case {"list": values, "at": at}:
            return Listed(listed(values, tuple), tuple(map(expression, at)))
    raise ValueError(f"no expression has the form {row!r}")
