"""Find schedules that count batches and are stepped by epochs, or the reverse,
schedules of an optimizer that is no longer used, and factors that `//` makes 0.

A schedule may end before or after the run on purpose. So its number of steps must be
that of the other unit, exactly: epochs times batches for one step in each epoch, or
epochs for one step with each batch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.floored_logarithms import (
    get_floored_quotient,
    iter_floored_logarithms,
)
from shapewright.findings.codes import (
    FLOORED_FACTOR,
    RATE_AS_FACTOR,
    SCHEDULER_OF_REPLACED,
    SCHEDULER_UNIT,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.program.source_text import Function, SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_last_name,
    list_arguments,
)
from shapewright.record.report import Moment, Place

VANISHING = ("StepLR", "MultiStepLR", "ExponentialLR")
LONGER = 1.5
"""How much longer than its plan a schedule is stepped at least."""
FALLING = ("CosineAnnealingLR", "PolynomialLR", "LambdaLR")
"""Schedulers that may be stepped more often than they are planned for."""
COSINE = "CosineAnnealingLR"
FEWEST = 4
"""The least plan whose equality with another number says something."""
SWINGS = 3
"""How often a cosine is stepped through, at least, that swings."""


@looks_for(SCHEDULER_UNIT)
def find_schedules_in_other_units(scene: RehearsalContext) -> Iterator[Finding]:
    """Find schedules whose number of steps is that of the other unit."""
    plans: dict[object, list[tuple[str, int, Place | None]]] = {}
    for met in scene.observations("planned"):
        name, plan = met.name.split()
        plans.setdefault(met.place, []).append((name, int(plan), met.other))
    parts = list(scene.observations("planned-part"))
    sequences = {met.place for met in parts}
    stepped: dict[Place, tuple[Moment, tuple[Moment, ...]]] = {}
    story = _flatten_single_turns(scene.rehearsal.story)
    for moment, loops in _iter_schedules(story, ()):
        place = moment.file, moment.line
        stepped.setdefault(place, (moment, loops))
        planned = {
            (plan, built)
            for name, plan, built in plans.get(place, ())
            if name == moment.text
        }
        is_part = moment.text == COSINE and place in sequences
        if len(planned) != 1 or not loops or is_part:
            continue
        ((planned_steps, built),) = planned
        findings = list(_compare_units(scene, moment, loops, planned_steps, built))
        if not findings and moment.text == COSINE and moment.count >= loops[-1].ran:
            findings = _find_swings(scene, place, loops, (planned_steps, 0, 0), built)
        yield from findings
    for met in parts:
        event, loops = stepped.get(met.place, (None, ()))
        steps, start, end = map(int, met.name.split())
        if event is not None and loops and _is_stepped_each_turn(event, loops):
            span = steps, start, end
            yield from _find_swings(scene, met.place, loops, span, met.other)
    yield from _find_steps_without_training(scene, scene.rehearsal.story)


def _find_steps_without_training(
    scene: RehearsalContext, moment: Moment
) -> Iterator[Finding]:
    """Yield findings on loops that step a schedule in turns without a backward pass: an
    evaluation by the function that trains too.
    """
    counts = {event.kind: event.count for event in moment.inner}
    trained, ran = counts.get("step", 0), moment.ran
    for event in moment.inner:
        is_regular = event.kind == "schedule" and event.count >= ran > trained
        if is_regular and 0 < trained == counts.get("backward", 0):
            yield build_finding(
                SCHEDULER_UNIT,
                f"`{event.text}` is stepped in each turn of this loop, and"
                f" {ran - trained} of {ran} rehearsed ones run no backward pass: an"
                " evaluation changes the learning rate too",
                scene.span((event.file, event.line), "step"),
            )
        yield from _find_steps_without_training(scene, event)


def _flatten_single_turns(moment: Moment) -> Moment:
    """Return a moment with the events of loops over one thing, such as a list with the
    only scheduler, as its own.
    """
    events: list[Moment] = []
    for event in moment.inner:
        flat = _flatten_single_turns(event)
        kinds = {part.kind for part in flat.inner}
        is_single = event.kind == "loop" and event.total == 1
        if is_single and not kinds & {"loop", "batches"}:
            events += flat.inner
        else:
            events.append(flat)
    return replace(moment, inner=tuple(events))


def _iter_schedules(
    moment: Moment, loops: tuple[Moment, ...]
) -> Iterator[tuple[Moment, tuple[Moment, ...]]]:
    """Yield each step of a scheduler with the loops around it, outermost first."""
    for event in moment.inner:
        if event.kind == "schedule":
            yield event, loops
        within = (*loops, event) if event.kind == "loop" else loops
        yield from _iter_schedules(event, within)


def _is_stepped_each_turn(event: Moment, loops: tuple[Moment, ...]) -> bool:
    """Return whether a line steps a scheduler, whichever, in each turn of its loop.

    Where one gives way to the next, a sequence steps none.
    """
    events = [
        other
        for other in loops[-1].inner
        if other.kind == "schedule" and other.line == event.line
    ]
    return 4 * sum(other.count for other in events) > 3 * loops[-1].ran


def _find_swings(
    scene: RehearsalContext,
    place: Place,
    loops: tuple[Moment, ...],
    planned: tuple[int, int, int],
    built: Place | None,
) -> list[Finding]:
    """Return the finding for a cosine that is stepped with each batch of a loader and
    rises and falls again within an epoch.

    `planned` are its `T_max`, its first step and its end, 0 where it is the end of the
    run.
    """
    plan, start, end = planned
    inner = loops[-1]
    epochs = loops[-2].total if len(loops) > 1 else None
    many = inner.total or 0
    over = any(event.kind == "batches" for event in inner.inner)
    steps = any(event.kind == "step" for event in inner.inner)
    if epochs is None or not over or not steps or plan >= many:
        return []
    times = (end or epochs * many) - start
    if times < SWINGS * plan:
        return []
    unit = ", as if for epochs," if plan <= epochs else ""
    unit = ", one for each epoch," if start and start + plan == epochs else unit
    finding = build_finding(
        SCHEDULER_UNIT,
        f"`{COSINE}` is planned for {plan:,} steps{unit} and is stepped {times:,} times"
        f" in a whole run, once for each batch: after {plan:,} of {many:,} batches the"
        " learning rate rises again, and it swings for the whole run",
        scene.span(place, "step"),
        (scene.span(built, COSINE), "its plan is given here"),
    )
    return [finding]


def _compare_units(
    scene: RehearsalContext,
    moment: Moment,
    loops: tuple[Moment, ...],
    plan: int,
    built: Place | None,
) -> Iterator[Finding]:
    """Yield the finding for a schedule whose unit is not that of its steps."""
    if plan < FEWEST:
        return
    inner = loops[-1]
    yield from _find_steps_in_comprehension(scene, moment, loops, plan)
    if any(loop.total is None for loop in loops) or moment.count < inner.ran:
        return
    times = 1
    for loop in loops:
        times *= loop.total or 1
    span = scene.span((moment.file, moment.line), "step")
    for loop in inner.inner:
        many = loop.total or 0
        step = next((event for event in loop.inner if event.kind == "step"), None)
        if loop.kind != "loop" or step is None or many < 2:
            continue
        if plan == times * many and moment.text not in VANISHING:
            yield build_finding(
                SCHEDULER_UNIT,
                f"`{moment.text}` is planned for {plan:,} steps and is stepped"
                f" {times:,} times in a whole run: once for each epoch, not for each of"
                f" its {many:,} batches",
                span,
                (
                    scene.span((step.file, step.line), "step"),
                    "the optimizer steps here",
                ),
            )
            return
    epochs = loops[0].total if len(loops) == 2 else None
    many = inner.total or 0
    steps = any(event.kind == "step" for event in inner.inner)
    if moment.text in FALLING and plan == epochs and many > 1 and steps:
        yield build_finding(
            SCHEDULER_UNIT,
            f"`{moment.text}` is planned for {plan:,} steps, one for each epoch, and is"
            f" stepped {times:,} times in a whole run: once for each batch",
            span,
            (scene.span(built, moment.text), "its plan is given here"),
        )
    vanishes = moment.text in VANISHING and LONGER * plan <= times
    if vanishes and many > 1 and steps and epochs is not None and epochs < plan:
        yield build_finding(
            SCHEDULER_UNIT,
            f"`{moment.text}` is stepped {times:,} times in a whole run, once for each"
            f" batch: after {plan:,} steps the learning rate is a millionth of what it"
            " was, or less",
            span,
        )


def _find_steps_in_comprehension(
    scene: RehearsalContext, moment: Moment, loops: tuple[Moment, ...], plan: int
) -> Iterator[Finding]:
    """Yield the finding for a schedule of as many steps as epochs that is stepped for
    each batch of a loader in a comprehension, which is no loop of the story.
    """
    epochs = loops[-1]
    passes = [event for event in epochs.inner if event.kind == "batches"]
    is_alone = len(loops) == 1 and len(passes) == 1 and plan == epochs.total
    if not is_alone or epochs.ran < 1 or passes[0].line == epochs.line:
        return
    ran, many = len(passes[0].turns), passes[0].total or 0
    is_for_each = moment.count == epochs.ran * ran and ran > 1
    if is_for_each and moment.text in FALLING:
        yield build_finding(
            SCHEDULER_UNIT,
            f"`{moment.text}` is planned for {plan:,} steps, one for each epoch, and is"
            f" stepped {plan * many:,} times in a whole run: once for each batch",
            scene.span((moment.file, moment.line), "step"),
        )


@looks_for(SCHEDULER_OF_REPLACED)
def find_left_schedulers(scene: RehearsalContext) -> Iterator[Finding]:
    """Find schedulers whose optimizer another one has replaced."""
    built = {
        (met.place, met.name): met.other for met in scene.observations("scheduler-of")
    }
    for met in scene.observations("scheduler-left"):
        scheduler, old, new = met.name.split()
        yield build_finding(
            SCHEDULER_OF_REPLACED,
            f"this `{scheduler}` changes the learning rate of an `{old}` that steps no"
            f" more: `{new}` has taken over its parameters, and no scheduler has it",
            scene.span(met.place, "step"),
            (scene.span(met.other, new), f"`{new}` is built here"),
            (
                scene.span(built.get((met.place, met.name)), scheduler),
                "the scheduler was built here",
            ),
        )


@looks_for(RATE_AS_FACTOR)
def find_rates_as_factors(scene: RehearsalContext) -> Iterator[Finding]:
    """Find functions of `LambdaLR` that return a learning rate, not a factor."""
    for met in scene.observations("low-factor"):
        highest, rate = met.name.split()
        span = scene.span(met.other)
        if span is None:
            continue
        message = (
            f"the optimizer's rate, {rate}, is multiplied by at most {highest}, which"
            " the function of `LambdaLR` returns: it looks like a learning rate, and is"
            " taken for a factor"
        )
        where = scene.span(met.place, "LambdaLR"), "the schedule is built here"
        yield build_finding(RATE_AS_FACTOR, message, span, where)


OF_FACTORS = frozenset({"LambdaLR", "MultiplicativeLR"})
KEEPING_FACTOR = frozenset({"min", "max", "float"})
"""Functions of which a factor may be an argument."""


@looks_for(FLOORED_FACTOR)
def find_floored_factors(scene: RehearsalContext) -> Iterator[Finding]:
    """Find factors such as `step // warmup_steps`, which are 0 for all of them, and
    rounded frequencies of positions.
    """
    for text in scene.program.own_texts():
        yield from _report_logarithms(text)
        names = _collect_factor_functions(text)
        for node in text.nodes:
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv):
                continue
            if _is_limited_weight(text, node):
                yield build_finding(
                    FLOORED_FACTOR,
                    f"`{text.line_of(node)}` is 0 as long as"
                    f" `{text.line_of(node.left)}` is less than"
                    f" `{text.line_of(node.right)}`, and the limit is 1: the weight"
                    " does not grow, it jumps",
                    text.span(node),
                )
                continue
            top = _find_whole(text, node)
            if not _is_rate(text, top, names) or not _is_below_one(text, node):
                continue
            yield build_finding(
                FLOORED_FACTOR,
                f"`{text.line_of(node)}` is 0 as long as `{text.line_of(node.left)}` is"
                f" less than `{text.line_of(node.right)}`: the learning rate is 0 for"
                " the whole warm-up, which trains nothing",
                text.span(node),
            )


def _is_limited_weight(text: SourceText, node: ast.BinOp) -> bool:
    """Return whether a quotient is one of two numbers of which the less is taken, and
    the other is 1: `min(1.0, step // total)`.
    """
    around = text.parent(node)
    if not isinstance(around, ast.Call) or get_called_name(around) != "min":
        return False
    others = [part for part in around.args if part is not node]
    return len(around.args) == 2 and all(
        isinstance(part, ast.Constant) and part.value == 1 for part in others
    )


def _report_logarithms(text: SourceText) -> Iterator[Finding]:
    """Yield findings for exponents whose logarithm is rounded down."""
    for node in iter_floored_logarithms(text):
        quotient = get_floored_quotient(node)
        whole = text.line_of(node)
        message = (
            f"`{whole}` rounds the logarithm, which `exp` takes, down to a whole number"
        )
        if quotient is not None:
            message = (
                f"`{whole}` divides `{text.line_of(quotient)}` by"
                f" `{text.line_of(node.right)}` and rounds that down to a whole number,"
                " which `exp` takes: as a divisor, `"
                f"{text.line_of(quotient.right)} // {text.line_of(node.right)}` needs"
                " parentheses"
            )
        yield build_finding(FLOORED_FACTOR, message, text.span(node))


def _collect_factor_functions(text: SourceText) -> set[str]:
    """Return the names of functions that a schedule multiplies rates by, or whose
    results are written to a group of parameters.
    """
    schedules = [
        node
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) in OF_FACTORS
    ]
    names = {
        get_last_name(part)
        for call in schedules
        for argument in list_arguments(call)
        for part in (argument, *getattr(argument, "elts", ()), *_list_given(argument))
    }
    for node in text.nodes:
        if isinstance(node, ast.Assign) and _is_group_rate(node.targets[0]):
            names |= {get_called_name(part) for part in ast.walk(node.value)}
            names.add(get_last_name(node.value))
    return (names | {"get_lr"}) - {""}


def _list_given(node: ast.expr) -> list[ast.expr]:
    """Return the arguments of a call, as of `partial(factor, warmup=10)`."""
    return node.args if isinstance(node, ast.Call) else []


def _is_group_rate(node: ast.expr) -> bool:
    """Return whether an expression is `group["lr"]`."""
    key = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(key, ast.Constant) and key.value == "lr"


def _find_whole(text: SourceText, node: ast.expr) -> ast.AST:
    """Return what an expression is a factor of, or the least or largest number of."""
    whole: ast.expr = node
    for above in text.outwards(node):
        is_factor = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mult)
        is_kept = get_called_name(above) in KEEPING_FACTOR
        is_branch = isinstance(above, ast.IfExp) and above.test is not whole
        is_listed = isinstance(above, ast.List | ast.ListComp)
        if not isinstance(above, ast.expr) or not (
            is_factor or is_kept or is_branch or is_listed
        ):
            return above
        whole = above
    return whole


def _is_rate(text: SourceText, above: ast.AST, names: set[str]) -> bool:
    """Return whether the value that stands in a node is a factor of a learning rate:
    returned by a function of a schedule, or written to a group of parameters.
    """
    if isinstance(above, ast.Assign):
        target = above.targets[0]
        is_plain = isinstance(target, ast.Name)
        return _is_group_rate(target) or (is_plain and get_last_name(target) in names)
    if isinstance(above, ast.Lambda):
        call = text.parent(above)
        call = text.parent(call) if isinstance(call, ast.keyword | ast.List) else call
        if isinstance(call, ast.Assign):
            return get_last_name(call.targets[0]) in names
        return call is not None and get_called_name(call) in OF_FACTORS
    function = text.around(above, *FUNCTIONS) if isinstance(above, ast.Return) else None
    return isinstance(function, Function) and function.name in names


def _is_below_one(text: SourceText, node: ast.BinOp) -> bool:
    """Return whether a quotient is that of a warm-up by its name, or stands where its
    left side is less than its right one.
    """
    bound = ast.dump(node.right)
    if any("warm" in word.lower() for word in _list_words(node.right)):
        return True
    left = collect_names(node.left)
    for above in text.outwards(node):
        if isinstance(above, FUNCTIONS):
            return False
        if not isinstance(above, ast.If | ast.IfExp):
            continue
        test, body = above.test, above.body
        parts = body if isinstance(body, list) else [body]
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            continue
        is_less = isinstance(test.ops[0], ast.Lt | ast.LtE)
        is_within = any(node is part for item in parts for part in ast.walk(item))
        is_bound = ast.dump(test.comparators[0]) == bound
        if is_less and is_within and is_bound and left & collect_names(test.left):
            return True
    return False


def _list_words(node: ast.expr) -> list[str]:
    """Return the names and attributes in an expression."""
    return [get_last_name(part) for part in ast.walk(node)]
