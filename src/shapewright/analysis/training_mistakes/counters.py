"""Find counts of one loop that are printed in the place of those of another, and counts
of an epoch that go on counting in the next.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    StoryLoop,
    build_finding,
)
from shapewright.analysis.training_mistakes.loss_averages import (
    get_addition,
    is_same,
    iter_divisions,
)
from shapewright.findings.codes import COUNT_NOT_READ, COUNT_NOT_RESET, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_last_line,
    iter_assignments,
)
from shapewright.program.unread_counts import find_unread_counts


@looks_for(COUNT_NOT_READ)
def find_counts_not_read(scene: RehearsalContext) -> Iterator[Finding]:
    """Find counts that are never read where the count of an earlier loop is."""
    for file in scene.program.trace.sources:
        text = scene.program.text(file)
        if text is None:
            continue
        is_main = scene.program.trace.target.endswith(file)
        for unread in find_unread_counts(text, is_main):
            names = " and ".join(f"`{name}`" for name, _ in unread.pairs)
            others = " and ".join(f"`{other}`" for _, other in unread.pairs)
            many = len(unread.pairs) > 1
            places = [
                (text.span(addition), f"`{text.written(addition)}`, in the loop above")
                for addition in unread.additions
            ]
            yield build_finding(
                COUNT_NOT_READ,
                f"{others} {'are' if many else 'is'} of an earlier loop:"
                f" {names} {'are' if many else 'is'} counted in the loop above and"
                " never read",
                text.span(unread.statement),
                *places,
            )


ON_PURPOSE = ("global", "overall", "cumul", "lifetime", "so_far", "all_", "ema")
"""Parts of names that say that a count goes on from epoch to epoch."""


@looks_for(COUNT_NOT_RESET)
def find_counts_not_reset(scene: RehearsalContext) -> Iterator[Finding]:
    """Find averages of an epoch whose sums hold those of all epochs before."""
    seen: set[tuple[str, int]] = set()
    for loop in scene.loops():
        place = loop.moment.file, loop.moment.line
        epochs = loop.text.around(loop.node, ast.For, ast.FunctionDef)
        if place in seen or not isinstance(epochs, ast.For) or not loop.outer:
            continue
        seen.add(place)
        outer = loop.outer[-1]
        same = (outer.file, outer.line) == (loop.moment.file, epochs.lineno)
        if same and (outer.total is None or outer.total > 1):
            yield from _find_not_reset(loop, epochs)


def _find_not_reset(loop: StoryLoop, epochs: ast.For) -> Iterator[Finding]:
    """Yield the finding for the sums of a loop that go on in the next epoch."""
    text = loop.text
    sums: dict[str, ast.stmt] = {}
    for node in ast.walk(loop.node):
        name, _, is_list = (
            get_addition(node) if isinstance(node, ast.stmt) else ("",) * 3
        )
        if name and not is_list and isinstance(node, ast.stmt):
            sums.setdefault(name, node)
    starts = {name: _find_only_start(text, epochs, name) for name in sums}
    kept = {name for name, start in starts.items() if start is not None}
    kept = {name for name in kept if not any(p in name for p in ON_PURPOSE)}
    kept -= _find_read_later(text, epochs)
    for place, divided, divisor in iter_divisions(text, loop.node):
        names = [name for name in sorted(kept) if is_same(divided, name)]
        if not names or place.lineno > get_last_line(epochs):
            continue
        if isinstance(place, ast.AugAssign):
            continue
        by = ast.unparse(divisor)
        is_constant = get_called_name(divisor) == "len"
        is_count = by in kept and "==" in ast.unparse(sums[names[0]])
        start = starts[names[0]]
        if start is None or not (is_constant or is_count):
            continue
        others = [name for name in (*names, by) if name in kept]
        what = " and ".join(f"`{name}`" for name in dict.fromkeys(others))
        verb = "begin" if len(set(others)) > 1 else "begins"
        yield build_finding(
            COUNT_NOT_RESET,
            f"{what} {verb} at zero once, before the loop over epochs:"
            f" `{text.line_of(place)}` is of all epochs so far, not of this one",
            text.span(place),
            (text.span(start), "set to zero here"),
            (text.span(epochs.target), "the loop over epochs"),
            (text.span(sums[names[0]]), "it grows here"),
        )
        return


def _find_only_start(text: SourceText, epochs: ast.For, name: str) -> ast.stmt | None:
    """Return the assignment of zero before the epochs, if it is a name's only one."""
    function = text.around(epochs, ast.FunctionDef, ast.Module)
    starts: list[ast.stmt] = []
    for target, value in iter_assignments(function):
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        for part, number in pairs:
            if ast.unparse(part) != name or name in collect_names(number):
                continue
            if not isinstance(number, ast.Constant) or number.value != 0:
                return None
            starts.append(text.statement_of(part))
    beside = text.parent(epochs)
    alone = len(starts) == 1 and text.parent(starts[0]) is beside
    return starts[0] if alone and starts[0].lineno < epochs.lineno else None


def _find_read_later(text: SourceText, epochs: ast.For) -> set[str]:
    """Return the names that are read behind the loop over epochs."""
    function = text.around(epochs, ast.FunctionDef, ast.Module)
    last = get_last_line(epochs)
    return {
        ast.unparse(node)
        for node in (ast.walk(function) if function is not None else ())
        if isinstance(node, ast.Name | ast.Attribute) and node.lineno > last
    }
