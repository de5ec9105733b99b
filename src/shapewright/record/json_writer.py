"""The parts of a record as versioned JSON, and its JSON Schema. Facts, spans and frame
chains are written once, in tables.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from shapewright.findings.finding import Finding
from shapewright.program.spans import Frame, Span
from shapewright.record.formulas import Branch, Formulas
from shapewright.record.ops import Assumption, Fact, ModuleCall, Op, Source, State
from shapewright.record.totals import Totals
from shapewright.sizes.expressions import Size

VERSION = 1
"""Incremented if an old reader would misread the format, not for an added field."""


class UnreadableTrace(ValueError):
    """Raised for text that is not a trace readable by this version."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the output of `Trace.to_json` as a dict.

    Example: ``jsonschema.validate(json.loads(trace.to_json()), schema())``.
    """
    text = files("shapewright.record").joinpath("schema.json").read_text("utf-8")
    whole: dict[str, Any] = json.loads(text)
    return whole


Json = Any

_TOTALS = (
    "parameters",
    "trainable",
    "parameter_bytes",
    "buffers",
    "buffer_bytes",
    "unused_parameters",
    "flops",
    "multiply_adds",
    "activations",
    "activation_bytes",
    "real_bytes",
    "ops",
)
"""The fields of `Totals` that are numbers."""


def write_totals(totals: Totals) -> Json:
    """Convert the totals to their numbers; readers compute them from the ops."""
    return {name: int(getattr(totals, name)) for name in _TOTALS}


class TableWriter:
    """Tables of values that ops share; a value gets its position when first written."""

    def __init__(self) -> None:
        self.facts: dict[tuple[Fact, str], int] = {}
        self.files: dict[str, int] = {}
        self.spans: dict[tuple[int, ...], int] = {}
        self.frames: dict[tuple[int, str], int] = {}
        self.chains: dict[tuple[int, ...], int] = {}
        self._span_of: dict[Span, int] = {}
        self._chain_of: dict[tuple[Frame, ...], int] = {}

    def fact(self, fact: Fact) -> int:
        """Return the position of a fact."""
        key = (fact, "" if _is_plain(fact) else f"{fact.shape}{fact.stride}")
        return self.facts.setdefault(key, len(self.facts))

    def span(self, span: Span | None) -> int | None:
        """Return the position of a span, or None for None."""
        if span is None:
            return None
        place = self._span_of.get(span)
        if place is None:
            file = self.files.setdefault(span.file, len(self.files))
            row = (file, span.line, span.column, span.end_line, span.end_column)
            place = self.spans.setdefault(row, len(self.spans))
            self._span_of[span] = place
        return place

    def chain(self, frames: tuple[Frame, ...]) -> int:
        """Return the position of a chain of frames."""
        place = self._chain_of.get(frames)
        if place is None:
            row = tuple(self._frame(frame) for frame in frames)
            place = self.chains.setdefault(row, len(self.chains))
            self._chain_of[frames] = place
        return place

    def _frame(self, frame: Frame) -> int:
        span = self.span(frame.span)
        assert span is not None
        return self.frames.setdefault((span, frame.function), len(self.frames))

    def nest(self, value: Any) -> Json:
        """Convert nested containers, facts and plain values to JSON.

        JSON's own null, booleans, integers, finite numbers and strings stand for
        themselves; all else is an object with one key that names the type.
        """
        if isinstance(value, Fact):
            return {"fact": self.fact(value)}
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, Size):
            return {"size": [int(value), str(value)]}
        if isinstance(value, int):
            return int(value)
        if isinstance(value, dict):
            pairs = [[self.nest(k), self.nest(v)] for k, v in value.items()]
            return {"dict": pairs}
        for kind, name in _SEQUENCES:
            if isinstance(value, kind):
                return {name: [self.nest(item) for item in value]}
        return self._scalar(value)

    def _scalar(self, value: Any) -> Json:
        if isinstance(value, float):
            finite = value == value and abs(value) != float("inf")
            return float(value) if finite else {"float": str(float(value))}
        if isinstance(value, complex):
            return {"complex": [str(value.real), str(value.imag)]}
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return {"slice": [self.nest(part) for part in parts]}
        if value is ...:
            return {"ellipsis": True}
        return {"text": str(value)}

    def op(self, place: int, op: Op) -> Json:
        """Convert an op to a row, placed at its index."""
        assert op.index == place, f"op {op.index} stands at {place}"
        row: dict[str, Json] = {
            "name": op.name,
            "in": [self.fact(fact) for fact in op.inputs],
            "out": [self.fact(fact) for fact in op.outputs],
            "kind": op.kind,
            "module": op.module,
        }
        if op.call != 1:
            row["call"] = op.call
        if op.span is not None:
            row["span"] = self.span(op.span)
        if op.frames:
            row["chain"] = self.chain(op.frames)
        if op.arguments:
            row["arguments"] = [
                [name, self.nest(value)] for name, value in op.arguments
            ]
        if op.view_of is not None:
            row["view_of"] = op.view_of
        if op.flops is not None:
            row["flops"] = op.flops
        if op.bytes_read:
            row["read"] = op.bytes_read
        if op.bytes_written:
            row["written"] = op.bytes_written
        if op.notes:
            row["notes"] = list(op.notes)
        if op.places:
            row["places"] = list(op.places)
        if op.function:
            row["function"] = op.function
        return row

    def call(self, place: int, call: ModuleCall) -> Json:
        """Convert a module call to a row, placed at its index."""
        assert call.index == place, f"call {call.index} stands at {place}"
        args, kwargs = call.inputs
        row: dict[str, Json] = {
            "path": call.path,
            "class": call.class_name,
            "call": call.call,
            "parent": call.parent,
            "depth": call.depth,
            "args": [self.nest(value) for value in args],
            "kwargs": {name: self.nest(value) for name, value in kwargs.items()},
            "output": self.nest(call.output),
            "states": [self.state(state) for state in call.states],
            "ops": list(call.ops),
            "span": self.span(call.span),
        }
        if call.method != "forward":
            row["method"] = call.method
        if call.notes:
            row["notes"] = list(call.notes)
        return row

    def state(self, state: State) -> Json:
        """Convert a parameter or buffer to a row."""
        row: dict[str, Json] = {"path": state.path, "fact": self.fact(state.fact)}
        if state.buffer:
            row["buffer"] = True
        if not state.saved:
            row["saved"] = False
        if state.tied is not None:
            row["tied"] = state.tied
        return row

    def rows(self) -> dict[str, Json]:
        """Return the tables with all values added so far."""
        return {
            "facts": [_write_fact(fact) for fact, _ in self.facts],
            "files": list(self.files),
            "spans": [list(span) for span in self.spans],
            "frames": [list(frame) for frame in self.frames],
            "chains": [list(chain) for chain in self.chains],
        }


_SEQUENCES: tuple[tuple[Any, str], ...] = (
    (tuple, "tuple"),
    (list, "list"),
    (frozenset, "frozenset"),
    (set, "set"),
)


def _write_fact(fact: Fact) -> Json:
    """Convert a fact, omitting defaults; no stride means a contiguous stride."""
    row: dict[str, Json] = {"shape": list(map(int, fact.shape)), "dtype": fact.dtype}
    if fact.stride is None:
        row["stride"] = None
    elif fact.stride != compute_contiguous(fact.shape):
        row["stride"] = list(map(int, fact.stride))
    for name, default in _FACT_DEFAULTS:
        value = getattr(fact, name)
        if value != default:
            row[name] = value
    if not _is_plain(fact):
        row["formulas"] = [str(size) for size in fact.shape]
        if fact.stride is not None:
            row["stride"] = list(map(int, fact.stride))
            row["stride_formulas"] = [str(step) for step in fact.stride]
    return row


def _is_plain(fact: Fact) -> bool:
    """Return whether all sizes and strides of a fact are without a formula."""
    sizes = (*fact.shape, *(fact.stride or ()))
    return not any(isinstance(size, Size) for size in sizes)


_FACT_DEFAULTS: tuple[tuple[str, Any], ...] = (
    ("device", "cpu"),
    ("storage_offset", 0),
    ("layout", "strided"),
    ("requires_grad", False),
    ("is_leaf", True),
    ("grad_fn", None),
    ("grad_shape", None),
    ("version", 0),
    ("tensor", 0),
    ("storage", 0),
    ("unknown", None),
)


def compute_contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the stride of a new tensor: ``(12, 4, 1)`` for ``(2, 3, 4)``."""
    stride, step = [], 1
    for size in reversed(shape):
        stride.append(step)
        step *= max(size, 1)
    return tuple(reversed(stride))


def write_span(span: Span | None) -> Json:
    """Convert a span to JSON as in printed findings: an object, or null for no span."""
    if span is None:
        return None
    return {
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def write_finding(finding: Finding) -> Json:
    """Convert a finding, with field names of ``shapewright check --format json``."""
    return {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "torch_message": finding.torch_message,
        "module": finding.module,
        "count": finding.count,
        "span": write_span(finding.span),
        "related": [
            {"span": write_span(place.span), "message": place.message}
            for place in finding.related
        ],
    }


def write_formulas(formulas: Formulas) -> Json:
    """Convert the `Formulas` of a trace to JSON."""
    return {
        "letters": {
            name: {"low": letter.low, "high": letter.high, "step": letter.step}
            for name, letter in formulas.letters.items()
        },
        "runs": formulas.runs,
        "tried": formulas.tried,
        "derived": formulas.derived,
        "exact": formulas.exact,
        "varying": {
            name: _write_branch(branch) for name, branch in formulas.varying.items()
        },
        "branches": [_write_branch(branch) for branch in formulas.branches],
        "names": [
            {
                "value": name_record.value,
                "name": name_record.name,
                "module": name_record.module,
            }
            for name_record in formulas.names
        ],
    }


def _write_branch(branch: Branch) -> Json:
    return {"message": branch.message, "span": write_span(branch.span)}


def write_assumption(assumption: Assumption) -> Json:
    """Convert an assumption with its place and count to JSON."""
    return {
        "message": assumption.message,
        "span": write_span(assumption.span),
        "count": assumption.count,
        **(
            {"stands_for": assumption.stands_for, "basis": assumption.basis}
            if assumption.stands_for
            else {}
        ),
    }


def write_source(source: Source) -> Json:
    """Convert a source file of the program, with its text, to JSON."""
    return {"file": source.file, "sha256": source.sha256, "text": source.text}
