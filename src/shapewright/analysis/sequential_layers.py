"""Attributes of a layer inside an `nn.Sequential`: `net.classifier.in_features` where
the classifier is a dropout and a layer; and the reverse, `net.classifier[6]` where it
is a single layer.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.syntax_nodes import FUNCTIONS

MISSING = re.compile(
    r"'(Sequential|ModuleList)' object has no attribute"
    r" '(in_features|out_features|in_channels|out_channels|weight|bias|num_features)'"
)
SINGLE = re.compile(
    r"'(Linear|Conv[123]d|BatchNorm[123]d|LayerNorm|Embedding|Identity)' object"
    r" (is not subscriptable|does not support item assignment)"
)
PLACES = ("[-1]", "[0]", "[1]")
"""The last layer, as in a head, before the first."""


def find_sequential_layer(program: Program, finding: Finding) -> Explanation | None:
    """Return that an attribute is one of a layer in a container, or None."""
    missing = MISSING.search(finding.words)
    place = program.node(finding.span)
    if missing is None or place is None:
        return None
    text, node = place
    kind, name = missing.groups()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr == name:
            written = text.written(part.value)
            message = (
                f"`{written}` is an `nn.{kind}` of several layers: `{name}` belongs to"
                " one of them, as a head's to its last"
            )
            end = text.span(part.value).end
            fixes = tuple(
                Fix("fits", f"`{written}{at}.{name}`", (Edit(end, at),))
                for at in PLACES
            )
            return Explanation(message, (), fixes)
    return None


def find_single_layer(program: Program, finding: Finding) -> Explanation | None:
    """Return that a layer is read by a place although it is no list of layers."""
    single = SINGLE.search(finding.words)
    place = program.node(finding.span)
    if single is None or place is None:
        return None
    text, node = place
    for part in ast.walk(node):
        if not isinstance(part, ast.Subscript) or not _is_layer_place(part):
            continue
        written, whole = text.written(part.value), text.written(part)
        scope = text.around(part, *FUNCTIONS) or text.tree
        spans = [
            text.span(other.value).end.until(text.span(other))
            for other in (ast.walk(scope) if scope is not None else ())
            if isinstance(other, ast.Subscript) and text.written(other) == whole
        ]
        message = (
            f"`{written}` is one `nn.{single[1]}`, not a list of layers: it is read,"
            " and replaced, itself"
        )
        edits = tuple(Edit(span, "") for span in spans)
        return Explanation(message, (), (Fix("fits", f"`{written}`", edits),))
    return None


def _is_layer_place(node: ast.Subscript) -> bool:
    """Return whether a subscript reads an attribute at one place: `net.fc[0]`."""
    index = node.slice
    if isinstance(index, ast.UnaryOp):
        index = index.operand
    return isinstance(node.value, ast.Attribute) and isinstance(index, ast.Constant)
