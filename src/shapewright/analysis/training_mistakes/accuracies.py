"""Find accuracies that are divided by another number than that of the samples."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    StoryLoop,
    build_finding,
)
from shapewright.analysis.training_mistakes.curved_means import find_curved_means
from shapewright.analysis.training_mistakes.loss_averages import (
    get_addition,
    is_same,
    is_set_between,
    iter_divisions,
)
from shapewright.findings.codes import COUNT_OVER_BATCHES, MEAN_OF_MEANS, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    LOOPS,
    collect_names,
    get_called_name,
    iter_assignments,
)
from shapewright.record.report import Moment

MATCHES = frozenset({"eq", "equal"})


@looks_for(COUNT_OVER_BATCHES, MEAN_OF_MEANS)
def find_wrong_accuracies(scene: RehearsalContext) -> Iterator[Finding]:
    """Find sums of correct answers divided by the number of batches, and means of
    batches that are not equally large, or of what is not linear in the samples.
    """
    yield from find_curved_means(scene)
    seen: set[tuple[str, int]] = set()
    for loop in scene.loops():
        place = loop.moment.file, loop.moment.line
        if place in seen or (loop.moment.total or 2) < 2:
            continue
        seen.add(place)
        for node in ast.walk(loop.node):
            if isinstance(node, ast.stmt) and (
                loop.text.around(node, *LOOPS) is loop.node
            ):
                yield from _check_total(loop, node)


def _check_total(loop: StoryLoop, node: ast.stmt) -> Iterator[Finding]:
    """Check how a total of correct answers is added up and divided."""
    text = loop.text
    total, added, is_list = get_addition(node)
    if not total or added is None:
        return
    counted, divisor = _read_accuracy(loop, added)
    if not counted:
        return
    sizes = _get_batch_sizes(loop)
    for place, divided, by in iter_divisions(text, loop.node):
        same = is_same(divided, total)
        if is_list or not same or is_set_between(text, loop.node, total, place):
            continue
        if not _is_batch_count(text, loop, by):
            continue
        added_here = text.span(node), f"`{text.written(node)}` for each batch"
        if counted == "sum" and divisor is None:
            yield build_finding(
                COUNT_OVER_BATCHES,
                f"`{total}` counts correct answers, and is divided by the number of"
                f" batches: `{ast.unparse(by)}`",
                text.span(place),
                added_here,
            )
        elif len(set(sizes)) > 1 and _is_fixed(loop, divisor):
            size = ast.unparse(divisor) if divisor is not None else ""
            yield build_finding(
                COUNT_OVER_BATCHES,
                f"the correct answers of each batch are divided by `{size}`, but the"
                f" last batch has {sizes[-1]} samples",
                text.span(node),
                (text.span(place), "the mean over all batches"),
            )
        elif len(set(sizes)) > 1 and not _is_training(loop.moment):
            yield build_finding(
                MEAN_OF_MEANS,
                f"`{total}` is a sum of accuracies, one for each batch: the last batch"
                f" of {sizes[-1]} counts as much as one of {sizes[0]}",
                text.span(place),
                added_here,
            )
        return


def _read_accuracy(loop: StoryLoop, added: ast.expr) -> tuple[str, ast.expr | None]:
    """Return "sum" or "mean" for what counts correct answers, with what divides it in
    its batch; an empty word for others.
    """
    divisor = None
    for _ in range(3):
        ratio = added
        if isinstance(ratio, ast.BinOp) and isinstance(ratio.op, ast.Div):
            added, divisor = ratio.left, ratio.right
        if isinstance(added, ast.BinOp) and isinstance(added.op, ast.Mult):
            return "", None
        if isinstance(added, ast.Name):
            values = [
                value
                for target, value in iter_assignments(loop.node)
                if isinstance(target, ast.Name) and target.id == added.id
            ]
            if len(values) != 1:
                return "", None
            added = values[0]
    if not _has_matches(loop, added):
        return "", None
    called = {get_called_name(node) for node in ast.walk(added)}
    if "mean" in called and "sum" not in called:
        return "mean", None
    return ("sum", divisor) if "sum" in called else ("", None)


def _has_matches(loop: StoryLoop, value: ast.expr) -> bool:
    """Return whether a value is made of a comparison of predictions and labels."""
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    values = [value]
    for target, expression in iter_assignments(loop.node):
        if isinstance(target, ast.Name) and target.id in names:
            values.append(expression)
    return any(
        (isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq))
        or get_called_name(node) in MATCHES
        for expression in values
        for node in ast.walk(expression)
    )


def _is_batch_count(text: SourceText, loop: StoryLoop, by: ast.expr) -> bool:
    """Return whether a number is the number of batches of a loop."""
    iterated = loop.node.iter
    while isinstance(iterated, ast.Call) and iterated.args:
        iterated = iterated.args[0]
    name = ast.unparse(iterated)
    if isinstance(by, ast.Name):
        values = [
            value
            for target, value in iter_assignments(text.tree)
            if isinstance(target, ast.Name) and target.id == by.id
        ]
        if len(values) != 1:
            return False
        by = values[0]
    while isinstance(by, ast.Call) and get_called_name(by) in ("float", "int", "max"):
        by = by.args[0]
    return isinstance(by, ast.Call) and ast.unparse(by) == f"len({name})"


def _is_fixed(loop: StoryLoop, divisor: ast.expr | None) -> bool:
    """Return whether a divisor is the same for every batch."""
    if divisor is None:
        return False
    return not collect_names(divisor) & collect_names(loop.node, ast.Store)


def _is_training(moment: Moment) -> bool:
    """Return whether a loop trains: its running accuracy is only looked at."""
    return any(
        event.kind in ("backward", "step") or _is_training(event)
        for event in moment.inner
    )


def _get_batch_sizes(loop: StoryLoop) -> list[int]:
    """Return the sizes of the batches of a loop, in the order of first sight."""
    shapes = [
        shape
        for event in loop.moment.inner
        if event.kind == "batches" and event.line == loop.moment.line
        for shape in event.shapes
    ]
    return [
        int(match[1])
        for size_text in shapes
        if (match := re.search(r"\((\d+)", size_text))
    ]
