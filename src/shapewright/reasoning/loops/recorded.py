"""What the record knows of the names and letters of a loop in the program text."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from shapewright.reasoning.loops.nest import dotted
from shapewright.source.span import Span
from shapewright.trace.fact import Fact
from shapewright.trace.op import Op

Place = tuple[int, int, int, int]


@dataclass(slots=True)
class Recorded:
    """The ops of one file by the expression that made them, and what they tell.

    `facts` are the tensors by their names in the text, `numbers` plain numbers,
    `indices` numbers that stand in brackets, `seen` the values that letters took there.
    """

    text: str
    ops: dict[Place, list[Op]]
    facts: dict[str, Fact] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, set[int]] = field(default_factory=dict)
    indices: dict[str, int] = field(default_factory=dict)

    def at(self, node: ast.AST) -> list[Op]:
        """The ops that this very expression made."""
        place = place_of(node, self.text.split("\n"))
        return self.ops.get(place, []) if place else []

    def learn(self, root: ast.AST, letters: Iterable[str]) -> None:
        """Go through a loop and note what its names are."""
        names = set(letters)
        for node in ast.walk(root):
            ops = self.at(node)
            if not ops:
                continue
            if isinstance(node, ast.Subscript):
                self.indexed(node, ops, names)
            elif isinstance(node, ast.BinOp):
                self.operands([node.left, node.right], ops[0], names)
            elif isinstance(node, ast.AugAssign):
                own = [op for op in ops if not op.name.startswith("[]")]
                if own:
                    self.operands([node.target, node.value], own[0], names)
            elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
                self.operands([node.left, *node.comparators], ops[0], names)
            elif isinstance(node, ast.Call):
                self.called(node, ops, names)

    def called(self, node: ast.Call, ops: list[Op], names: set[str]) -> None:
        """The arguments of a function, the object of a method, what is gone along."""
        unbound = [op for op in ops if op.name.endswith("unbind")]
        name = dotted(node.func)
        if name in ("enumerate", "zip") and len(unbound) >= len(node.args):
            for argument, op in zip(node.args, unbound, strict=False):
                self.tell(argument, op.inputs[0])
            return
        operands = list(node.args)
        if isinstance(node.func, ast.Attribute) and not name.startswith(
            ("torch.", "F.")
        ):
            operands.insert(0, node.func.value)
        own = [op for op in ops if not op.name.endswith("unbind")]
        if own:
            self.operands(operands, own[0], names)

    def indexed(self, node: ast.Subscript, ops: list[Op], names: set[str]) -> None:
        """`x[i, j]`: what `x` is, and which values its letters took."""
        own = [op for op in ops if op.name.startswith("[]")]
        if not own:
            return
        self.tell(node.value, own[0].inputs[0])
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for op in own:
            given = dict(op.arguments).get("1")
            places = given if isinstance(given, tuple) else (given,)
            if len(places) != len(items):
                continue
            for item, place in zip(items, places, strict=True):
                name = dotted(item)
                if type(place) is not int or not name:
                    continue
                if name in names:
                    self.seen.setdefault(name, set()).add(place)
                else:
                    self.indices.setdefault(name, place)

    def operands(self, nodes: list[ast.expr], op: Op, names: set[str]) -> None:
        """The tensors and numbers that a call was given, in order."""
        may = [node for node in nodes if not self.plain(node, names)]
        if len(may) == len(op.inputs):
            for node, fact in zip(may, op.inputs, strict=True):
                self.tell(node, fact)
            return
        sure = [node for node in may if not dotted(node) or dotted(node) in self.facts]
        if len(sure) == len(op.inputs):
            values = [value for _, value in op.arguments]
            rest = [node for node in may if node not in sure]
            if len(values) == len(rest):
                for node, value in zip(rest, values, strict=True):
                    self.numbers.setdefault(dotted(node), value)

    def plain(self, node: ast.expr, names: set[str]) -> bool:
        """Whether it is surely no tensor."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.UnaryOp):
            return self.plain(node.operand, names)
        return dotted(node) in names or dotted(node) in self.numbers

    def tell(self, node: ast.AST, fact: Fact) -> None:
        """A tensor of the text."""
        name = dotted(node)
        if name:
            self.facts.setdefault(name, fact)


def place_of(node: ast.AST, lines: list[str]) -> Place | None:
    """Where a node stands, in columns as spans count them."""
    if not hasattr(node, "lineno") or node.end_lineno is None:  # type: ignore[attr-defined]
        return None

    def column(line: int, offset: int) -> int:
        text = lines[line - 1] if line <= len(lines) else ""
        if text.isascii():
            return offset + 1
        return len(text.encode()[:offset].decode("utf-8", "replace")) + 1

    line, end = node.lineno, node.end_lineno  # type: ignore[attr-defined]
    start, stop = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
    return line, column(line, start), end, column(end, stop)


def span_place(span: Span) -> Place:
    """The same of a span."""
    return span.line, span.column, span.end_line, span.end_column
