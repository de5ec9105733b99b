"""Edits of metrics that have the formula of another one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.metric_formulas import (
    ATOMS,
    find_last_defined,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_last_name

MEANT = re.compile(r"is (?P<top>[^/]+) / \((?P<bottom>[^)]+)\)$")
"""The right formula at the end of a message."""


def suggest_formula(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `tp / (tp + fp)`, with the names that the program has for the counts."""
    if not isinstance(node, ast.BinOp):
        return
    if "lacks its factor of 2" in finding.message:
        new = f"2 * {text.written(node.left)}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node.left), new),))
        return
    if "twice: the" in finding.message:
        union, inter = finding.message.split("`")[1], finding.message.split("`")[5]
        value = find_last_defined(text, union, node.lineno)
        if value is not None:
            new = f"{text.written(value)} - {inter}"
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(value), new),))
        return
    meant = MEANT.search(finding.message)
    names = _read_names(text, node)
    if meant is None:
        return
    for part, right in ((node.left, meant["top"]), (node.right, meant["bottom"])):
        own = {atom for atom in ATOMS for name in _list_names(part) if _is(atom, name)}
        atoms = set(re.findall(r"\b(?:tp|fp|fn|tn)\b", right))
        lost, more = own - atoms, atoms - own
        if not lost and not more:
            continue
        if len(lost) != 1 or len(more) != 1:
            return
        wrong, other = lost.pop(), more.pop()
        for name in _list_names(part):
            new = _find_name(text, name, other) or names.get(other, "")
            if _is(wrong, name) and new:
                shown = text.line_of(part).replace(text.written(name), new)
                yield Fix("fits", f"`{shown}`", (Edit(text.span(name), new),))
                return


def _list_names(node: ast.AST) -> list[ast.expr]:
    return [p for p in ast.walk(node) if isinstance(p, ast.Name | ast.Attribute)]


def _is(atom: str, node: ast.expr) -> bool:
    """Return whether a name is that of a count."""
    return bool(ATOMS[atom].search(get_last_name(node)))


def _find_name(text: SourceText, like: ast.expr, atom: str) -> str:
    """Return the attribute of the same object that has another count, or ''."""
    if not isinstance(like, ast.Attribute):
        return ""
    names = [
        part.attr
        for part in text.nodes
        if isinstance(part, ast.Attribute) and ATOMS[atom].search(part.attr)
    ]
    return f"{text.written(like.value)}.{names[0]}" if names else ""


def _read_names(text: SourceText, node: ast.BinOp) -> dict[str, str]:
    """Return how the program writes each count in the function of a quotient, or else
    anywhere.
    """
    scope = text.around(node, ast.FunctionDef)
    names: dict[str, str] = {}
    for part in [*(ast.walk(scope) if scope is not None else ()), *text.nodes]:
        if isinstance(part, ast.Name | ast.Attribute):
            for atom in ATOMS:
                if _is(atom, part):
                    names.setdefault(atom, text.written(part))
    return names
