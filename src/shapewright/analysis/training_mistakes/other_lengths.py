"""Find sums over one loader that are divided by the length of another."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shapewright.analysis.training_mistakes.additions import (
    get_addition,
    is_same,
    iter_divisions,
)
from shapewright.analysis.training_mistakes.batch_loops import iter_batch_loops
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    StoryLoop,
    build_finding,
)
from shapewright.findings.codes import COUNT_NOT_READ
from shapewright.findings.finding import Finding
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    get_iterated,
    get_last_line,
)


def find_other_lengths(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `val_loss / len(train_loader)` of a sum that a loop over another loader has
    added up, which has another number of batches.
    """
    loops = list({id(loop.node): loop for loop in iter_batch_loops(scene)}.values())
    loaders = {_get_loader(loop): loop for loop in loops}
    seen: set[ast.AST] = set()
    for loop in loops:
        for place, divided, by in iter_divisions(loop.text, loop.node):
            owner = _get_counted(by)
            other = loaders.get(owner) if owner else None
            if place in seen or other is None or owner == _get_loader(loop):
                continue
            source = _find_source(loops, loop, place, divided)
            if source is not loop or _is_as_long(loop, other):
                continue
            seen.add(place)
            text = loop.text
            yield build_finding(
                COUNT_NOT_READ,
                f"`{text.line_of(divided)}` is a sum over `{_get_loader(loop)}`, and is"
                f" divided by the length of another loader: `{text.line_of(by)}`",
                text.span(by),
                (text.span(loop.node.iter), "the loop that adds it up"),
            )


def _get_loader(loop: StoryLoop) -> str:
    """Return the name of what a loop runs over."""
    return get_dotted_name(get_iterated(loop.node.iter))


def _get_counted(node: ast.expr) -> str:
    """Return the loader of `len(loader)`, or of `len(loader.dataset)`."""
    if get_called_name(node) != "len" or not isinstance(node, ast.Call):
        return ""
    counted = node.args[0] if node.args else node
    return get_dotted_name(counted).removesuffix(".dataset")


def _find_source(
    loops: Sequence[StoryLoop],
    loop: StoryLoop,
    place: ast.AST,
    divided: ast.expr,
) -> StoryLoop | None:
    """Return the last loop above a division that adds to what is divided."""
    line = getattr(place, "lineno", 0)
    function = loop.text.around(place, ast.FunctionDef)
    above = [
        other
        for other in loops
        if other.text is loop.text
        and loop.text.around(other.node, ast.FunctionDef) is function
        and get_last_line(other.node) < line
        and any(
            is_same(divided, get_addition(node)[0])
            for node in ast.walk(other.node)
            if isinstance(node, ast.stmt) and get_addition(node)[0]
        )
    ]
    return max(above, key=lambda other: other.node.lineno, default=None)


def _is_as_long(loop: StoryLoop, other: StoryLoop) -> bool:
    """Return whether two loaders have as many batches, as far as is known."""
    return loop.moment.total is not None and loop.moment.total == other.moment.total
