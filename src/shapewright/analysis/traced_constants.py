"""A module of `torch.jit.trace` that fails at another size than that of its example:
the line that made a Python number of the size, the call that traced it, and the edit.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import SIZE_OF_EXAMPLE
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.spans import Span, is_installed
from shapewright.program.syntax_nodes import get_called_name, get_shape_owner
from shapewright.record.ops import CONSTANT_NOTE, Op

TRACED = "Traceback of TorchScript"
FRAME = re.compile(r"^(?P<file>.+)\((?P<line>\d+)\): \S+$", re.MULTILINE)
"""How TorchScript names the lines that were traced, the innermost first."""
CONVERSIONS = frozenset({"bool", "float", "int", "len", "item", "tolist", "range"})
"""Functions and methods that make Python numbers of a size."""
WHOLE = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
"""Operators that make whole numbers of whole numbers."""


@dataclass(frozen=True, slots=True)
class _Constant:
    """The expression that made a number, in which text, and the call that traced it."""

    text: SourceText
    node: ast.expr
    trace: Span


def explain_traced_constant(program: Program, finding: Finding) -> Finding:
    """Return the finding with its cause, if a traced module fails that keeps a number
    of its example.
    """
    constants = _find_constants(program, finding)
    if not constants:
        return finding
    first = constants[0]
    written = join_lines(first.text.written(first.node))
    line = first.node.lineno
    message = (
        "the traced module fails at another size than that of its example:"
        f" `{written}` at line {line} is a Python number, which `torch.jit.trace` keeps"
        " as a constant"
    )
    related = [
        Related(constant.text.span(constant.node), "the trace keeps the number of this")
        for constant in constants
    ]
    failing = next(_iter_traced_lines(program, finding), None)
    if failing is not None:
        text, number = failing
        nodes = text.near(number)
        if nodes and number not in {constant.node.lineno for constant in constants}:
            related.append(Related(text.span(nodes[0]), "it fails here in the trace"))
    related.append(Related(first.trace, "it is traced here, with an example"))
    return replace(
        finding, code=SIZE_OF_EXAMPLE, message=message,
        related=(*related, *finding.related),
    )  # fmt: skip


def suggest_traced_sizes(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest the sizes themselves, which a trace follows, for numbers made of them."""
    edits: list[Edit] = []
    shown: list[str] = []
    for constant in _find_constants(program, finding):
        new = _write_size(constant.text, constant.node)
        if new:
            edits.append(Edit(constant.text.span(constant.node), new))
            written = join_lines(constant.text.written(constant.node))
            shown.append(f"`{new}` for `{written}`")
    if edits:
        yield Fix("fits", ", ".join(dict.fromkeys(shown)), tuple(edits))


def _write_size(text: SourceText, node: ast.expr) -> str:
    """Return the text of a size that a trace follows, empty where there is none."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return ""
    inner, name = node.args[0], get_called_name(node)
    if name == "len" and isinstance(inner, ast.Name | ast.Attribute):
        return f"{text.written(inner)}.size(0)"
    if name == "int" and isinstance(inner, ast.BinOp) and _is_ratio(text, inner):
        left, right = (text.written(side) for side in (inner.left, inner.right))
        return join_lines(f"({left} // {right})")
    if name != "int" or not _is_whole(text, inner):
        return ""
    new = join_lines(text.written(inner))
    return f"({new})" if isinstance(inner, ast.BinOp) else new


def _is_ratio(text: SourceText, node: ast.BinOp) -> bool:
    """Return whether an expression divides a size by a number: `x.size(1) / 2`."""
    is_plain = isinstance(node.right, ast.Constant) and _is_whole(text, node.right)
    return isinstance(node.op, ast.Div) and is_plain and _is_size(node.left)


def _is_whole(text: SourceText, node: ast.expr) -> bool:
    """Return whether an expression is made of sizes by whole numbers only."""
    if isinstance(node, ast.BinOp):
        whole = isinstance(node.op, WHOLE)
        return whole and _is_whole(text, node.left) and _is_whole(text, node.right)
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.Name):
        values = find_defining(text, node.id)
        return bool(values) and all(_is_size(value) for value in values)
    return _is_size(node)


def _is_size(node: ast.expr) -> bool:
    """Return whether an expression reads a size: `x.size(1)`, `x.shape[1]`."""
    if isinstance(node, ast.Call):
        return get_called_name(node) == "size" and len(node.args) == 1
    return isinstance(node, ast.Subscript) and get_shape_owner(node.value) is not None


def _find_constants(program: Program, finding: Finding) -> list[_Constant]:
    """Return the numbers that a trace keeps in the functions in which it fails, those
    of the innermost function first.
    """
    if TRACED not in finding.torch_message:
        return []
    frames = list(_iter_traced_lines(program, finding))
    ends: dict[ast.AST, tuple[int, int]] = {}  # by function: its place, its line
    for place, (text, line) in enumerate(frames):
        scope = _find_function(text, line)
        if scope is not None:
            ends.setdefault(scope, (place, line))
    constants: dict[tuple[str, int], tuple[int, _Constant]] = {}
    for op in program.trace.ops:
        for text, line in _iter_noted_lines(program, op):
            scope = _find_function(text, line)
            node = _find_conversion(text, line)
            if scope is None or scope not in ends or node is None or op.span is None:
                continue
            rank, end = ends[scope]
            if line > end:
                continue
            constant = _Constant(text, node, op.span)
            constants.setdefault((text.file, line), (rank, constant))
    ranked = sorted(constants.values(), key=lambda entry: entry[0])
    return [constant for _, constant in ranked]


def _iter_noted_lines(program: Program, op: Op) -> Iterator[tuple[SourceText, int]]:
    """Yield the lines at which a call that traces kept a number."""
    for note in op.notes:
        if note.startswith(CONSTANT_NOTE):
            file, _, line = note.removeprefix(CONSTANT_NOTE).rpartition(":")
            text = _find_text(program, file)
            if text is not None:
                yield text, int(line)


def _iter_traced_lines(
    program: Program, finding: Finding
) -> Iterator[tuple[SourceText, int]]:
    """Yield the lines of the program that a failing call was traced from."""
    for match in FRAME.finditer(finding.torch_message.partition(TRACED)[2]):
        text = _find_text(program, match["file"])
        if text is not None:
            yield text, int(match["line"])


def _find_text(program: Program, file: str) -> SourceText | None:
    """Return the text of a file of the program by its full name."""
    if is_installed(file):
        return None
    for known in program.trace.sources:
        if file == known or file.endswith(f"/{known}"):
            return program.text(known)
    return None


def _find_function(text: SourceText, line: int) -> ast.AST | None:
    """Return the function around a line, None outside of all."""
    for node in text.near(line):
        return text.around(node, ast.FunctionDef, ast.Lambda)
    return None


def _find_conversion(text: SourceText, line: int) -> ast.expr | None:
    """Return the expression of a line that makes a Python number of a tensor."""
    nodes = [node for near in text.near(line) for node in ast.walk(near)]
    for node in nodes:
        at_line = getattr(node, "lineno", 0) == line
        is_call = isinstance(node, ast.Call) and get_called_name(node) in CONVERSIONS
        if isinstance(node, ast.Call) and at_line and is_call:
            return node
    tests = [
        node.test
        for node in nodes
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert)
    ]
    return next((test for test in tests if test.lineno == line), None)
