"""Evaluate expressions of the program at the point where its own Python raised.

Nothing is run: names are looked up, sizes are read from the record, numbers are
compared. Any other expression has no known value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from shapewright.analysis.program_run import Program
from shapewright.operators.failed_calls import Ending
from shapewright.program.expression_values import (
    COMPARISONS,
    OPERATORS,
    Operators,
    UnknownValue,
    evaluate_node,
)
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import iter_assignments
from shapewright.record.ops import Fact

SIGNS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
ARITHMETIC: Operators = {kind: OPERATORS[kind] for kind in (*SIGNS, ast.USub)}
TESTED: Operators = {**ARITHMETIC, **COMPARISONS}


@dataclass(frozen=True, slots=True)
class Known:
    """A value, and the tensor dim (or whole shape) that it was read from."""

    value: Any
    fact: Fact | None = None
    dim: int | None = None


@dataclass(frozen=True, slots=True)
class FileValues:
    """A file of the program, and the values that its names had at the end."""

    program: Program
    text: SourceText
    ending: Ending

    def written(self, node: ast.expr) -> str:
        """Return the text of an expression, on one line."""
        return self.text.line_of(node)

    def tensor(self, node: ast.expr) -> Fact | None:
        """Return the tensor of an expression, by its name or from the call at its
        place, or None.
        """
        fact = self.ending.tensors.get(self.written(node))
        if fact is not None:
            return fact
        span = self.text.span(node)
        makers = [op for op in self.program.trace.ops if op.span == span and op.outputs]
        return makers[-1].outputs[0] if makers else None

    def known(self, node: ast.expr) -> Known | None:
        """Return the value of an expression, or None if it is not known."""
        known = self.read(node)
        if known is None:
            with suppress(UnknownValue, TypeError, ZeroDivisionError):
                value = evaluate_node(node, self.value_read, ARITHMETIC)
                known = Known(tuple(value) if isinstance(value, list) else value)
        return known

    def value_read(self, node: ast.expr) -> Any:
        """Return the value of an expression that is read, or raise `UnknownValue` if it
        is not known.
        """
        known = self.read(node)
        if known is None:
            raise UnknownValue
        return known.value

    def read(self, node: ast.expr) -> Known | None:
        """Return the value that a shape, a name or an item had, or None."""
        known = self.shape(node)
        if known is None and isinstance(node, ast.Name | ast.Attribute):
            return self.named(node)
        if known is None and isinstance(node, ast.Subscript):
            return self.item(node)
        return known

    def shape(self, node: ast.expr) -> Known | None:
        """Evaluate `x.shape`, `x.size(1)`, `x.dim()`, `x.ndim` or `len(x)`."""
        if isinstance(node, ast.Attribute) and node.attr in ("shape", "ndim"):
            fact = self.tensor(node.value)
            if fact is None:
                return None
            whole = node.attr == "shape"
            return Known(fact.shape if whole else len(fact.shape), fact)
        if not isinstance(node, ast.Call) or node.keywords:
            return None
        called, args = node.func, node.args
        if isinstance(called, ast.Name) and called.id == "len" and len(args) == 1:
            fact = self.tensor(args[0])
            return Known(fact.shape[0], fact, 0) if fact and fact.shape else None
        if not isinstance(called, ast.Attribute):
            return None
        fact = self.tensor(called.value)
        if fact is None:
            return None
        if called.attr in ("dim", "ndimension") and not args:
            return Known(len(fact.shape), fact)
        if called.attr != "size":
            return None
        return (
            _get_size(Known(fact.shape, fact), self.known(args[0]))
            if args
            else Known(fact.shape, fact)
        )

    def named(self, node: ast.expr) -> Known | None:
        """Return a number by its name and, if known, the shape that it was read
        from.
        """
        value = self.ending.values.get(self.written(node))
        if value is None:
            return None
        read = self.read_at(node) if isinstance(node, ast.Name) else None
        return read if read is not None and read.value == value else Known(value)

    def item(self, node: ast.Subscript) -> Known | None:
        """Return one size of a shape, or a slice of it, or None."""
        whole = self.known(node.value)
        if whole is None or not isinstance(whole.value, tuple):
            return None
        if not isinstance(node.slice, ast.Slice):
            return _get_size(whole, self.known(node.slice))
        ends = [
            self.known(end) if end is not None else Known(None)
            for end in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        if any(end is None for end in ends):
            return None
        return Known(whole.value[slice(*(end.value for end in ends if end))])

    def read_at(self, node: ast.Name) -> Known | None:
        """Return the dim that a name was unpacked or read from in the same function, or
        None.
        """
        holder = self.text.around(node, ast.FunctionDef, ast.AsyncFunctionDef)
        known: Known | None = None
        for target, value in iter_assignments(holder, before=node.lineno):
            read = self.from_target(target, value, node.id)
            known = read if read is not None else known
        return known

    def from_target(self, target: ast.expr, value: ast.expr, name: str) -> Known | None:
        """Find `name` in `a, name = x.shape` or `name = x.size(1)`."""
        if isinstance(target, ast.Name):
            return self.shape_or_item(value) if target.id == name else None
        if not isinstance(target, ast.Tuple | ast.List):
            return None
        names = [item.id if isinstance(item, ast.Name) else "" for item in target.elts]
        if name not in names:
            return None
        at = names.index(name)
        if isinstance(value, ast.Tuple) and len(value.elts) == len(names):
            return self.shape_or_item(value.elts[at])
        part = self.part(value)
        if part is None or len(part[1]) != len(names):
            return None
        fact, dims = part
        return Known(fact.shape[dims[at]], fact, dims[at])

    def part(self, value: ast.expr) -> tuple[Fact, list[int]] | None:
        """Return the tensor and the dims of `x.shape`, `x.size()` or `x.shape[-2:]`."""
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
            whole = self.part(value.value)
            low, high = value.slice.lower, value.slice.upper
            ends = [
                self.known(e) if e is not None else Known(None) for e in (low, high)
            ]
            if whole is None or ends[0] is None or ends[1] is None:
                return None
            return whole[0], whole[1][ends[0].value : ends[1].value]
        shape = self.shape(value)
        if shape is None or shape.fact is None or not isinstance(shape.value, tuple):
            return None
        return shape.fact, list(range(len(shape.value)))

    def shape_or_item(self, value: ast.expr) -> Known | None:
        """Return a size that an expression reads from a shape, or None."""
        known = self.known(value) if not isinstance(value, ast.Name) else None
        return known if known is not None and known.fact is not None else None

    def holds(self, test: ast.expr) -> bool | None:
        """Return whether a condition holds, or None if that is not known."""
        if isinstance(test, ast.BoolOp):
            outcomes = [self.holds(value) for value in test.values]
            wanted = isinstance(test.op, ast.Or)
            if wanted in outcomes:
                return wanted
            return None if None in outcomes else not wanted
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.holds(test.operand)
            return None if inner is None else not inner
        with suppress(UnknownValue, TypeError, ZeroDivisionError):
            return bool(evaluate_node(test, self.value_read, TESTED))
        return None


def _get_size(whole: Known, place: Known | None) -> Known | None:
    """Return one size of a shape, or None if the index is unknown or out of range."""
    if place is None or type(place.value) is not int:
        return None
    rank = len(whole.value)
    if not -rank <= place.value < rank:
        return None
    at = place.value % rank
    return Known(whole.value[at], whole.fact, at if whole.fact is not None else None)


def iter_reasons(frame: FileValues, test: ast.expr, held: bool) -> Iterator[ast.expr]:
    """Yield the parts of a condition that make it true (or false, according to
    `held`).
    """
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            if frame.holds(value) is held:
                yield from iter_reasons(frame, value, held)
        return
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from iter_reasons(frame, test.operand, not held)
        return
    yield test


def collect_operands(test: ast.expr) -> list[ast.expr]:
    """Return both sides of a comparison, and the operands of their arithmetic."""
    sides = [test]
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
    operands: list[ast.expr] = []
    for side in sides:
        if isinstance(side, ast.BinOp) and isinstance(side.op, SIGNS):
            operands += collect_operands(side.left) + collect_operands(side.right)
        elif not isinstance(side, ast.Constant):
            operands.append(side)
    return operands
