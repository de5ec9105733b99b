"""Whether the program catches an error itself, so that its run goes on as it says."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache
from types import FrameType

from shapewright.engine.call_sites import BOUNDARY, USER, Sites
from shapewright.program.source_text import SourceText
from shapewright.program.spans import is_installed
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_line,
    get_last_name,
    iter_assignments,
)

CATCHING = frozenset({"suppress", "raises", "assertRaises", "assertRaisesRegex"})
"""Names of context managers that swallow an exception."""


def is_handled(error: BaseException, frame: FrameType | None, sites: Sites) -> bool:
    """Return whether a frame of the program is in a `try` whose handler does not raise.

    A handler that raises again only adds words: the error still ends the program. So
    does a handler of a library that keeps the error and raises it with the result.
    """
    kinds = {kind.__name__ for kind in type(error).__mro__}
    while frame is not None:
        code = frame.f_code
        if sites.kind_of(code) == BOUNDARY and code.co_name == "_call_target":
            return False  # here the run begins
        if sites.kind_of(code) == USER and any(
            first <= frame.f_lineno <= last and (not names or names & kinds)
            for first, last, names in _find_caught_ranges(code.co_filename)
        ):
            return True
        frame = frame.f_back
    return False


@lru_cache(64)
def _find_caught_ranges(file: str) -> tuple[tuple[int, int, frozenset[str]], ...]:
    """Return the line ranges in which a file catches exceptions, and their classes."""
    ranges = []
    installed = is_installed(file)
    for node in SourceText(file, "".join(linecache.getlines(file))).nodes:
        if isinstance(node, ast.Try):
            last = get_last_line(node.body[-1])
            for handler in node.handlers:
                kept = installed and _is_exception_kept(handler)
                again = any(isinstance(inner, ast.Raise) for inner in ast.walk(handler))
                if not (kept or again):
                    ranges.append(
                        (node.body[0].lineno, last, _get_class_names(handler.type))
                    )
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and get_called_name(call) in CATCHING:
                    last = get_last_line(node.body[-1])
                    names = frozenset(get_last_name(argument) for argument in call.args)
                    ranges.append((node.body[0].lineno, last, names))
    return tuple(ranges)


def _is_exception_kept(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler stores the exception itself: `self.error = error`."""
    return any(
        isinstance(value, ast.Name)
        and value.id == handler.name
        and isinstance(target, ast.Attribute)
        for target, value in iter_assignments(handler)
    )


def _get_class_names(kind: ast.expr | None) -> frozenset[str]:
    """Return the names of the classes that a handler catches, if it names any."""
    if kind is None:
        return frozenset()
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return frozenset(map(get_last_name, kinds))
