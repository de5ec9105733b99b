"""Find misuse of gradients, schedulers and saved model states: gradients that
accumulate, never arrive, or have no graph.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import (
    EVALUATED_IN_TRAINING_MODE,
    GRADIENT_WITHOUT_GRAPH,
    GRADIENTS_CLEARED_UNUSED,
    GRADIENTS_NOT_CLEARED,
    NEVER_STEPPED,
    NO_GRADIENT,
    NOT_IN_OPTIMIZER,
    PARAMETER_REPEATED,
    SCHEDULER_ORDER,
    SCHEDULER_TOO_LONG,
    STATE_NOT_COPIED,
    TRAINED_IN_EVAL_MODE,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.parameter_lists import iter_parameter_lists
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import LOOPS, get_called_name
from shapewright.record.ops import Fact, Op
from shapewright.record.report import (
    Moment,
    Observation,
    Optimized,
    Outside,
    Place,
)


@looks_for(GRADIENTS_NOT_CLEARED, misled_by_errors=True)
def find_stale_gradients(scene: RehearsalContext) -> Iterator[Finding]:
    """Find backward passes that add to gradients that a step has already used."""
    for met in scene.observations("stale"):
        user = f"`{met.name}`" if met.name else "an update by hand"
        clearing = "`zero_grad()`" if met.name else "`grad.zero_()` or `grad = None`"
        yield build_finding(
            GRADIENTS_NOT_CLEARED,
            "this adds to the gradients of the previous step: "
            f"{user} has used them and nothing cleared them since",
            scene.span(met.place, "backward"),
            (scene.span(met.other, "step"), "this step used them"),
            (
                scene.span(met.other, "step"),
                f"{clearing} belongs after it, or first in the loop",
            ),
        )


@looks_for(NEVER_STEPPED, misled_by_errors=True)
def find_missing_steps(scene: RehearsalContext) -> Iterator[Finding]:
    """Find a training whose only optimizer never steps, nowhere in the text."""
    optimizers = scene.training.optimizers
    loops = _iter_kind(scene.rehearsal.story, "loop")
    backward = next((b for loop in loops for b in _iter_kind(loop, "backward")), None)
    texts = [scene.program.text(file) for file in scene.program.trace.sources]
    steps = any("step(" in text.text for text in texts if text is not None)
    if backward is None or steps or len(optimizers) != 1 or optimizers[0].stepped:
        return
    if any(text is not None and ".grad" in text.text for text in texts):
        return  # an update by hand
    yield build_finding(
        NEVER_STEPPED,
        f"`{optimizers[0].name}` never steps: the gradients of this backward pass"
        " change nothing",
        scene.span((backward.file, backward.line), "backward"),
        (scene.span(optimizers[0].built, optimizers[0].name), "built here"),
    )


def _iter_kind(moment: Moment, kind: str) -> Iterator[Moment]:
    """Yield the events of a kind within an event."""
    for event in moment.inner:
        if event.kind == kind:
            yield event
        yield from _iter_kind(event, kind)


@looks_for(GRADIENTS_CLEARED_UNUSED)
def find_unused_gradients(scene: RehearsalContext) -> Iterator[Finding]:
    """Find gradients that are cleared before any step has used them."""
    if not any(optimizer.stepped for optimizer in scene.training.optimizers):
        return
    for met in scene.observations("cleared-unused"):
        if met.name and _is_stepped(scene, met):
            continue  # under a condition that did not come
        if _is_in_optimizer(scene, met.place):
            continue  # its own methods use the gradients
        if _is_before_optimizers(scene, met.other):
            continue  # a check of gradients, not a step
        optimizer_note = f": this `{met.name}` never steps" if met.name else ""
        yield build_finding(
            GRADIENTS_CLEARED_UNUSED,
            f"the gradients that are cleared here were used by no step{optimizer_note}",
            scene.span(met.place, "zero_grad"),
            (scene.span(met.other, "backward"), "they are computed here"),
        )


def _is_before_optimizers(scene: RehearsalContext, place: Place | None) -> bool:
    """Return whether a line stands outside all loops and functions, and above those
    that build an optimizer.
    """
    text = scene.program.text(place[0]) if place is not None else None
    nodes = text.near(place[1]) if text is not None and place is not None else ()
    if text is None or place is None or not nodes:
        return False
    inside = text.around(nodes[0], *LOOPS, ast.FunctionDef)
    built = [optimizer.built for optimizer in scene.training.optimizers]
    return inside is None and all(
        other[0] == place[0] and place[1] < other[1] for other in built
    )


def _is_only_checked(scene: RehearsalContext, outside: Outside) -> bool:
    """Return whether a model is read by nothing behind the first optimizer."""
    span = scene.built(outside.paths[0])
    text = scene.program.text(span.file) if span is not None else None
    if text is None or span is None or not scene.training.optimizers:
        return False
    names = {
        target.id
        for node in text.near(span.line)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    uses = [
        node
        for node in text.nodes
        if isinstance(node, ast.Name)
        and node.id in names
        and isinstance(node.ctx, ast.Load)
    ]
    return bool(uses) and all(
        _is_before_optimizers(scene, (span.file, node.lineno)) for node in uses
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


@looks_for(NOT_IN_OPTIMIZER, of_whole_runs=True)
def find_forgotten_parameters(scene: RehearsalContext) -> Iterator[Finding]:
    """Find parameters that no optimizer steps, and optimizers of other models'
    parameters.
    """
    strangers = [
        optimizer for optimizer in scene.training.optimizers if optimizer.strangers
    ]
    if any(_is_of_inputs(optimizer) for optimizer in scene.training.optimizers):
        return
    for outside in _join_by_line(scene):
        many = len(outside.paths)
        if _is_only_checked(scene, outside):
            continue
        whole = many == outside.of
        of = "" if whole else f" of {outside.of}"
        message = (
            f"{many}{of} parameters of `{outside.model}` get gradients and are in no "
            f"optimizer: {_list_names(outside.paths)}"
        )
        holders = strangers or list(scene.training.optimizers)
        places = [scene.span(holder.built, holder.name) for holder in holders]
        places.sort(key=lambda place: not _has_repeated_module(scene, place))
        related: list[tuple[Span | None, str]] = [
            (scene.built(outside.paths[0]), "built here"),
        ]
        if strangers:
            count = strangers[0].strangers
            related.append(
                (places[0], f"it holds {count} that belong to no model that ran")
            )
        most = not whole and 2 * many > outside.of
        if most and outside.as_made:
            message += "; they keep their random initial values"
        yield build_finding(
            NOT_IN_OPTIMIZER,
            message,
            places[0] if places else None,
            *related,
            severity="note" if most and not outside.as_made else "warning",
        )


def _has_repeated_module(scene: RehearsalContext, place: Span | None) -> bool:
    """Return whether an optimizer's list has the parameters of a module twice."""
    text = scene.program.text(place.file) if place is not None else None
    if text is None or place is None:
        return False
    return any(
        listed.repeated is not None and listed.call.lineno == place.line
        for listed in iter_parameter_lists(text)
    )


def _is_of_inputs(optimizer: Optimized) -> bool:
    """Return whether an optimizer steps tensors of no module only: images, poses."""
    return 0 < optimizer.parameters == optimizer.foreign and not optimizer.strangers


def _join_by_line(scene: RehearsalContext) -> list[Outside]:
    """Return the forgotten parameters, those of modules that one line builds as one."""
    by_place: dict[object, Outside] = {}
    for outside in scene.training.outside:
        whole = len(outside.paths) == outside.of
        built = scene.built(outside.paths[0]) if whole else None
        key: object = (built.file, built.line) if built is not None else outside.paths
        first = by_place.get(key)
        if first is None:
            by_place[key] = outside
        else:
            paths = (*first.paths, *outside.paths)
            by_place[key] = replace(first, paths=paths, of=first.of + outside.of)
    return list(by_place.values())


@looks_for(PARAMETER_REPEATED, of_whole_runs=True)
def find_repeated_parameters(scene: RehearsalContext) -> Iterator[Finding]:
    """Find optimizers that change a parameter several times in each step."""
    for optimizer in scene.training.optimizers:
        place = scene.span(optimizer.built, optimizer.name)
        text = scene.program.text(place.file) if place is not None else None
        lists = iter_parameter_lists(text) if text is not None else ()
        is_meant = any(listed.repeated is not None for listed in lists)
        if not optimizer.repeated or (scene.training.outside and is_meant):
            continue  # another model is meant: `not-in-optimizer`
        count = len(optimizer.repeated)
        what = f"{count} parameters" if count > 1 else "a parameter"
        yield build_finding(
            PARAMETER_REPEATED,
            f"`{optimizer.name}` has {what} more than once, so a step of it is several "
            f"steps there: {_list_names(optimizer.repeated)}",
            place,
            (scene.built(optimizer.repeated[0]), "built here, and shared"),
        )


@looks_for(NO_GRADIENT, of_whole_runs=True)
def find_idle_parameters(scene: RehearsalContext) -> Iterator[Finding]:
    """Find parameters of an optimizer that never receive a gradient."""
    for group in scene.training.optimizers:
        if group.stepped is None or not group.never:
            continue
        by_layer: dict[str, list[str]] = {}
        for path in group.never:
            by_layer.setdefault(path.rpartition(".")[0], []).append(path)
        layers = list(by_layer)
        many = len(group.never)
        first = scene.built(group.never[0])
        optimizer = scene.span(group.built, group.name)
        yield build_finding(
            NO_GRADIENT,
            f"{many} of the {group.parameters} parameters of"
            f" `{group.name}` never get a "
            f"gradient: {_list_names(layers)}",
            first or optimizer,
            (optimizer, "the optimizer holds them"),
            (scene.span(group.stepped, "step"), "its steps do not change them"),
            module=layers[0],
        )


@looks_for(TRAINED_IN_EVAL_MODE, EVALUATED_IN_TRAINING_MODE)
def find_wrong_modes(scene: RehearsalContext) -> Iterator[Finding]:
    """Find training in evaluation mode and evaluation in training mode."""
    for met in scene.observations("trained-in-eval"):
        yield build_finding(
            TRAINED_IN_EVAL_MODE,
            f"`{met.name}` is trained in evaluation mode here: after `eval()` nothing "
            "called `train()` again",
            scene.span(met.place, "backward"),
            (scene.span(met.other, "eval"), "`eval()` was called here"),
        )
    for met in scene.observations("evaluated-in-training"):
        yield build_finding(
            EVALUATED_IN_TRAINING_MODE,
            f"`{met.name}` is evaluated in training mode: its dropout is active, and "
            "its "
            "batch norm statistics include this data",
            scene.span(met.place),
        )


def _list_names(names: Sequence[str], most: int = 4) -> str:
    """Return names as text: `a`, `b` and 3 more."""
    text = ", ".join(f"`{name}`" for name in names[:most])
    more = len(names) - most
    return f"{text} and {more} more" if more > 0 else text


ADDS = operators_with("adds_terms")
"""Calls that put a term beside others."""

CONSTANT = operators_with("has_zero_gradient", "ignores_given_values")
"""Calls through which no gradient would come, with a graph or without."""


@looks_for(GRADIENT_WITHOUT_GRAPH)
def find_graphless_penalties(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `autograd.grad` without `create_graph=True` whose result becomes a term of a
    loss.
    """
    terms = _Terms()
    ops = scene.program.trace.ops
    if not any(op.name.endswith("autograd.grad") for op in ops):
        return
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
    what comes of that which was differentiated.
    """

    def __init__(self) -> None:
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
                self.trains(op, name, out, trained, bare)
            elif bare and not trained and name not in CONSTANT and _is_smooth(out):
                self.bare[out.tensor] = self.bare[bare[0].tensor]

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
        others = [fact for fact in trained if fact.tensor not in self.moved]
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
    for met in scene.observations("scheduled-first"):
        yield build_finding(
            SCHEDULER_ORDER,
            f"`{met.name}` steps before its optimizer: the first learning rate is "
            "skipped",
            scene.span(met.place, "step"),
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
    for met in scene.observations("state-not-copied"):
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
