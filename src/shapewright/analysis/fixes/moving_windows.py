"""Windows that a loop cuts out of a sequence, of which the end does not move:
`tokens[i:size + 1]` for `tokens[i:i + size]`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.findings.finding import Edit, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import collect_names, get_called_name


def suggest_moving_ends(text: SourceText) -> Iterator[Fix]:
    """Suggest an end that moves with the start, as that of a window beside it does."""
    for loop, window in _iter_fixed_windows(text):
        start, end = window.lower, window.upper
        if start is None or end is None:
            continue
        news = [f"{text.written(start)} + {_write_term(text, end)}"]
        beside = _find_moving_end(text, loop)
        if beside is not None:
            news.insert(0, beside)
        for new in news:
            shown = f"`{text.written(start)}:{new}`"
            yield Fix("fits", shown, (Edit(text.span(end), new),))


def describe_fixed_ends(text: SourceText) -> list[Related]:
    """Return the windows whose ends stay in their place."""
    return [
        Related(
            text.span(window.upper),
            f"`{text.written(window.lower)}` moves in each turn, and the end of the"
            " window stays",
        )
        for _, window in _iter_fixed_windows(text)
        if window.lower is not None and window.upper is not None
    ]


def _iter_fixed_windows(text: SourceText) -> Iterator[tuple[ast.For, ast.Slice]]:
    """Yield the slices that begin at the counter of a loop and end in one place."""
    for loop in text.nodes:
        if not isinstance(loop, ast.For) or get_called_name(loop.iter) != "range":
            continue
        if not isinstance(loop.target, ast.Name):
            continue
        for part in ast.walk(loop):
            if not isinstance(part, ast.Slice) or part.step is not None:
                continue
            if part.lower is None or part.upper is None:
                continue
            moves = loop.target.id in collect_names(part.lower)
            if moves and not _is_moved_by(loop, part.upper):
                yield loop, part


def _is_moved_by(loop: ast.For, node: ast.expr) -> bool:
    """Return whether an expression has a name that the loop sets in each turn."""
    own = collect_names(loop.target) | {
        name.id
        for part in loop.body
        for name in ast.walk(part)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    return bool(own & collect_names(node)) or isinstance(node, ast.UnaryOp)


def _find_moving_end(text: SourceText, loop: ast.For) -> str | None:
    """Return the end of a window that begins one item later, less that item."""
    assert isinstance(loop.target, ast.Name)
    name = loop.target.id
    for part in ast.walk(loop):
        if not isinstance(part, ast.Slice) or part.lower is None or part.upper is None:
            continue
        lower, upper = text.written(part.lower), text.written(part.upper)
        if lower == f"{name} + 1" and name in collect_names(part.upper):
            return upper.removesuffix(" + 1") if upper.endswith(" + 1") else None
    return None


def _write_term(text: SourceText, node: ast.expr) -> str:
    written = text.written(node)
    return written if not isinstance(node, ast.IfExp) else f"({written})"
