"""Reading the parts of a record back from JSON: the twin of `json_writer`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shapewright.findings.finding import Finding, Related
from shapewright.program.spans import Frame, Span
from shapewright.record.formulas import Branch, Checked, Formulas, Named
from shapewright.record.json_writer import VERSION, UnreadableTrace, compute_contiguous
from shapewright.record.ops import Assumption, Fact, ModuleCall, Op, State
from shapewright.sizes.expressions import attach_formula, read

Json = Any


@contextmanager
def name_damages(what: str, unreadable: type[ValueError]) -> Iterator[None]:
    """Convert errors from a damaged document to `unreadable` with a short message."""
    try:
        yield
    except KeyError as missing:
        raise unreadable(f"the {what} is damaged: it lacks {missing}") from None
    except (IndexError, TypeError, ValueError, AttributeError) as wrong:
        raise unreadable(f"the {what} is damaged: {wrong}") from wrong


def parse_document(
    text: str | bytes,
    kinds: tuple[str, ...],
    newest: int,
    unreadable: type[ValueError],
    of: str = "",
) -> dict[str, Json]:
    """Parse a JSON document of one of these kinds and check its version."""
    what = kinds[0]
    try:
        record = json.loads(text)
    except ValueError as wrong:
        raise unreadable(f"not a {what}: not JSON ({wrong})") from None
    if not isinstance(record, dict) or record.get("kind") not in kinds:
        wanted = " or ".join(
            (f'`"kind": "{what}"`', *(f'`"{kind}"`' for kind in kinds[1:]))
        )
        raise unreadable(f"not a {what}: the JSON has no {wanted}")
    version = record.get("version")
    if not isinstance(version, int) or version < 1:
        raise unreadable(f"the {what} is damaged: version {version!r}")
    if version > newest:
        raise unreadable(
            f"this {what} has version {version}{of}, written by a newer Shapewright; "
            f"this one reads version {newest}: `pip install --upgrade shapewright`"
        )
    return record


def parse_record(text: str | bytes) -> dict[str, Json]:
    """Parse a record from JSON text and check its version."""
    return parse_document(text, ("trace",), VERSION, UnreadableTrace, " of the record")


def read_formulas(row: Json) -> Formulas | None:
    """Return the `Formulas` of a trace from JSON, or None for null."""
    if row is None:
        return None
    return Formulas(
        {name: Checked(**letter) for name, letter in row["letters"].items()},
        row["runs"],
        row["tried"],
        row.get("derived", 0),
        {name: _read_branch(branch) for name, branch in row["varying"].items()},
        tuple(_read_branch(branch) for branch in row["branches"]),
        tuple(Named(**name_row) for name_row in row.get("names", ())),
    )


def _read_branch(row: Json) -> Branch:
    return Branch(row["message"], _read_span(row["span"]))


class TableReader:
    """The tables of a record's shared values, read by position."""

    def __init__(self, record: dict[str, Json]) -> None:
        files = record["files"]
        self.facts = [_read_fact(row) for row in record["facts"]]
        self.spans = [Span(files[at], *rest[:4]) for at, *rest in record["spans"]]
        frames = [Frame(self.spans[row[0]], row[1]) for row in record["frames"]]
        self.chains = [tuple(frames[at] for at in row) for row in record["chains"]]

    def span(self, place: int | None) -> Span | None:
        """Return the span at a position, or None for None."""
        return None if place is None else self.spans[place]

    def nest(self, value: Json) -> Any:
        """Read a nested structure that `TableWriter.nest` wrote."""
        if not isinstance(value, dict):
            return value
        ((kind, inner),) = value.items()
        if kind == "fact":
            return self.facts[inner]
        if kind == "size":
            return attach_formula(inner[0], read(inner[1]))
        if kind == "dict":
            return {self.nest(key): self.nest(item) for key, item in inner}
        if kind in _SEQUENCES:
            return _SEQUENCES[kind]([self.nest(item) for item in inner])
        return self._scalar(kind, inner)

    def _scalar(self, kind: str, inner: Json) -> Any:
        if kind == "float":
            return float(inner)
        if kind == "complex":
            return complex(float(inner[0]), float(inner[1]))
        if kind == "slice":
            return slice(*[self.nest(part) for part in inner])
        if kind == "ellipsis":
            return ...
        return str(inner)

    def op(self, index: int, row: Json) -> Op:
        """Read an op from its row."""
        facts = self.facts
        chain = row.get("chain")
        arguments = row.get("arguments", ())
        return Op(
            index=index,
            name=row["name"],
            inputs=tuple(facts[at] for at in row["in"]),
            outputs=tuple(facts[at] for at in row["out"]),
            arguments=tuple((name, self.nest(value)) for name, value in arguments),
            kind=row["kind"],
            view_of=row.get("view_of"),
            span=self.span(row.get("span")),
            frames=() if chain is None else self.chains[chain],
            module=row["module"],
            call=row.get("call", 1),
            flops=row.get("flops"),
            bytes_read=row.get("read", 0),
            bytes_written=row.get("written", 0),
            notes=tuple(row.get("notes", ())),
            places=tuple(row.get("places", ())),
            function=row.get("function", ""),
        )

    def call(self, index: int, row: Json) -> ModuleCall:
        """Read a module call from its row."""
        args = tuple(self.nest(value) for value in row["args"])
        kwargs = {name: self.nest(value) for name, value in row["kwargs"].items()}
        begin, end = row["ops"]
        return ModuleCall(
            index=index,
            path=row["path"],
            class_name=row["class"],
            call=row["call"],
            parent=row["parent"],
            depth=row["depth"],
            inputs=(args, kwargs),
            output=self.nest(row["output"]),
            states=tuple(self.state(state) for state in row["states"]),
            ops=(begin, end),
            span=self.span(row["span"]),
            method=row.get("method", "forward"),
            notes=tuple(row.get("notes", ())),
        )

    def state(self, row: Json) -> State:
        """Read a parameter or buffer from its row."""
        return State(
            path=row["path"],
            fact=self.facts[row["fact"]],
            buffer=row.get("buffer", False),
            saved=row.get("saved", True),
            tied=row.get("tied"),
        )


_SEQUENCES: dict[str, Any] = {
    "tuple": tuple,
    "list": list,
    "set": set,
    "frozenset": frozenset,
}


def _read_fact(row: Json) -> Fact:
    shape = tuple(row["shape"])
    stride = row.get("stride", ())
    if "stride" not in row:
        stride = compute_contiguous(shape)
    known_fields = {name: row[name] for name in _FACT_FIELDS if name in row}
    if known_fields.get("grad_shape") is not None:
        known_fields["grad_shape"] = tuple(known_fields["grad_shape"])
    stride = None if stride is None else tuple(stride)
    shape = _attach_formulas(shape, row.get("formulas"))
    stride = _attach_formulas(stride, row.get("stride_formulas"))
    return Fact(shape, row["dtype"], stride, **known_fields)


def _attach_formulas(sizes: Any, formulas: Json) -> Any:
    if sizes is None or formulas is None:
        return sizes
    return tuple(
        attach_formula(size, read(formula))
        for size, formula in zip(sizes, formulas, strict=True)
    )


_FACT_FIELDS = tuple(
    name
    for name in Fact.__dataclass_fields__
    if name not in ("shape", "dtype", "stride")
)


def read_finding(row: Json) -> Finding:
    """Read a finding of a trace."""
    return Finding(
        code=row["code"],
        severity=row["severity"],
        message=row["message"],
        span=_read_span(row["span"]),
        module=row["module"],
        torch_message=row["torch_message"],
        related=tuple(_read_related(place) for place in row["related"]),
        count=row["count"],
    )


def _read_related(row: Json) -> Related:
    span = _read_span(row["span"])
    if span is None:
        raise ValueError("a related place has no span")
    return Related(span, row["message"])


def read_assumption(row: Json) -> Assumption:
    """Read an assumption with its place and count."""
    return Assumption(
        row["message"], _read_span(row["span"]), row["count"],
        row.get("stands_for", ""), row.get("basis", ""),
    )  # fmt: skip


def _read_span(row: Json) -> Span | None:
    if row is None:
        return None
    return Span(
        row["file"], row["line"], row["column"], row["end_line"], row["end_column"]
    )
