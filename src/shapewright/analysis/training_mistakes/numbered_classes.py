"""Find classes that are numbered in the order of their text, 1, 10, 11, 2, whose
numbers a program takes for their names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.set_orders import find_set_orders
from shapewright.findings.codes import CLASSES_BY_TEXT, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import collect_names, get_called_name

MAPS = ("classes", "class_to_idx", "find_classes")
"""Attributes of a data set that tell the names of its classes."""
SIZES = frozenset({"len", "print"})
"""Functions that read them and map nothing."""
SAME_NUMBERS = (
    operators_with("regroups_dims", "moves_device", "keeps_elements")
    | operators_with("returns_python_value")
    | {"int", "str", "list", "zip", "enumerate", "numpy", "squeeze"}
)
"""Calls after which classes are what they were."""
RANKED = frozenset({"max", "topk"})
WRITING = frozenset({"writerow", "write"})
TRUTHS = re.compile(r"label|target|truth|true|actual|^ys?$|answer|solution", re.I)
ROUNDS = 4
"""How often the file is read for what follows from predictions."""
MOST_SHOWN = 5


@looks_for(CLASSES_BY_TEXT)
def find_classes_by_text(scene: RehearsalContext) -> Iterator[Finding]:
    """Find data sets whose class numbers are not those that their folders have."""
    yield from find_set_orders(scene)
    seen: set[object] = set()
    texts = list(scene.program.own_texts())
    if any(_has_map(text) for text in texts):
        return
    for met in scene.observations("numbered-classes"):
        kind, shown = met.name.split()
        names = shown.split(",")
        for text in texts:
            use = next(_iter_uses(text), None)
            if use is None:
                continue
            calls = (
                node
                for node in text.nodes
                if isinstance(node, ast.Call) and get_called_name(node) == kind
            )
            call = next(calls, None)
            span = text.span(call) if call is not None else scene.span(met.place)
            if span in seen:
                continue
            seen.add(span)
            at = next(
                n for n, name in enumerate(names) if int(name) != n + int(names[0])
            )
            yield build_finding(
                CLASSES_BY_TEXT,
                f"`{kind}` numbers its classes in the order of their text,"
                f" {', '.join(names[:MOST_SHOWN])} ...: class {at} is `{names[at]}`,"
                " and the program takes the number of a class for its name",
                span,
                (text.span(use), "a number is taken here for a name"),
            )


def _has_map(text: SourceText) -> bool:
    """Return whether a program reads the names of a data set's classes."""
    for node in text.nodes:
        if not isinstance(node, ast.Attribute) or node.attr not in MAPS:
            continue
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            continue
        if get_called_name(text.parent(node) or node) not in SIZES:
            return True
    return False


def _iter_uses(text: SourceText) -> Iterator[ast.expr]:
    """Yield where a predicted class is counted from one, or written to a file."""
    predictions = _Predictions(text)
    calls = {get_called_name(node) for node in text.nodes}
    for node in text.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            pairs = (node.left, node.right), (node.right, node.left)
            for value, added in pairs:
                is_one = isinstance(added, ast.Constant) and added.value == 1
                if is_one and predictions.has(value):
                    yield node
    for node in text.nodes:
        if not isinstance(node, ast.Call):
            continue
        name = get_called_name(node)
        is_table = name == "DataFrame" and calls & {"to_csv", "to_excel"}
        is_written = bool(is_table) or name in WRITING
        has_truth = any(TRUTHS.search(word) for word in collect_names(node))
        if is_written and not has_truth and any(map(predictions.has, node.args)):
            yield node


class _Predictions:
    """The names in a file that hold predicted classes, each with its function."""

    def __init__(self, text: SourceText) -> None:
        self.text = text
        self.names: set[tuple[ast.AST | None, str]] = set()
        self.others: set[tuple[ast.AST | None, str]] = set()
        self.functions: set[str] = set()
        for _ in range(ROUNDS):
            self.others.clear()  # of a round that knew less
            for node in text.nodes:
                self._read(node)
        self.names -= self.others

    def _key(self, node: ast.AST, name: str) -> tuple[ast.AST | None, str]:
        """Return the function around a node, and a name in it."""
        return self.text.around(node, ast.FunctionDef), name

    def _add(self, target: ast.expr) -> None:
        """Add the names of a target."""
        self.names |= {self._key(target, name) for name in collect_names(target)}

    def _read(self, node: ast.AST) -> None:
        """Add the names to which a statement gives predicted classes."""
        match node:
            case ast.Assign([ast.Tuple([_, second])], value):
                if get_called_name(value) in RANKED:
                    self._add(second)
            case ast.Assign([ast.Name() as name], value) if self.has(value):
                self._add(name)
            case ast.AugAssign(target, _, value) if self.has(value):
                self._add(target)
            case ast.For() | ast.comprehension():
                self._read_loop(node.target, node.iter)
            case ast.Return(ast.expr() as value) if self.has(value):
                function = self.text.around(node, ast.FunctionDef)
                if function is not None:
                    self.functions.add(function.name)
            case ast.Call(ast.Attribute(ast.Name() as owner, "append" | "extend")):
                if any(map(self.has, node.args)):
                    self._add(owner)

    def _read_loop(self, target: ast.expr, over: ast.expr) -> None:
        """Add the last name of a loop over predicted classes; the others, and those of
        other loops, are counts.
        """
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        if self.has(over):
            self._add(parts[-1])
            parts = parts[:-1]
        for part in parts:
            self.others |= {self._key(part, name) for name in collect_names(part)}

    def has(self, node: ast.expr) -> bool:
        """Return whether an expression holds predicted classes."""
        match node:
            case ast.Name(name):
                return self._key(node, name) in self.names
            case ast.Call(function, arguments):
                name = get_called_name(node)
                if name == "argmax" or name in self.functions:
                    return True
                owner = function.value if isinstance(function, ast.Attribute) else None
                parts = [owner] if owner is not None else arguments
                return name in SAME_NUMBERS and any(map(self.has, parts))
            case ast.Attribute(value, "indices"):
                return get_called_name(value) in RANKED
            case ast.Subscript(value, ast.Constant(1)):
                return get_called_name(value) in RANKED or self.has(value)
            case ast.Subscript(value):
                return self.has(value)
            case ast.Dict():
                return any(map(self.has, node.values))
            case ast.Tuple() | ast.List():
                return any(map(self.has, node.elts))
            case ast.JoinedStr():
                return any(map(self.has, node.values))
            case ast.FormattedValue(value):
                return self.has(value)
        return False
