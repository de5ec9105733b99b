"""Tensors among what is written as JSON: a metric that was never made a number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Op

REFUSED = re.compile(r"Object of type Tensor is not JSON serializable")
STORING = frozenset({"update", "append", "add", "log", "put", "add_scalar"})
MOST = 12


def find_unwritten_tensor(program: Program, finding: Finding) -> Explanation | None:
    """Return that a tensor stands among what is written as JSON, or None."""
    if not REFUSED.search(finding.words):
        return None
    message = "one of the values is still a tensor: `item()` makes it a number"
    return Explanation(message, (), tuple(_suggest_items(program))[:MOST])


def _suggest_items(program: Program) -> Iterator[Fix]:
    """Suggest `item()` where a tensor without dims is put into a meter or a dict."""
    lines = {
        (frame.span.file, frame.span.line)
        for op in program.trace.ops
        if _is_number(op)
        for frame in op.frames
    }
    for text in program.own_texts():
        names = _list_names(text, lines)
        for node in text.nodes:
            if isinstance(node, ast.Call) and get_called_name(node) in STORING:
                arguments: list[ast.expr] = node.args
            elif isinstance(node, ast.Dict):
                arguments = node.values
            else:
                continue
            for argument in arguments:
                if isinstance(argument, ast.Name) and argument.id in names:
                    written = join_lines(text.written(argument))
                    edit = Edit(text.span(argument).end, ".item()")
                    yield Fix("fits", f"`{written}.item()`", (edit,))


def _is_number(op: Op) -> bool:
    """Return whether a call makes a tensor without dims."""
    return any(not fact.shape for fact in op.outputs)


def _list_names(text: SourceText, lines: set[tuple[str, int]]) -> set[str]:
    """Return the names that are given what calls on some lines make."""
    return {
        part.id
        for node in text.nodes
        if isinstance(node, ast.Assign) and (text.file, node.lineno) in lines
        for target in node.targets
        for part in ast.walk(target)
        if isinstance(part, ast.Name)
    }
