"""Find loaders that each step of a training begins anew, so that the same first batches
are trained on: `next(iter(loader))` in a loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.preparations import EVALUATED
from shapewright.findings.codes import RESTARTED_LOADER, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    get_called_name,
    get_last_name,
)

CHOOSING = frozenset({"shuffle", "sampler", "batch_sampler"})
"""Options of a loader by which each pass over it may begin with other samples."""


@looks_for(RESTARTED_LOADER)
def find_restarted_loaders(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loaders without a shuffle that a loop with a backward pass begins anew."""
    for text in scene.program.own_texts():
        seen: set[object] = set()
        for node in text.nodes:
            owner = _get_restarted(node)
            if owner is None or not isinstance(node, ast.Call):
                continue
            if EVALUATED.search(get_last_name(owner)):
                continue
            loop = _find_loop(text, node)
            if loop is None:
                continue
            loader = _find_plain_loader(text, owner)
            if loader is None or (loop, ast.dump(owner)) in seen:
                continue
            seen.add((loop, ast.dump(owner)))
            name = text.written(owner)
            yield build_finding(
                RESTARTED_LOADER,
                f"each turn of this loop begins `{name}` anew, which does not shuffle:"
                " only its first batches are ever trained on",
                text.span(node),
                (text.span(loader), "the loader is built here"),
            )


def _get_restarted(node: ast.AST) -> ast.expr | None:
    """Return the loader of `next(iter(loader))`, or of `islice(loader, n)`."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    name, first = get_called_name(node), node.args[0]
    if name == "next" and get_called_name(first) == "iter":
        inner = first.args if isinstance(first, ast.Call) else []
        first = inner[0] if inner else first
    elif name != "islice":
        return None
    return first if isinstance(first, ast.Name | ast.Attribute) else None


def _find_loop(text: SourceText, node: ast.Call) -> ast.stmt | None:
    """Return the loop that begins a loader anew in each turn and trains on what it
    gives; a loop over epochs that cuts each short is none.
    """
    loop, function = text.around(node, *LOOPS), text.around(node, *FUNCTIONS)
    if loop is None or text.around(loop, *FUNCTIONS) is not function:
        return None
    trains = any(
        get_called_name(part) == "backward"
        and text.around(part, *LOOPS) is loop
        and getattr(part, "lineno", 0) > node.lineno
        for part in ast.walk(loop)
    )
    if get_called_name(node) == "islice":
        cut, loop = loop, text.around(loop, *LOOPS)
        is_iterated = isinstance(cut, ast.For) and node in ast.walk(cut.iter)
        if not is_iterated or loop is None or text.around(loop, *LOOPS) is None:
            return None
    elif isinstance(loop, ast.For) and node in ast.walk(loop.iter):
        return None
    return loop if trains and isinstance(loop, ast.stmt) else None


def _find_plain_loader(text: SourceText, owner: ast.expr) -> ast.Call | None:
    """Return the only call that builds a loader, if each pass over it is the same."""
    values = find_defining(text, get_last_name(owner))
    loaders = [v for v in values if get_called_name(v) == "DataLoader"]
    loader = loaders[0] if len(loaders) == len(values) == 1 else None
    if not isinstance(loader, ast.Call):
        return None
    for word in loader.keywords:
        is_off = isinstance(word.value, ast.Constant) and not word.value.value
        if word.arg is None or (word.arg in CHOOSING and not is_off):
            return None
    return loader if len(loader.args) < 3 else None  # the third one shuffles
