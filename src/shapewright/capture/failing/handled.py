"""Whether the program itself catches what a call raises."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache
from types import FrameType

from shapewright.capture.sites import BOUNDARY, USER, Sites

CATCHING = frozenset({"suppress", "raises", "assertRaises", "assertRaisesRegex"})
"""Context managers that swallow an exception."""
INSTALLED = ("site-packages", "dist-packages")


def is_handled(error: BaseException, frame: FrameType | None, sites: Sites) -> bool:
    """Whether a frame of the program stands in a `try` whose handler goes on.

    A handler that raises again only adds words: the error still ends the program. So
    does one of a library that keeps it, to raise it where the result is asked for.
    """
    kinds = {kind.__name__ for kind in type(error).__mro__}
    while frame is not None:
        code = frame.f_code
        if sites.kind_of(code) == BOUNDARY and code.co_name == "_call":
            return False  # here the run begins
        if sites.kind_of(code) == USER and any(
            first <= frame.f_lineno <= last and (not names or names & kinds)
            for first, last, names in caught(code.co_filename)
        ):
            return True
        frame = frame.f_back
    return False


@lru_cache(64)
def caught(file: str) -> tuple[tuple[int, int, frozenset[str]], ...]:
    """Stretches of lines whose exceptions a file catches, and which; none is all."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ()
    found = []
    installed = any(each in file for each in INSTALLED)
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            last = node.body[-1].end_lineno or node.body[-1].lineno
            for handler in node.handlers:
                kept = installed and keeps(handler)
                again = any(isinstance(each, ast.Raise) for each in ast.walk(handler))
                if not (kept or again):
                    found.append((node.body[0].lineno, last, names_of(handler.type)))
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and last_name(call.func) in CATCHING:
                    last = node.body[-1].end_lineno or node.body[-1].lineno
                    names = frozenset(last_name(each) for each in call.args)
                    found.append((node.body[0].lineno, last, names))
    return tuple(found)


def keeps(handler: ast.ExceptHandler) -> bool:
    """Whether it puts the exception itself into an attribute: `self.error = error`."""
    return any(
        isinstance(each, ast.Assign)
        and isinstance(each.value, ast.Name)
        and each.value.id == handler.name
        and any(isinstance(target, ast.Attribute) for target in each.targets)
        for each in ast.walk(handler)
    )


def names_of(kind: ast.expr | None) -> frozenset[str]:
    """The classes that a handler names; none for a bare `except`."""
    if kind is None:
        return frozenset()
    each = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return frozenset(map(last_name, each))


def last_name(node: ast.expr) -> str:
    """`Error` of `package.Error`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
