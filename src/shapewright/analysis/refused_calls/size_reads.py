"""Sizes that are read in another form: `x.shape(0)`, `x.size[0]`, `range(x.shape)`."""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name

CALLED = "'torch.Size' object is not callable"
INDEXED = re.compile(
    r"'(?:builtin_function_or_method|method)' object is not subscriptable"
)
WHOLE = re.compile(
    r"'torch\.Size' object cannot be interpreted as an integer"
    r"|'builtin_function_or_method' object cannot be interpreted as an integer"
)
UNCALLED = "'builtin_function_or_method' object is not iterable"


def find_size_read(program: Program, finding: Finding) -> Explanation | None:
    """Return which size is read in a form that a tensor does not have, or None."""
    place, words = program.node(finding.span), finding.words
    if place is None:
        return None
    text, outer = place
    for node in ast.walk(text.statement_of(outer)):
        cause = None
        if CALLED in words and isinstance(node, ast.Call):
            cause = _explain_called(text, node)
        elif INDEXED.search(words) and isinstance(node, ast.Subscript):
            cause = _explain_indexed(text, node)
        elif WHOLE.search(words) and isinstance(node, ast.Call):
            cause = _explain_whole(text, node)
        elif UNCALLED in words and isinstance(node, ast.Attribute):
            cause = _explain_uncalled(text, node)
        if cause is not None:
            return cause
    return None


def _explain_called(text: SourceText, node: ast.Call) -> Explanation | None:
    """Explain `x.shape(0)`."""
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr != "shape":
        return None
    owner = text.line_of(func.value)
    message = f"`{owner}.shape` is a tuple of sizes, and no method: `[ ]` reads one"
    if len(node.args) != 1:
        new = f"{owner}.shape"
    else:
        new = f"{owner}.shape[{text.line_of(node.args[0])}]"
    fix = Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
    return Explanation(message, (), (fix,))


def _explain_indexed(text: SourceText, node: ast.Subscript) -> Explanation | None:
    """Explain `x.size[0]`."""
    value = node.value
    if not isinstance(value, ast.Attribute) or value.attr != "size":
        return None
    owner = text.line_of(value.value)
    message = f"`{owner}.size` is a method, which is called: `{owner}.size(0)`"
    new = f"{owner}.shape[{text.line_of(node.slice)}]"
    fix = Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
    return Explanation(message, (), (fix,))


def _explain_whole(text: SourceText, node: ast.Call) -> Explanation | None:
    """Explain `range(x.shape)`."""
    if get_called_name(node) != "range":
        return None
    for argument in node.args:
        sizes = argument.func if isinstance(argument, ast.Call) else argument
        is_read = isinstance(sizes, ast.Attribute) and sizes.attr in ("shape", "size")
        if not is_read or not isinstance(sizes, ast.Attribute):
            continue
        owner = text.line_of(sizes.value)
        written = text.line_of(argument)
        message = (
            f"`range` counts to a number, and `{written}` are the sizes of all dims"
        )
        new = f"{owner}.shape[0]"
        fix = Fix("fits", f"`range({new})`", (Edit(text.span(argument), new),))
        return Explanation(message, (), (fix,))
    return None


def _explain_uncalled(text: SourceText, node: ast.Attribute) -> Explanation | None:
    """Explain `B, C = x.size`, a method that is not called."""
    if node.attr != "size" or isinstance(text.parent(node), ast.Call):
        return None
    owner = text.line_of(node.value)
    message = f"`{owner}.size` is a method, which is called: `{owner}.size()`"
    fix = Fix("fits", f"`{owner}.size()`", (Edit(text.span(node).end, "()"),))
    return Explanation(message, (), (fix,))
