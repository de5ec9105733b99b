"""Find blocks whose first branch gets a normalized input and whose second shortcut adds
the normalized tensor: `x = x + f(norm(x))`, then `x = norm2(x)` and `x = x + g(x)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.shortcuts import has_run
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import RESULT_DROPPED
from shapewright.findings.finding import Finding, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_own_attribute

NORMS = re.compile(r"Norm(?!al)|Norm$")
"""Names of classes that normalize."""
_Reads = frozenset[tuple[str, bool]]
"""The names that an expression reads, each with whether a norm stands between."""


@dataclass(frozen=True, slots=True)
class _LostStream:
    """The statement that puts the normalized tensor in the place of the stream, the sum
    before it whose branch alone was normalized, and the one behind it.
    """

    statement: ast.Assign
    before: ast.stmt
    behind: ast.stmt
    name: str


def find_normalized_shortcuts(program: Program) -> Iterator[Finding]:
    """Find shortcuts that add a normalized tensor, where the one before them adds the
    tensor itself.
    """
    for text in program.own_texts():
        for _, function in text.functions("forward"):
            if not isinstance(function, ast.FunctionDef):
                continue
            lost = find_lost_stream(program, function)
            if lost is None or not has_run(program, text, function):
                continue
            yield _describe_stream(text, lost)


def _describe_stream(text: SourceText, lost: _LostStream) -> Finding:
    """Return what is said of a stream that its normalized tensor replaces."""
    written = text.line_of(lost.statement.value)
    return Finding(
        RESULT_DROPPED,
        "warning",
        f"`{written}` takes the place of `{lost.name}`, and nothing adds `{lost.name}`"
        f" itself any more: the shortcut at line {lost.behind.lineno} adds the"
        f" normalized tensor, where that at line {lost.before.lineno} adds"
        f" `{lost.name}` and only its branch is normalized",
        text.span(lost.statement),
        related=(
            Related(text.span(lost.before), "the branch alone is normalized here"),
            Related(text.span(lost.behind), "the shortcut adds the normalized tensor"),
        ),
    )


def find_lost_stream(program: Program, function: ast.FunctionDef) -> _LostStream | None:
    """Return where a block of two shortcuts normalizes the stream of the second one, if
    it normalizes the branch alone of the first, and nothing behind the second.
    """
    norms = {
        path.rpartition(".")[2]
        for path, built in program.built.items()
        if NORMS.search(built.class_name)
    }
    reads: dict[str, _Reads] = {}
    before: dict[str, ast.stmt] = {}
    replaced: dict[str, ast.Assign] = {}
    for at, statement in enumerate(function.body):
        name, branch = _get_sum(statement)
        kinds = {
            is_normed
            for read, is_normed in (_list_reads(branch, reads, norms) if branch else ())
            if read == name
        }
        if name and name in replaced and kinds == {False}:
            rest = function.body[at + 1 :]
            if any(_has_norm_of(part, name, norms) for part in rest):
                return None
            return _LostStream(replaced[name], before[name], statement, name)
        if name:
            before.pop(name, None)
            replaced.pop(name, None)
            if kinds == {True}:
                before[name] = statement
        elif isinstance(statement, ast.Assign):
            target = statement.targets[0]
            own = target.id if isinstance(target, ast.Name) else ""
            if own in before and _get_normed(statement.value, norms) == own:
                replaced[own] = statement
            elif own:
                before.pop(own, None)
                reads[own] = _list_reads(statement.value, reads, norms)
    return None


def _get_sum(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """Return `x` and `f(x)` of `x = x + f(x)`, or an empty name."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        is_sum = isinstance(statement.op, ast.Add)
        return (statement.target.id, statement.value) if is_sum else ("", None)
    value = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(statement, ast.Assign) or not isinstance(value, ast.BinOp):
        return "", None
    target = statement.targets[0]
    for side, other in ((value.left, value.right), (value.right, value.left)):
        if not isinstance(target, ast.Name) or not isinstance(side, ast.Name):
            continue
        if isinstance(value.op, ast.Add) and side.id == target.id:
            return target.id, other
    return "", None


def _get_normed(node: ast.AST, norms: set[str]) -> str:
    """Return `x` of `self.norm(x)`, or an empty string."""
    if not isinstance(node, ast.Call) or get_own_attribute(node.func) not in norms:
        return ""
    first = node.args[0] if len(node.args) == 1 and not node.keywords else None
    return first.id if isinstance(first, ast.Name) else ""


def _list_reads(node: ast.AST, reads: dict[str, _Reads], norms: set[str]) -> _Reads:
    """Return the names that an expression reads, also by names that were set above."""
    normed = _get_normed(node, norms)
    if normed:
        return reads.get(normed, frozenset({(normed, True)}))
    if isinstance(node, ast.Name):
        return reads.get(node.id, frozenset({(node.id, False)}))
    parts = (_list_reads(part, reads, norms) for part in ast.iter_child_nodes(node))
    return frozenset().union(*parts)


def _has_norm_of(statement: ast.stmt, name: str, norms: set[str]) -> bool:
    """Return whether a statement normalizes what a name stands for."""
    return any(_get_normed(node, norms) == name for node in ast.walk(statement))
