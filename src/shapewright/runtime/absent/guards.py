"""Whether a program has a way of its own where something is not there."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from functools import cache
from types import CodeType, FrameType

ABSENT_PACKAGES = frozenset({
    "ImportError", "ModuleNotFoundError", "Exception", "BaseException",
})  # fmt: skip
ABSENT_FILES = frozenset({
    "FileNotFoundError", "OSError", "IOError", "EnvironmentError", "Exception",
    "BaseException",
})  # fmt: skip
"""What a program catches that goes on without a package, or without a file."""


def is_guarded(frame: FrameType, caught: frozenset[str]) -> bool:
    """Return whether the running line stands in a `try` that goes on without it."""
    return _is_line_guarded(frame.f_code, frame.f_lineno, caught)


def is_call_guarded(
    frame: FrameType | None, caught: frozenset[str], holds: Callable[[str], bool]
) -> bool:
    """Return whether a line of the program that led here, or of a library that it
    called last, stands in such a `try`.
    """
    is_called = True
    while frame is not None:
        is_own = holds(frame.f_code.co_filename)
        is_called = is_called and not is_own
        if (is_own or is_called) and is_guarded(frame, caught):
            return True
        frame = frame.f_back
    return False


@cache
def _is_line_guarded(code: CodeType, line: int, caught: frozenset[str]) -> bool:
    text = "".join(linecache.getlines(code.co_filename))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.With) and _is_suppressing(node, line, caught):
            return True
        if not isinstance(node, ast.Try):
            continue
        last = node.body[-1].end_lineno or node.body[-1].lineno
        if not node.body[0].lineno <= line <= last:
            continue
        if _is_in_function(node, tree, line):
            continue
        for handler in node.handlers:
            names = (
                {n.id for n in ast.walk(handler.type) if isinstance(n, ast.Name)}
                if handler.type is not None
                else caught
            )
            if names & caught and not _is_failing(handler.body):
                return True
    return False


def _is_suppressing(node: ast.With, line: int, caught: frozenset[str]) -> bool:
    """Return whether a line stands below ``with suppress(FileNotFoundError):``."""
    if not node.body[0].lineno <= line <= (node.end_lineno or 0):
        return False
    for item in node.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and "suppress" in ast.unparse(call.func):
            names = {n.id for arg in call.args for n in ast.walk(arg)
                     if isinstance(n, ast.Name)}  # fmt: skip
            if names & caught:
                return True
    return False


def _is_in_function(node: ast.Try, tree: ast.Module, line: int) -> bool:
    """Return whether the line is in a function that the `try` only defines."""
    return any(
        isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
        and inner.body[0].lineno <= line <= (inner.end_lineno or 0)
        for statement in node.body
        for inner in ast.walk(statement)
    )


def is_ending(body: list[ast.stmt]) -> bool:
    """Return whether a block ends the program by its last statement: an error or an
    exit.
    """
    last = body[-1]
    if isinstance(last, ast.Raise):
        return True
    return isinstance(last, ast.Expr) and _is_exit(last.value)


def _is_failing(body: list[ast.stmt]) -> bool:
    """Return whether a handler ends the program, or passes the error on."""
    return any(
        isinstance(node, ast.Raise) or _is_exit(node)
        for statement in body
        for node in ast.walk(statement)
    )


def _is_exit(node: ast.AST) -> bool:
    """Return whether an expression is a call that ends the program."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else ""
    name = called.id if isinstance(called, ast.Name) else name
    return name in ("exit", "quit", "_exit")
