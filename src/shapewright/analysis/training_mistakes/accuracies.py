"""Find accuracies that are divided by another number than that of the samples."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.additions import (
    VALUES,
    get_addition,
    is_of_all,
    is_same,
    is_set_between,
    iter_divisions,
    iter_entries,
    iter_entry_means,
    iter_means,
)
from shapewright.analysis.training_mistakes.batch_loops import (
    iter_batch_loops,
)
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    StoryLoop,
    build_finding,
)
from shapewright.analysis.training_mistakes.curved_means import (
    find_curved_means,
    find_means_of_measures,
)
from shapewright.analysis.training_mistakes.inner_sums import find_inner_sums
from shapewright.analysis.training_mistakes.meters import (
    MatchCounter,
    MeterCall,
    is_called_in,
    iter_counters,
    iter_meter_calls,
)
from shapewright.analysis.training_mistakes.sample_counts import is_size
from shapewright.findings.codes import COUNT_OVER_BATCHES, MEAN_OF_MEANS, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.passed_functions import find_passed_function
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    LOOPS,
    collect_names,
    get_called_name,
    get_iterated,
    iter_assignments,
)
from shapewright.record.report import Moment

MATCHES = frozenset({"eq", "equal"})
COUNTS = frozenset({"sum", "count_nonzero"})


@dataclass(frozen=True, slots=True)
class _Accuracy:
    """What counts correct answers: `kind` is "sum", or "mean" for a mean over a batch.

    `divisor` divides a sum in its batch; `is_fixed` says that it is the same for every
    batch.
    """

    kind: str
    divisor: ast.expr | None = None
    is_fixed: bool = False


@looks_for(COUNT_OVER_BATCHES, MEAN_OF_MEANS)
def find_wrong_accuracies(scene: RehearsalContext) -> Iterator[Finding]:
    """Find sums of correct answers divided by the number of batches, and means of
    batches that are not equally large, or of what is not linear in the samples.
    """
    yield from find_curved_means(scene)
    yield from find_means_of_measures(scene)
    for loop in iter_batch_loops(scene):
        for node in ast.walk(loop.node):
            if isinstance(node, ast.stmt) and (
                loop.text.around(node, *LOOPS) is loop.node
            ):
                yield from _check_total(loop, node)
        if set(_get_batch_sizes(loop)) != {1}:
            yield from find_inner_sums(loop, _is_batch_count)
        for call in iter_meter_calls(loop.text, loop.node):
            yield from _check_meter(loop, call)
        for counter in iter_counters(loop.text):
            if is_called_in(loop.text, loop.node, counter):
                yield from _check_counter(loop.text, counter)


def _check_total(loop: StoryLoop, node: ast.stmt) -> Iterator[Finding]:
    """Check how a total of correct answers is added up and divided."""
    text = loop.text
    total, added, is_list = get_addition(node)
    accuracy = (
        _read_accuracy(loop.text, loop.node, added)
        if total and added is not None
        else None
    )
    if accuracy is None:
        if total and added is not None:
            check = _check_entries if is_list else _check_weighted_total
            yield from check(loop, node, total, added)
        return
    sizes = _get_batch_sizes(loop)
    if is_list:
        yield from _check_list(loop, node, total, accuracy)
        return
    for place, divided, by in iter_divisions(text, loop.node):
        same = is_same(divided, total) or is_of_all(text, divided, total)
        if not same or is_set_between(text, loop.node, total, place):
            continue
        added_here = text.span(node), f"`{text.written(node)}` for each batch"
        if not _is_batch_count(text, loop, by):
            size = _find_fixed_size(text, loop, by)
            is_sum = accuracy.kind == "sum" and accuracy.divisor is None
            if is_sum and size and len(set(sizes)) > 1:
                yield build_finding(
                    COUNT_OVER_BATCHES,
                    f"`{ast.unparse(by)}` is more than there are samples: the last"
                    f" batch has {sizes[-1]}, not `{size}`",
                    text.span(place),
                    added_here,
                )
                return
            continue
        if accuracy.kind == "sum" and accuracy.divisor is None:
            yield build_finding(
                COUNT_OVER_BATCHES,
                f"`{total}` counts correct answers, and is divided by the number of"
                f" batches: `{ast.unparse(by)}`",
                text.span(place),
                added_here,
            )
        elif len(set(sizes)) > 1 and accuracy.is_fixed:
            divisor = accuracy.divisor
            size = ast.unparse(divisor) if divisor is not None else ""
            yield build_finding(
                COUNT_OVER_BATCHES,
                f"the correct answers of each batch are divided by `{size}`, but the"
                f" last batch has {sizes[-1]} samples",
                text.span(node),
                (text.span(place), "the mean over all batches"),
            )
        elif len(set(sizes)) > 1 and not is_training(loop.moment):
            yield build_finding(
                MEAN_OF_MEANS,
                f"`{total}` is a sum of accuracies, one for each batch: the last batch"
                f" of {sizes[-1]} counts as much as one of {sizes[0]}",
                text.span(place),
                added_here,
            )
        return


def _check_list(
    loop: StoryLoop, node: ast.stmt, total: str, accuracy: _Accuracy
) -> Iterator[Finding]:
    """Check the mean of a list of what the batches have counted."""
    text, sizes = loop.text, _get_batch_sizes(loop)
    place = next(iter_means(text, loop.node, total), None)
    if place is None or is_set_between(text, loop.node, total, place):
        return
    if accuracy.kind == "sum" and accuracy.divisor is None:
        yield build_finding(
            COUNT_OVER_BATCHES,
            f"`{total}` holds counts of correct answers, and their mean is over the"
            " batches, not the samples",
            text.span(place),
            (text.span(node), f"`{text.written(node)}` for each batch"),
        )
    elif len(set(sizes)) > 1 and not is_training(loop.moment):
        yield _report_list(loop, node, total, place)


def _report_list(
    loop: StoryLoop, node: ast.stmt, total: str, place: ast.expr
) -> Finding:
    """Return the finding on the mean of a list of accuracies of unequal batches."""
    text, sizes = loop.text, _get_batch_sizes(loop)
    return build_finding(
        MEAN_OF_MEANS,
        f"`{total}` holds accuracies, one for each batch: the last batch of"
        f" {sizes[-1]} counts as much as one of {sizes[0]}",
        text.span(place),
        (text.span(node), f"`{text.written(node)}` for each batch"),
    )


def _check_entries(
    loop: StoryLoop, node: ast.stmt, total: str, added: ast.expr
) -> Iterator[Finding]:
    """Check the means of a list of dicts, each with the accuracies of a batch."""
    text, sizes = loop.text, _get_batch_sizes(loop)
    place = next(iter_entry_means(text, loop.node, total), None)
    if place is None or len(set(sizes)) < 2 or is_training(loop.moment):
        return
    for value in iter_entries(text, loop.node, added):
        accuracy = _read_accuracy(text, loop.node, value)
        if accuracy is not None and (accuracy.kind == "mean" or accuracy.divisor):
            yield _report_list(loop, node, total, place)
            return


def _check_weighted_total(
    loop: StoryLoop, node: ast.stmt, total: str, added: ast.expr
) -> Iterator[Finding]:
    """Check how a total of means, each times the size of its batch, is divided:
    `total += loss.item() * len(x)`.
    """
    text = loop.text
    names = collect_names(loop.node, ast.Store)
    is_product = isinstance(added, ast.BinOp) and isinstance(added.op, ast.Mult)
    if not is_product or not isinstance(added, ast.BinOp):
        return
    if not any(is_size(side, names) for side in (added.left, added.right)):
        return
    for place, divided, by in iter_divisions(text, loop.node):
        same = is_same(divided, total) or is_of_all(text, divided, total)
        if not same or is_set_between(text, loop.node, total, place):
            continue
        if _is_batch_count(text, loop, by):
            yield build_finding(
                COUNT_OVER_BATCHES,
                f"`{total}` has each mean times the size of its batch, and is divided"
                f" by the number of batches: `{ast.unparse(by)}`",
                text.span(place),
                (text.span(node), f"`{text.written(node)}` for each batch"),
            )


def _check_meter(loop: StoryLoop, call: MeterCall) -> Iterator[Finding]:
    """Check what an object of the program that averages is given."""
    text, meter, sizes = loop.text, call.meter, _get_batch_sizes(loop)
    accuracy = _read_accuracy(loop.text, loop.node, call.value)
    if accuracy is None:
        return
    is_sum = accuracy.kind == "sum" and accuracy.divisor is None
    by_batches = call.count is None
    if call.divisor is not None:
        by_batches = _is_batch_count(text, loop, call.divisor)
    elif meter.reading:
        return
    added = (text.span(meter.addition), "it is added as it is")
    if by_batches and is_sum and not meter.is_weighted:
        by = f": `{ast.unparse(call.divisor)}`" if call.divisor is not None else ""
        yield build_finding(
            COUNT_OVER_BATCHES,
            f"`{text.written(call.node)}` counts correct answers, and `{meter.name}`"
            f" divides by the number of batches{by}",
            text.span(call.node),
            added,
            (text.span(meter.division), "the division"),
        )
    elif (
        by_batches
        and not is_sum
        and len(set(sizes)) > 1
        and not is_training(loop.moment)
    ):
        yield build_finding(
            MEAN_OF_MEANS,
            f"`{text.written(call.node)}` counts each batch once: the last batch of"
            f" {sizes[-1]} counts as much as one of {sizes[0]}",
            text.span(call.node),
            added,
            (text.span(meter.division), "the mean over all batches"),
        )


def _check_counter(text: SourceText, counter: MatchCounter) -> Iterator[Finding]:
    """Check what a class of the program counts of each batch that it is given."""
    accuracy = _read_accuracy(text, counter.method, counter.added)
    if accuracy is None or accuracy.kind != "sum" or accuracy.divisor is not None:
        return
    yield build_finding(
        COUNT_OVER_BATCHES,
        f"`{counter.name}` counts correct answers, and divides by the number of"
        f" batches: `{ast.unparse(counter.division.right)}`",
        text.span(counter.division),
        (text.span(counter.addition), f"`{text.written(counter.addition)}` for each"),
    )


def _read_accuracy(
    text: SourceText, scope: ast.AST, added: ast.expr
) -> _Accuracy | None:
    """Return how a value counts correct answers, or None for others."""
    divisor: ast.expr | None = None
    is_fixed = False
    for _ in range(5):
        added = _leave_out_percent(added)
        if isinstance(added, ast.BinOp) and isinstance(added.op, ast.Div):
            if not isinstance(added.right, ast.Constant):
                divisor = added.right
                is_fixed = _is_fixed(scope, divisor)
            added = added.left
            continue
        if isinstance(added, ast.BinOp) and isinstance(added.op, ast.Mult):
            return None
        if isinstance(added, ast.Name):
            values = [
                value
                for target, value in iter_assignments(scope)
                if isinstance(target, ast.Name) and target.id == added.id
            ]
            if len(values) != 1:
                return None
            added = values[0]
            continue
        function = _find_function(text, added)
        if function is None:
            break
        values = [
            node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Return) and node.value is not None
        ]
        if len(values) != 1:
            return None
        scope, added = function, values[0]
    if isinstance(added, ast.Dict | ast.DictComp) or not _has_matches(scope, added):
        return None
    called = {get_called_name(node) for node in ast.walk(added)}
    if "mean" in called and not called & COUNTS:
        return _Accuracy("mean")
    return _Accuracy("sum", divisor, is_fixed) if called & COUNTS else None


def _leave_out_percent(value: ast.expr) -> ast.expr:
    """Return what a value converts to a number or multiplies by a constant."""
    while True:
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            if isinstance(value.left, ast.Constant):
                value = value.right
                continue
            if isinstance(value.right, ast.Constant):
                value = value.left
                continue
        called = get_called_name(value)
        if isinstance(value, ast.Call) and called in VALUES:
            inner = value.func.value if isinstance(value.func, ast.Attribute) else None
            if isinstance(inner, ast.Name | ast.BinOp | ast.Call):
                value = inner
                continue
        if isinstance(value, ast.Call) and called in ("float", "int") and value.args:
            value = value.args[0]
            continue
        return value


def _find_function(text: SourceText, value: ast.expr) -> ast.FunctionDef | None:
    """Return the function of the program that computes a value, or None."""
    if not isinstance(value, ast.Call):
        return None
    return find_passed_function(text, value.func)


def _has_matches(scope: ast.AST, value: ast.expr) -> bool:
    """Return whether a value is made of a comparison of predictions and labels."""
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    values = [value]
    for target, expression in iter_assignments(scope):
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
    if _is_counter(loop.node, by):
        return True
    name = ast.unparse(get_iterated(loop.node.iter, with_zip=True))
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


def _is_counter(loop: ast.For, by: ast.expr) -> bool:
    """Return whether a number counts the turns of a loop: `n` of `n += 1`, `i + 1` of
    `enumerate`, `i` of an `enumerate` from 1 on.
    """
    if isinstance(by, ast.Name) and isinstance(loop.target, ast.Tuple):
        counter, iterated = loop.target.elts[0], loop.iter
        starts = [word.value for word in getattr(iterated, "keywords", [])]
        starts += getattr(iterated, "args", [])[1:2]
        if (
            get_called_name(iterated) == "enumerate"
            and isinstance(counter, ast.Name)
            and counter.id == by.id
        ):
            return [ast.unparse(start) for start in starts] == ["1"]
    if isinstance(by, ast.BinOp) and isinstance(by.op, ast.Add):
        first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else None
        return (
            get_called_name(loop.iter) == "enumerate"
            and isinstance(by.right, ast.Constant)
            and by.right.value == 1
            and isinstance(first, ast.Name)
            and ast.unparse(by.left) == first.id
        )
    additions = [get_addition(node) for node in loop.body]
    return any(
        total == ast.unparse(by)
        and isinstance(added, ast.Constant)
        and added.value == 1
        for total, added, _ in additions
    )


def _find_fixed_size(text: SourceText, loop: StoryLoop, by: ast.expr) -> str:
    """Return the size of a batch in `len(loader) * batch_size`, or an empty text."""
    if not isinstance(by, ast.BinOp) or not isinstance(by.op, ast.Mult):
        return ""
    for count, size in ((by.left, by.right), (by.right, by.left)):
        if _is_batch_count(text, loop, count) and _is_fixed(loop.node, size):
            return ast.unparse(size)
    return ""


def _is_fixed(scope: ast.AST, divisor: ast.expr) -> bool:
    """Return whether a divisor is the same for every batch."""
    changing = collect_names(scope, ast.Store)
    if isinstance(scope, ast.FunctionDef):
        changing |= {arg.arg for arg in scope.args.args}
    return not collect_names(divisor) & changing


def is_training(moment: Moment) -> bool:
    """Return whether a loop trains: its running accuracy is only looked at."""
    return any(
        event.kind in ("backward", "step") or is_training(event)
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
