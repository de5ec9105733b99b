"""What the run with a fix may not differ in from the run that failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from shapewright.analysis.hazards.context import ALL_LOSSES, LOSSES, HazardContext
from shapewright.analysis.independent_failures import (
    is_of_rank,
    iter_independent_failures,
)
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Op, collect_leaves

Shape = tuple[int, ...]
Result = tuple[str, Shape]
"""The name of an operator and the shape that a call of it returned."""
Calls = tuple[str, int, str]
"""The calls of an operator on a line: file, line, and the operator's name."""

MOST_EARLIER = 40
"""Calls on a line whose shapes are compared."""
OF_CLASSES = operators_with("is_loss") & operators_with("has_index_bounds")
"""Losses of class numbers."""
JOINING = operators_with("joins_tensors")
"""Operators whose tensors have the same number of dims."""
STATES = ("Parameter", "register_buffer")
"""What makes a part of a module's state of a tensor."""
COMPARED = 3
"""Calls of an operator on a line whose results are compared."""
MOST_CALLS = 4_000
"""Calls of a run that are looked at."""


@dataclass(frozen=True, slots=True)
class _ComparedLoss:
    """A loss that ran: where, and the shapes of its prediction and its target.

    `of_data` is True where its classes count what the program was given: steps,
    samples, rows or colours, of which none is a class.
    """

    calls: Calls
    prediction: Shape
    target: Shape
    of_data: bool = False

    @property
    def broadcasts(self) -> bool:
        """Return whether the elements are not paired one to one."""
        name = self.calls[2].rpartition(".")[2]
        return name in LOSSES and prod(self.prediction) != prod(self.target)


@dataclass(frozen=True, slots=True)
class RunOutline:
    """What is compared of a run.

    `entry` is the shape of the first tensor that a module was given, `earlier` the
    shapes that calls on the failing line returned before it failed, `results` those of
    the first calls of every operator on every line, `failing` the lines that fail,
    `of_rank` those that do because of how many dims a tensor has, `items` how many the
    data set of the loader on a line has, in words.
    """

    entry: Shape = ()
    earlier: tuple[Result, ...] = ()
    results: Mapping[Calls, tuple[Shape, ...]] = field(default_factory=dict)
    losses: tuple[_ComparedLoss, ...] = ()
    of_rank: frozenset[tuple[str, int]] = frozenset()
    failing: frozenset[tuple[str, int]] = frozenset()
    items: Mapping[tuple[str, int], frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FailedRun:
    """The run that failed: `operator` is the one that did, `bystanders` are calls in
    front of it of which it reads nothing, `followers` the places that failed only
    because of how many dims were guessed for its result.
    """

    outline: RunOutline
    operator: str = ""
    bystanders: frozenset[Calls] = frozenset()
    followers: frozenset[tuple[str, int]] = frozenset()


RESIZING = "resize_token_embeddings("
"""How a fix shows the call that gives an embedding other rows."""


def is_refused_after(
    failed: FailedRun,
    tried: RunOutline,
    fix: Fix,
    guessed: bool,
    turns: bool,
) -> bool:
    """Return whether a fix does something else than the program means, judging by a run
    with it.

    `guessed` says that the fix puts another number or name in place of one that the
    program has, `turns` that it changes the layout of the data inside a layer, which
    turns what it is given.
    """
    before = failed.outline
    if guessed and _has_other_samples(before.entry, tried.entry):
        return True
    if guessed and _has_other_items(before, tried, fix):
        return True
    if not turns and _has_turned_results(before, tried, failed.operator):
        return True
    keeps_rows = RESIZING not in fix.message  # scores of tokens are as many
    if keeps_rows and not turns and _has_changed_bystanders(failed, tried, fix):
        return True
    of_order = failed.operator.endswith(
        "permute"
    )  # with a dim that nothing behind takes
    left = tried.failing if of_order else tried.of_rank
    if failed.followers & {(f, fix.find_old_line(f, n)) for f, n in left}:
        return True
    return _has_worse_losses(before, tried, fix)


def _has_other_samples(before: Shape, after: Shape) -> bool:
    """Return whether the model is given another number of samples than in the failing
    run, where its first tensor was of shape `before`.
    """
    if not before or not after:
        return False
    return before[0] != after[0] and prod(before) != prod(after)


def _has_other_items(before: RunOutline, after: RunOutline, fix: Fix) -> bool:
    """Return whether a data set has another number of items than in the failing run."""
    for (file, line), items in before.items.items():
        place = (file, fix.find_new_line(file, line))
        now = after.items.get(place, frozenset())
        if now and not items <= now:
            return True
    return False


def _has_turned_results(before: RunOutline, after: RunOutline, operator: str) -> bool:
    """Return whether calls of the failing operator that ran well on its line before
    return the same sizes in another order after a fix: what was right would be lost.
    """
    old_shapes, new_shapes = (
        [shape for name, shape in outline.earlier if name == operator]
        for outline in (before, after)
    )
    return any(
        old != new and sorted(old) == sorted(new)
        for old, new in zip(old_shapes, new_shapes, strict=False)
    )


def _has_changed_bystanders(failed: FailedRun, tried: RunOutline, fix: Fix) -> bool:
    """Return whether a call that ran well and of which the failing one reads nothing
    returns another shape than before.
    """
    counts_all = any("minlength" in edit.text for edit in fix.edits)
    for calls in failed.bystanders:
        if counts_all and str(calls[2]).endswith("bincount"):
            continue  # it counts the classes that are missing too
        file, line, name = calls
        now = tried.results.get((file, fix.find_new_line(file, line), name), ())
        before = failed.outline.results[calls]
        if any(old != new for old, new in zip(before, now, strict=False)):
            return True
    return False


def _has_worse_losses(before: RunOutline, after: RunOutline, fix: Fix) -> bool:
    """Return whether a loss broadcasts, or takes a dim of the data for its classes,
    that did not in the failing run.
    """
    known = {loss for loss in before.losses if loss.broadcasts or loss.of_data}
    was_of_data = {loss.calls for loss in known if loss.of_data}
    was_broadcast = {loss.calls for loss in known if loss.broadcasts}
    for loss in after.losses:
        file, line, name = loss.calls
        calls = (file, fix.find_old_line(file, line), name)
        if loss.broadcasts and calls not in was_broadcast:
            return True
        if loss.of_data and calls not in was_of_data:
            return True
    return False


# -- outlines --------------------------------------------------------------------------


def build_outline(
    program: Program, place: tuple[str, int], context: HazardContext | None = None
) -> RunOutline:
    """Return what is compared of a run; `place` is the failing line, as it was."""
    return RunOutline(
        _get_entry(program),
        _list_results_on_line(program, place),
        _collect_results(program),
        _list_losses(context) if context is not None else (),
        _collect_rank_failures(program),
        _collect_failures(program),
        _collect_items(program),
    )


def build_failed_outline(program: Program, failure: Failure | None) -> FailedRun:
    """Return what is compared of a run that failed."""
    if failure is None:
        return FailedRun(RunOutline(_get_entry(program)))
    op = program.trace.ops[failure.op]
    place = (op.span.file, op.span.line) if op.span is not None else ("", 0)
    outline = build_outline(program, place, HazardContext(program))
    return FailedRun(
        outline,
        op.name,
        _find_bystanders(program, op),
        _find_followers(program, failure),
    )


def _collect_items(program: Program) -> dict[tuple[str, int], frozenset[str]]:
    """Return how many items the data sets of the loaders on a line have, in words."""
    items: dict[tuple[str, int], frozenset[str]] = {}
    waiting = [program.rehearsal.story] if program.rehearsal is not None else []
    while waiting:
        moment = waiting.pop()
        waiting += moment.inner
        if moment.kind == "batches" and moment.text:
            place = (moment.file, moment.line)
            items[place] = items.get(place, frozenset()) | {moment.text}
    return items


def _get_entry(program: Program) -> Shape:
    """Return the shape of the first tensor that a module was given."""
    for call in program.trace.calls:
        facts = collect_leaves([*call.inputs])
        if facts:
            return facts[0].shape
    return ()


def _list_results_on_line(
    program: Program, place: tuple[str, int]
) -> tuple[Result, ...]:
    """Return the shapes that calls on a line returned before one of them failed, each
    with the name of its operator.
    """
    failed = {failure.op for failure in program.failures}
    results: list[Result] = []
    for op in program.trace.ops:
        if op.span is None or (op.span.file, op.span.line) != place:
            continue
        if op.index in failed or len(results) >= MOST_EARLIER:
            break
        results += [(op.name, fact.shape) for fact in op.outputs[:1]]
    return tuple(results)


def _get_calls(op: Op) -> Calls | None:
    """Return the line and the operator of a call."""
    return (op.span.file, op.span.line, op.name) if op.span is not None else None


def _collect_results(program: Program) -> dict[Calls, tuple[Shape, ...]]:
    """Return the shapes that the first calls of every operator on every line return."""
    results: dict[Calls, tuple[Shape, ...]] = {}
    for op in program.trace.ops[:MOST_CALLS]:
        calls = _get_calls(op)
        known = results.get(calls, ()) if calls is not None else ()
        if calls is not None and op.outputs and len(known) < COMPARED:
            results[calls] = (*known, op.outputs[0].shape)
    return results


def _find_bystanders(program: Program, failing: Op) -> frozenset[Calls]:
    """Return the calls in front of a failing one that it reads nothing of, and that
    compute with data: parameters have other sizes where their layer has.
    """
    owned = {state.fact.storage for state in program.trace.states}
    earlier = program.trace.ops[: min(failing.index, MOST_CALLS)]
    of_data = {
        fact.tensor
        for op in earlier
        if any(fact.storage not in owned for fact in op.inputs)
        for fact in op.outputs
    }
    read = {fact.tensor for fact in failing.inputs}
    behind = {_get_calls(op) for op in program.trace.ops[failing.index :]}
    others: set[Calls] = set()
    for op in reversed(earlier):
        calls = _get_calls(op)
        if any(fact.tensor in read for fact in op.outputs):
            read |= {fact.tensor for fact in op.inputs}
            behind.add(calls)
        elif op.span == failing.span:
            behind.add(calls)  # a part of the failing call, which torch makes in it
        elif calls is None or _is_of_state(program, op):
            continue
        elif any(fact.tensor in of_data for fact in op.outputs):
            others.add(calls)
    return frozenset(others - behind)


def _is_of_state(program: Program, op: Op) -> bool:
    """Return whether a call makes the values of a parameter or a buffer."""
    text_and_node = program.node(op.span)
    if text_and_node is None:
        return False
    text, node = text_and_node
    return any(get_called_name(outer) in STATES for outer in text.outwards(node))


def _find_followers(program: Program, failure: Failure) -> frozenset[tuple[str, int]]:
    """Return the lines that fail because they read what a call returns of which the
    number of dims was guessed.
    """
    if not is_of_rank(failure):
        return frozenset()
    own = {failure.op for failure in iter_independent_failures(program)}
    failed = {failure.op for failure in program.failures} - own
    read = {fact.tensor for fact in program.trace.ops[failure.op].outputs}
    lines: set[tuple[str, int]] = set()
    for op in program.trace.ops[failure.op + 1 : failure.op + MOST_CALLS]:
        if any(fact.tensor in read for fact in op.inputs):
            read |= {fact.tensor for fact in op.outputs}
            if op.index in failed and op.span is not None:
                lines.add((op.span.file, op.span.line))
    return frozenset(lines)


def _collect_failures(program: Program) -> frozenset[tuple[str, int]]:
    """Return the lines that fail."""
    spans = (program.trace.ops[failure.op].span for failure in program.failures)
    return frozenset((span.file, span.line) for span in spans if span is not None)


def _collect_rank_failures(program: Program) -> frozenset[tuple[str, int]]:
    """Return the lines that fail because of how many dims a tensor has."""
    lines: set[tuple[str, int]] = set()
    for failure in program.failures:
        op = program.trace.ops[failure.op]
        name = op.name.rpartition(".")[2]
        several = name in JOINING and len({len(f.shape) for f in op.inputs}) > 1
        if op.span is not None and (several or is_of_rank(failure)):
            lines.add((op.span.file, op.span.line))
    return frozenset(lines)


def _list_losses(context: HazardContext) -> tuple[_ComparedLoss, ...]:
    """Return the losses of a run with a prediction and a target, each once."""
    losses: dict[_ComparedLoss, None] = {}
    for call in context.calls:
        calls = _get_calls(call.op)
        if call.name not in ALL_LOSSES or calls is None or len(call.op.inputs) < 2:
            continue
        prediction, target = (fact.shape for fact in call.op.inputs[:2])
        of_data = False
        if call.name in OF_CLASSES and len(prediction) > 1 and prediction != target:
            dims = [all(axis.data for axis in dim) for dim in call.dims[0] if dim]
            learned = not all(dims)  # some dim is what a layer made
            of_data = len(dims) == len(prediction) and dims[1] and learned
        losses[_ComparedLoss(calls, prediction, target, of_data)] = None
    return tuple(losses)
