"""Find terms of a loss that train nothing, and distillation that trains the teacher."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import ALL_LOSSES, HazardContext
from shapewright.analysis.hazards.detached_samples import find_detached_samples
from shapewright.analysis.hazards.drawn_latents import find_drawn_latents
from shapewright.analysis.hazards.idle_hinges import find_idle_hinges
from shapewright.analysis.hazards.loss_terms import (
    PRODUCTS,
    find_ancestors,
    find_base,
    find_terms,
    is_of_function,
    iter_losses,
)
from shapewright.analysis.hazards.number_terms import find_number_terms
from shapewright.analysis.hazards.siamese_losses import find_pulled_targets
from shapewright.analysis.hazards.unrecorded_terms import find_unrecorded_terms
from shapewright.analysis.hazards.unwritten_terms import find_unwritten_terms
from shapewright.analysis.hazards.value_targets import find_bootstrapped_targets
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import (
    TEACHER_WITH_GRAPH,
    TERM_WITHOUT_GRAPH,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.spans import Span
from shapewright.record.ops import Fact, Op

STEPS = operators_with("compares_elements", "returns_indices", "finds_nonzero") | {
    "count_nonzero", "<", "<=", ">", ">=", "==", "!=",
}  # fmt: skip
"""Calls whose results change in steps: no gradient passes."""
LOGARITHMS = frozenset({"log_softmax", "log", "logsigmoid"})
CHOICES = frozenset({"softmax", "sigmoid", "exp"})
TEACHER = re.compile(r"teacher|momentum_(?:encoder|model)|ema_(?:model|out)", re.I)
STUDENT = re.compile(r"student", re.I)
FARTHEST = 64
NEAREST = 8
"""Calls between what a model returned and the number that is read off it."""
FROM_NUMBERS = frozenset({"tensor", "FloatTensor", "as_tensor"})
READS = frozenset({"item", "tolist"})
DIFFERENCES = operators_with("subtracts")
FLAT = operators_with("has_zero_gradient")
"""Calls whose gradient is zero wherever it is defined."""
MOST_CALLS = 4_000
"""Calls of the graph of a loss that are followed."""


@looks_for(TERM_WITHOUT_GRAPH)
def find_terms_without_graph(scene: HazardContext) -> Iterator[Finding]:
    """Find terms of a loss that follow from a comparison of what a model returned, or
    are numbers that were read.
    """
    yield from find_number_terms(scene)
    yield from find_drawn_latents(scene)
    yield from find_detached_samples(scene)
    yield from find_idle_hinges(scene)
    yield from find_unrecorded_terms(scene)
    yield from find_unwritten_terms(scene)
    seen: set[int] = set()
    spans: set[Span | None] = set()
    for loss in iter_losses(scene):
        if not loss.requires_grad:
            continue
        for term in find_terms(scene, loss):
            fact = term.fact
            if not term.factor or fact.tensor in seen:
                continue
            seen.add(fact.tensor)
            if fact.requires_grad:
                flat = _find_flat_call(scene, fact)
                if flat is not None and flat.op.span not in spans:
                    spans.add(flat.op.span)
                    yield _report_flat_term(scene, flat)
                continue
            call = _find_step(scene, fact)
            if call is not None and call.op.span is not None:
                yield _report_term(scene, call)
            elif (
                call is None
                and (read := _find_read_numbers(scene, loss, fact)) is not None
            ):
                yield _report_read_term(scene, *read)


def _find_flat_call(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call that makes every gradient of a tensor zero, or None if one
    comes through.
    """
    flat: OperatorCall | None = None
    waiting, seen = [fact], {fact.tensor}
    while waiting:
        part = waiting.pop()
        call = scene.maker(part)
        if part.is_leaf or call is None or len(seen) > MOST_CALLS:
            return None
        if any(user.op.kind == "inplace" for user in scene.users.get(part.tensor, ())):
            return None  # what was written into it has a gradient
        if is_of_function(scene, part):
            return None  # its `backward` may pass anything
        if call.name in FLAT:
            flat = flat or call
            continue
        more = [f for f in call.op.inputs if f.requires_grad and f.tensor not in seen]
        seen |= {f.tensor for f in more}
        waiting += more
        if not any(f.requires_grad for f in call.op.inputs):
            return None
    return flat


def _report_flat_term(scene: HazardContext, call: OperatorCall) -> Finding:
    message = (
        f"{scene.operation(call.op)} has a gradient of zero everywhere, and all of the"
        " loss comes through it: the loss trains nothing"
    )
    return scene.finding(
        TERM_WITHOUT_GRAPH,
        call.op,
        message,
        (call.op, "decide behind the loss: it is of the scores"),
    )


def _find_step(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call at which the graph of a term ends."""
    for call in find_ancestors(scene, fact, FARTHEST).values():
        tracked = [part for part in call.op.inputs if part.requires_grad]
        if call.name in STEPS and tracked:
            return call
    return None


def _find_read_numbers(
    scene: HazardContext, loss: Fact, fact: Fact
) -> tuple[OperatorCall, Op] | None:
    """Return the first call with a tensor that a term makes of Python's numbers, and
    the call that read these off what the loss itself is computed from.
    """
    known = set(find_ancestors(scene, loss, 2 * FARTHEST))
    for call in find_ancestors(scene, fact, FARTHEST).values():
        is_start = call.name in FROM_NUMBERS and not call.op.inputs
        is_start = is_start or any(
            scene.maker(part) is None and part.tensor not in scene.program.states
            for part in call.op.inputs
        )
        read = _find_read(scene, call.op, known) if is_start else None
        if read is not None and call.op.span is not None:
            return call, read
    return None


def _find_read(scene: HazardContext, maker: Op, known: set[int]) -> Op | None:
    """Return the last `.item()` before a call, in the function that makes the call or
    below, of a number that follows from one of the `known` calls.
    """
    function = maker.frames[-1].function if maker.frames else ""
    reads = 0
    for op in reversed(scene.program.trace.ops[: maker.index]):
        if function not in [frame.function for frame in op.frames] or reads > NEAREST:
            return None
        if op.kind == "read" and op.name.rpartition(".")[2] in READS:
            sources = find_ancestors(scene, op.inputs[0], NEAREST)
            tracked = any(
                part.requires_grad
                for call in sources.values()
                for part in call.op.inputs
            )
            if tracked and known & set(sources):
                return op
            reads += 1
    return None


def _report_read_term(scene: HazardContext, call: OperatorCall, read: Op) -> Finding:
    message = (
        f"a term of the loss has no gradient: {scene.operation(call.op)} computes it"
        f" from numbers that `{read.name}` read, so the term trains nothing"
    )
    return scene.finding(
        TERM_WITHOUT_GRAPH,
        call.op,
        message,
        (read, "the graph ends here: compute the term with tensors"),
    )


def _report_term(scene: HazardContext, call: OperatorCall) -> Finding:
    at = next(i for i, part in enumerate(call.op.inputs) if part.requires_grad)
    name = scene.words(call.op)[at]
    message = (
        f"a term of the loss has no gradient: {scene.operation(call.op)} of {name}"
        " gives truths or numbers that change in steps, so the term trains nothing"
    )
    return scene.finding(
        TERM_WITHOUT_GRAPH,
        call.op,
        message,
        (call.op, "the graph ends here: a difference, `relu` or a sigmoid has one"),
    )


@looks_for(TEACHER_WITH_GRAPH)
def find_trained_teachers(scene: HazardContext) -> Iterator[Finding]:
    """Find losses of a student that send gradients into its teacher, and losses that
    pull the target of a siamese network.
    """
    yield from find_pulled_targets(scene)
    yield from find_bootstrapped_targets(scene)
    seen: set[object] = set()
    for call in scene.calls:
        if call.op.span is None or call.op.span in seen or len(call.op.inputs) < 2:
            continue
        if not all(fact.requires_grad for fact in call.op.inputs[:2]):
            continue
        is_difference = call.name in DIFFERENCES
        is_loss = call.name in ALL_LOSSES or _is_cross_entropy(scene, call)
        if is_loss or is_difference:
            names = [_name_side(scene, call, at) for at in (0, 1)]
            if is_difference and not any(map(STUDENT.search, names)):
                continue
            teachers = [bool(TEACHER.search(name)) for name in names]
            if teachers[0] == teachers[1] or not any(teachers):
                continue
            at = teachers.index(True)
            if STUDENT.search(names[at]):
                continue
            seen.add(call.op.span)
            yield _report_teacher(scene, call, at)


def _is_cross_entropy(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a product is one of probabilities and logarithms of others."""
    if call.name not in PRODUCTS:
        return False
    makers = [scene.maker(find_base(scene, fact)) for fact in call.op.inputs[:2]]
    names = [maker.name if maker is not None else "" for maker in makers]
    return any(name in LOGARITHMS for name in names) and any(
        name in CHOICES for name in names
    )


def _name_side(scene: HazardContext, call: OperatorCall, at: int) -> str:
    """Return the words for an operand and the module that made it."""
    fact = call.op.inputs[at]
    makers = find_ancestors(scene, fact, 4).values()
    modules = [maker.op.module or "" for maker in makers]
    return " ".join([scene.words(call.op)[at], *modules])


def _report_teacher(scene: HazardContext, call: OperatorCall, at: int) -> Finding:
    names = scene.words(call.op)
    message = (
        f"{names[at]} carries a graph, so this loss also trains the teacher towards"
        f" {names[1 - at]}"
    )
    return scene.finding(
        TEACHER_WITH_GRAPH,
        call.op,
        message,
        (call.op, f"{names[at]} is a target here: `detach()` it"),
    )
