"""Losses that are a constant made anew, as for a batch without objects."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from math import prod

from shapewright.analysis.program_run import Program
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Op

FACTORIES = operators_with("is_factory") - operators_with("is_random")
SHORT = 48
"""Characters of a condition that a message quotes."""


@dataclass(frozen=True, slots=True)
class ConstantTerm:
    """A call that makes a new number of no other one, and the branch that it is in."""

    text: SourceText
    node: ast.Call
    branch: ast.If | ast.IfExp | None

    def describe_branch(self) -> str:
        """Return when the branch is taken: `, where `found` does not hold`."""
        if self.branch is None:
            return ""
        written = join_lines(self.text.written(self.branch.test))
        if len(written) > SHORT:
            written = f"{written[: SHORT - 3]}..."
        first = self.branch.body
        holds = any(
            part is self.node
            for top in (first if isinstance(first, list) else [first])
            for part in ast.walk(top)
        )
        return f", where `{written}` {'holds' if holds else 'does not hold'}"


def find_constant_term(program: Program, op: Op) -> ConstantTerm | None:
    """Return the call of the program that made a single number anew, or None."""
    place = program.call_at(op.span)
    if place is None or op.name.rpartition(".")[2] not in FACTORIES or not op.outputs:
        return None
    output = op.outputs[0]
    if prod(output.shape) != 1 or not output.dtype.startswith(("float", "bfloat")):
        return None
    text, call = place
    if not is_constant_call(call):
        return None
    return ConstantTerm(text, call, find_branch(text, call))


def is_constant_call(node: ast.AST) -> bool:
    """Return whether a call makes a tensor of numbers that are written, or has the
    shape of another tensor and none of its values.
    """
    name = get_called_name(node)
    if not isinstance(node, ast.Call) or name not in FACTORIES:
        return False
    if name.endswith("_like"):
        return len(node.args) == 1
    words = [word.value for word in node.keywords if word.arg in ("size", "data")]
    inside = [part for argument in [*node.args, *words] for part in ast.walk(argument)]
    return not any(isinstance(part, ast.Name | ast.Call) for part in inside)


def find_branch(text: SourceText, node: ast.AST) -> ast.If | ast.IfExp | None:
    """Return the condition around an expression in its function, the nearest one."""
    child = node
    for outer in text.outwards(node):
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return None
        if isinstance(outer, ast.If | ast.IfExp) and child is not outer.test:
            return outer
        child = outer
    return None


def is_zero(node: ast.Call) -> bool:
    """Return whether a call makes zeros."""
    name = get_called_name(node)
    if "zeros" in name:
        return True
    value = node.args[-1] if node.args else None
    if isinstance(value, ast.List | ast.Tuple) and len(value.elts) == 1:
        value = value.elts[0]
    return isinstance(value, ast.Constant) and value.value == 0
