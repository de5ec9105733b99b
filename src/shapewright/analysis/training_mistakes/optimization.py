"""Find misuse of gradients, schedulers and saved model states: gradients that
accumulate, never arrive, or have no graph.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shapewright.analysis.training_mistakes.accumulated_gradients import (
    find_cleared_by_hand,
    find_early_step,
    find_lost_remainders,
)
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
    is_before_optimizers,
)
from shapewright.analysis.training_mistakes.kept_weights import (
    find_kept_states,
    find_kept_weights,
    find_states_of_objects,
)
from shapewright.analysis.training_mistakes.missing_steps import (
    find_exchanged_steps,
    find_exclusive_steps,
    is_never_stepped,
)
from shapewright.analysis.training_mistakes.read_gradients import find_cleared_reads
from shapewright.analysis.training_mistakes.undivided_losses import (
    find_accumulating_choice,
)
from shapewright.findings.codes import (
    GRADIENT_WITHOUT_GRAPH,
    GRADIENTS_CLEARED_UNUSED,
    GRADIENTS_NOT_CLEARED,
    SCHEDULER_ORDER,
    SCHEDULER_TOO_LONG,
    STATE_NOT_COPIED,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    get_called_name,
    get_dotted_name,
    get_last_line,
)
from shapewright.record.ops import Fact, Op
from shapewright.record.report import (
    Moment,
    Observation,
    Place,
)


@looks_for(GRADIENTS_NOT_CLEARED, misled_by_errors=True)
def find_stale_gradients(scene: RehearsalContext) -> Iterator[Finding]:
    """Find backward passes that add to gradients that a step has already used."""
    if any(find_exchanged_steps(scene)):
        return  # told by itself
    yield from _find_shared_passes(scene)
    for met in scene.observations("stale"):
        user = f"`{met.name}`" if met.name else "an update by hand"
        clearing = "`zero_grad()`" if met.name else "`grad.zero_()` or `grad = None`"
        step = scene.span(met.other, "step")
        where = f"{clearing} belongs after it, or first in the loop"
        if not met.name and _is_before_loop(scene, met):
            step, where = scene.span(met.place, "backward"), f"{clearing} belongs here"
        yield build_finding(
            GRADIENTS_NOT_CLEARED,
            "this adds to the gradients of the previous step: "
            f"{user} has used them and nothing cleared them since",
            scene.span(met.place, "backward"),
            (scene.span(met.other, "step"), "this step used them"),
            scene.find_uncalled("zero_grad") or (step, where),
        )


def _find_shared_passes(scene: RehearsalContext) -> Iterator[Finding]:
    """Find steps that use the gradients of a loss of another optimizer, too: those that
    went through the samples of a generator, which were not detached.
    """
    for met in scene.observations("shared-pass"):
        yield build_finding(
            GRADIENTS_NOT_CLEARED,
            f"this `{met.name}` steps with the gradients of another loss, too: of the"
            f" one at line {met.place[1]}, which another optimizer has used, and which"
            " nothing has cleared since",
            scene.span(met.other, "step"),
            (scene.span(met.place, "backward"), SHARED),
        )


SHARED = "this loss gives them gradients: `detach()` what it reads, or clear them"


def _is_before_loop(scene: RehearsalContext, met: Observation) -> bool:
    """Return whether a step was made before the loop of the backward pass begins: the
    next turns follow a step in the loop.
    """
    text = scene.program.text(met.place[0])
    near = text.near(met.place[1]) if text is not None else ()
    loop = text.around(near[0], *LOOPS) if text is not None and near else None
    step = met.other
    is_in_file = loop is not None and step is not None and step[0] == met.place[0]
    return is_in_file and step is not None and step[1] < getattr(loop, "lineno", 0)


@looks_for(GRADIENTS_CLEARED_UNUSED)
def find_unused_gradients(scene: RehearsalContext) -> Iterator[Finding]:
    """Find gradients that are cleared before any step has used them."""
    if any(find_exchanged_steps(scene)) or is_never_stepped(scene):
        return  # told by itself
    yield from find_cleared_reads(scene)
    is_stepped = any(optimizer.stepped for optimizer in scene.training.optimizers)
    if not is_stepped or not any(scene.observations("cleared-unused")):
        yield from find_lost_remainders(scene)
        yield from find_cleared_by_hand(scene) if is_stepped else ()
    for met in scene.observations("cleared-unused") if is_stepped else ():
        if met.name and _is_stepped(scene, met):
            continue  # under a condition that did not come
        if _is_in_optimizer(scene, met.place):
            continue  # its own methods use the gradients
        if is_before_optimizers(scene, met.other):
            continue  # a check of gradients, not a step
        if _is_of_inputs(scene, met.other):
            continue  # an attack, a map of what a network looks at
        if _is_read_between(scene, met.other, met.place):
            continue  # an estimate of the curvature, a copy of the gradients
        optimizer_note = f": this `{met.name}` never steps" if met.name else ""
        places = [
            scene.program.node(scene.span(place, name))
            for place, name in ((met.place, "zero_grad"), (met.other, "backward"))
        ]
        if places[0] is not None and places[1] is not None:
            text, clearing = places[0]
            early = find_early_step(
                text, text.statement_of(clearing), text.statement_of(places[1][1])
            )
            if early is not None:
                step = text.written(early)
                optimizer_note = f": `{step}` stands in front of the backward pass"
        yield build_finding(
            GRADIENTS_CLEARED_UNUSED,
            f"the gradients that are cleared here were used by no step{optimizer_note}",
            scene.span(met.place, "zero_grad"),
            (scene.span(met.other, "backward"), "they are computed here"),
        )


def _is_of_inputs(scene: RehearsalContext, place: Place | None) -> bool:
    """Return whether the function of a backward pass reads the gradient of a tensor for
    which it asks itself: `image.requires_grad = True`, and then `image.grad`; or any
    gradient, where it makes no step.
    """
    text = scene.program.text(place[0]) if place is not None else None
    near = text.near(place[1]) if text is not None and place is not None else ()
    scope = text.around(near[0], *FUNCTIONS) if text is not None and near else None
    asked: set[str] = set()
    read: set[str] = set()
    steps = False
    for node in ast.walk(scope) if scope is not None else ():
        steps = steps or get_called_name(node) == "step"
        if isinstance(node, ast.Attribute):
            name = get_dotted_name(node.value)
            if node.attr in ("requires_grad", "requires_grad_"):
                asked.add(name)
            elif node.attr == "grad" and isinstance(node.ctx, ast.Load):
                read.add(name)
    return bool(asked & read - {""}) or (bool(read) and not steps)


def _is_read_between(
    scene: RehearsalContext, passed: Place | None, cleared: Place
) -> bool:
    """Return whether a function of the program that reads gradients is called between
    a backward pass and the line that clears them, such as `optimizer.update_hessian()`,
    or reads them itself before it clears them.
    """
    text = scene.program.text(cleared[0])
    if text is None or passed is None or passed[0] != cleared[0]:
        return False
    near = next(iter(text.near(cleared[1])), None)
    own = text.around(near, ast.FunctionDef) if near is not None else None
    if isinstance(own, ast.FunctionDef) and not own.lineno <= passed[
        1
    ] <= get_last_line(own):
        lines = [
            part.lineno
            for part in ast.walk(own)
            if isinstance(part, ast.Attribute)
            and part.attr == "grad"
            and isinstance(part.ctx, ast.Load)
        ]
        if any(line < cleared[1] for line in lines):
            return True
    called = {
        get_called_name(node)
        for node in text.nodes
        if isinstance(node, ast.Call) and passed[1] < node.lineno < cleared[1]
    }
    return any(
        isinstance(part, ast.Attribute)
        and part.attr == "grad"
        and isinstance(part.ctx, ast.Load)
        for name in called - {"", "step", "zero_grad", "backward"}
        for _, function in text.functions(name)
        for part in ast.walk(function)
    )


def _is_in_optimizer(scene: RehearsalContext, place: Place) -> bool:
    """Return whether a line belongs to an optimizer that the program defines."""
    text = scene.program.text(place[0])
    for node in text.near(place[1]) if text is not None else ():
        kind = text.around(node, ast.ClassDef) if text is not None else None
        if kind is not None and any("ptim" in ast.unparse(base) for base in kind.bases):
            return True
    return False


def _is_stepped(scene: RehearsalContext, met: Observation) -> bool:
    """Return whether the text steps the optimizer whose gradients are cleared at a
    place.

    So it does too where it is not written which one that is.
    """
    text = scene.program.text(met.place[0])
    for node in text.near(met.place[1]) if text is not None else ():
        if isinstance(node, ast.Call) and get_called_name(node) == "zero_grad":
            owner = ast.unparse(node.func).removesuffix(".zero_grad")
            return text is None or f"{owner}.step(" in text.text
    return True


ADDS = operators_with("adds_terms")
"""Calls that put a term beside others."""

CONSTANT = operators_with("has_zero_gradient", "ignores_given_values")
"""Calls through which no gradient would come, with a graph or without."""


@looks_for(GRADIENT_WITHOUT_GRAPH)
def find_graphless_penalties(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `autograd.grad` without `create_graph=True` whose result becomes a term of a
    loss.
    """
    ops = scene.program.trace.ops
    if not any(op.name.endswith("autograd.grad") for op in ops):
        return
    terms = _Terms(ops)
    for op in ops:
        if op.name.rpartition(".")[2] == "backward":
            for gradient_op, added in terms.reached(op):
                yield _report_penalty(scene, gradient_op, added, op)
        else:
            terms.follow(op)


class _Terms:
    """Follows tensors computed from gradients without a graph, call by call.

    A step along a gradient is right without one (`x + 0.1 * gradient`, meta-learning
    of the first order): what it moves is that by which was differentiated. So a
    gradient is a term of a loss where it is one number beside others, or is added to
    what comes of that which was differentiated. What comes of the points alone, as the
    right side of a differential equation, has a graph and teaches no parameter: beside
    it a gradient stays what it is.
    """

    def __init__(self, ops: Sequence[Op]) -> None:
        self.of_points = _list_points(ops)  # tensors that come of points alone
        self.bare: dict[int, Op] = {}  # of nothing but gradients: made where
        self.moved: set[int] = set()  # tensors by which was differentiated
        self.ends: dict[int, set[int]] = {}  # what comes of tensors that were: of which
        self.losses: dict[int, tuple[Op, Op]] = {}  # they hold a term, from an addition

    def follow(self, op: Op) -> None:
        """Process a call."""
        name = op.name.rpartition(".")[2]
        if op.name.endswith("autograd.grad"):
            self.differentiated(op)
            return
        trained = [fact for fact in op.inputs if fact.requires_grad]
        bare = [fact for fact in op.inputs if fact.tensor in self.bare]
        for out in op.outputs:
            if out.requires_grad:
                thin = {fact.tensor for fact in trained} <= self.of_points
                if thin:
                    self.of_points.add(out.tensor)
                self.trains(op, name, out, trained, bare)
                moves = any(fact.tensor in self.moved for fact in trained)
                if thin and bare and not moves and out.tensor not in self.losses:
                    self.bare[out.tensor] = self.bare[bare[0].tensor]
            elif bare and not trained and _is_smooth(out):
                gradient_op = self.bare[bare[0].tensor]
                is_inside = op.span == gradient_op.span  # of `functional.jacobian`
                if name not in CONSTANT or (name == "detach" and is_inside):
                    self.bare[out.tensor] = gradient_op

    def differentiated(self, op: Op) -> None:
        """Record the differentiation of a tensor."""
        inputs_with_places = list(zip(op.places, op.inputs, strict=False))
        wanted = [
            fact
            for place, fact in inputs_with_places
            if place.startswith(("1", "inputs"))
        ]
        ends = [
            fact
            for place, fact in inputs_with_places
            if place.startswith(("0", "outputs"))
        ]
        self.moved |= {fact.tensor for fact in wanted}
        if dict(op.arguments).get("create_graph"):
            return
        for out in op.outputs:
            if not out.requires_grad and any(end.requires_grad for end in ends):
                self.bare[out.tensor] = op
        for end in ends:
            self.ends.setdefault(end.tensor, set()).add(op.index)

    def trains(
        self, op: Op, name: str, out: Fact, trained: list[Fact], bare: list[Fact]
    ) -> None:
        """Record a tensor that has a graph."""
        come = set[int]().union(*(self.ends.get(f.tensor, ()) for f in trained))
        if come:
            self.ends[out.tensor] = come | self.ends.get(out.tensor, set())
        held = [self.losses[f.tensor] for f in trained if f.tensor in self.losses]
        if held:
            self.losses[out.tensor] = held[0]
        others = [
            fact
            for fact in trained
            if fact.tensor not in self.moved and fact.tensor not in self.of_points
        ]
        if not bare or not others or name not in ADDS:
            return
        gradient_op = self.bare[bare[0].tensor]
        numbers = not any(fact.shape for fact in (*bare, *others))
        if numbers or gradient_op.index in come:
            self.losses[out.tensor] = gradient_op, op

    def reached(self, backward: Op) -> Iterator[tuple[Op, Op]]:
        """Yield each gradient in a loss that a backward pass reaches, with the op that
        adds it.
        """
        for fact in backward.inputs:
            if fact.tensor in self.losses:
                yield self.losses[fact.tensor]


def _list_points(ops: Sequence[Op]) -> set[int]:
    """Return the tensors by which a run differentiates and that a call made without a
    graph. Parameters are made by their modules, and steps write to them.
    """
    wanted: set[int] = set()
    plain: set[int] = set()
    others: set[int] = set()
    for op in ops:
        if op.name.endswith("autograd.grad"):
            pairs = zip(op.places, op.inputs, strict=False)
            wanted |= {
                fact.tensor
                for place, fact in pairs
                if place.startswith(("1", "inputs"))
            }
        has_graph = any(fact.requires_grad for fact in op.inputs)
        is_written = op.name.endswith("_")
        for out in op.outputs:
            if has_graph or (is_written and out.requires_grad):
                others.add(out.tensor)
            else:
                plain.add(out.tensor)
    return (wanted & plain) - others


def _is_smooth(fact: Fact) -> bool:
    """Return whether a tensor's dtype can have a gradient."""
    return fact.dtype.startswith(("float", "bfloat", "complex"))


def _report_penalty(
    scene: RehearsalContext, gradient_op: Op, added: Op, backward: Op
) -> Finding:
    """Return the finding for a gradient used as a term of a loss."""
    return build_finding(
        GRADIENT_WITHOUT_GRAPH,
        "this gradient is made without a graph, so the term of the loss that comes of "
        "it trains nothing: `create_graph=True` gives it one",
        gradient_op.span,
        (added.span, "the term is added to the loss here, as a constant"),
        (backward.span, "the backward pass of that loss"),
    )


@looks_for(SCHEDULER_ORDER, SCHEDULER_TOO_LONG)
def find_schedule_mistakes(scene: RehearsalContext) -> Iterator[Finding]:
    """Find schedulers that step before their optimizer, and schedules that are too
    short.
    """
    is_alone = is_never_stepped(scene)  # which is told by itself
    for met in scene.observations("scheduled-first") if not is_alone else ():
        if find_exclusive_steps(scene, met.place) is not None:
            continue
        span = scene.span(met.place, "step")
        place = scene.program.call_at(span)
        choice = find_accumulating_choice(*place) if place is not None else None
        if choice is not None and place is not None:
            yield build_finding(
                SCHEDULER_ORDER,
                f"`{met.name}` steps with each batch, and its optimizer only where"
                f" `{place[0].line_of(choice.test)}`: the first learning rates are"
                " skipped, and the schedule runs ahead of the steps",
                span,
                (place[0].span(choice.test), "the optimizer steps only then"),
            )
            continue
        yield build_finding(
            SCHEDULER_ORDER,
            f"`{met.name}` steps before its optimizer: the first learning rate is "
            "skipped",
            span,
        )
    yield from _find_short_schedule(scene, scene.rehearsal.story, 1, True)


def _find_short_schedule(
    scene: RehearsalContext, moment: Moment, times: int, known: bool
) -> Iterator[Finding]:
    """Find schedulers whose fixed number of steps a whole run exceeds."""
    if moment.kind == "schedule" and moment.total is not None and known:
        if times > moment.total:
            yield build_finding(
                SCHEDULER_TOO_LONG,
                f"`{moment.text}` has {moment.total} steps and is stepped {times:,} "
                "times in a whole run",
                scene.span((moment.file, moment.line), "step"),
            )
        return
    if moment.kind == "loop":
        known = known and moment.total is not None
        times *= moment.total or 1
    for event in moment.inner:
        regular = event.kind != "schedule" or event.count >= max(moment.ran, 1)
        yield from _find_short_schedule(scene, event, times, known and regular)


@looks_for(STATE_NOT_COPIED)
def find_changed_states(scene: RehearsalContext) -> Iterator[Finding]:
    """Find saved model states that changed along with the model, so that loading
    restores the last step.
    """
    yield from find_kept_weights(scene)
    met_lines = set()
    for met in scene.observations("state-not-copied"):
        met_lines.add((met.place[0], met.place[1]))
        yield build_finding(
            STATE_NOT_COPIED,
            f"this state of `{met.name}` is no copy: the steps that follow change it "
            "too, so that nothing is left to go back to",
            scene.span(met.place, "state_dict"),
            (
                scene.span(met.other, "load_state_dict"),
                "it is loaded here, and is what the model has already",
            ),
        )
    for finding in (*find_kept_states(scene), *find_states_of_objects(scene)):
        if (finding.file, finding.line) not in met_lines:
            yield finding
