"""Find trainings in which nothing changes the parameters: an optimizer that never
steps, an update that the program defines and never calls; schedulers that never step.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import find_block
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import NEVER_STEPPED, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_name,
    iter_assignments,
    list_arguments,
)
from shapewright.record.report import Moment, Optimized, Place

SCHEDULES = ("sched", "lr_", "env", "scaler", "self", "warmup")
"""Parts of names of what has a `step` that is no optimizer's."""


@looks_for(NEVER_STEPPED, misled_by_errors=True)
def find_missing_steps(scene: RehearsalContext) -> Iterator[Finding]:
    """Find a training whose optimizers never step, nowhere in the text."""
    backward = next(
        (
            event
            for loop in _iter_kind(scene.rehearsal.story, "loop")
            for event in _iter_kind(loop, "backward")
        ),
        None,
    )
    if backward is None:
        return
    texts = list(scene.program.own_texts())
    known = [text for text in texts if text is not None]
    optimizers = scene.training.optimizers
    span = scene.span((backward.file, backward.line), "backward")
    yield from find_exchanged_steps(scene)
    if any(optimizer.stepped is not None for optimizer in optimizers):
        yield from _find_idle_schedulers(scene)
        return
    yield from _report_exclusive_steps(scene)
    if not optimizers:
        for text, update in _find_uncalled_update(known):
            yield build_finding(
                NEVER_STEPPED,
                f"nothing calls `{update.name}`, which changes the parameters: the"
                " gradients of this backward pass change nothing",
                span,
                (text.span(update), "the step is defined here"),
            )
        return
    if not is_never_stepped(scene):
        return
    yield build_finding(
        NEVER_STEPPED,
        f"`{optimizers[-1].name}` never steps: the gradients of this backward pass"
        " change nothing",
        span,
        scene.find_uncalled("step")
        or (scene.span(optimizers[-1].built, optimizers[-1].name), "built here"),
    )


def is_never_stepped(scene: RehearsalContext) -> bool:
    """Return whether a program has optimizers and steps none of them, nowhere in its
    text, and updates nothing by hand.
    """
    optimizers = scene.training.optimizers
    if not optimizers or any(built.stepped is not None for built in optimizers):
        return False
    names = {name for built in optimizers for name in _list_names(scene, built)}
    return not any(
        _has_step(text, names) or any(_is_gradient_read(node) for node in text.nodes)
        for text in scene.program.own_texts()
    )


def find_exchanged_steps(scene: RehearsalContext) -> Iterator[Finding]:
    """Find optimizers that a program clears and never steps, beside another one that
    steps twice.
    """
    stepped = [
        built for built in scene.training.optimizers if built.stepped is not None
    ]
    others = {name for built in stepped for name in _list_names(scene, built)}
    for built in scene.training.optimizers if stepped else ():
        text = scene.program.text(built.built[0])
        names = _list_names(scene, built) - others
        if built.stepped is not None or text is None or len(names) != 1:
            continue
        (name,) = names
        uses = list(_iter_uses(text, name.rpartition(".")[2]))
        clearing = [_get_statement(text, use, "zero_grad") for _, use in uses]
        for statement in clearing if all(clearing) else ():
            step = _find_step_behind(text, statement, others)
            if step is not None and statement is not None:
                other = text.line_of(step.func).removesuffix(".step")
                yield build_finding(
                    NEVER_STEPPED,
                    f"`{name}` never steps: its gradients are cleared and computed, and"
                    f" `{other}` steps here, a second time",
                    text.span(step),
                    (text.span(statement), f"`{name}` is cleared here"),
                    (scene.span(built.built, built.name), "it is built here"),
                )


def _get_statement(text: SourceText, use: ast.expr, method: str) -> ast.Expr | None:
    """Return the statement that calls a method of a name, and does nothing else."""
    named = text.parent(use)
    call = text.parent(named) if isinstance(named, ast.Attribute) else None
    statement = text.parent(call) if isinstance(call, ast.Call) else None
    is_own = isinstance(named, ast.Attribute) and named.attr == method
    return statement if is_own and isinstance(statement, ast.Expr) else None


def _find_step_behind(
    text: SourceText, clearing: ast.Expr | None, others: set[str]
) -> ast.Call | None:
    """Return the step of another optimizer behind a clearing, in its block, if that one
    has another step in it.
    """
    block = find_block(text, clearing) if clearing is not None else []
    steps: list[ast.Call] = []
    for statement in block:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or get_called_name(call) != "step":
            continue
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is not None and ast.unparse(owner) in others:
            steps.append(call)
    if clearing is None or len(steps) < 2:
        return None
    start = clearing.lineno, clearing.col_offset
    return next((s for s in steps if (s.lineno, s.col_offset) > start), None)


def _report_exclusive_steps(scene: RehearsalContext) -> Iterator[Finding]:
    """Yield the steps of optimizers in whose place a scheduler has stepped."""
    for met in scene.observations("scheduled-first"):
        steps = find_exclusive_steps(scene, met.place)
        if steps is not None:
            text, scheduler, step = steps
            yield build_finding(
                NEVER_STEPPED,
                f"`{text.written(step)}` is not called where `{met.name}` steps, so"
                " that nothing changes the parameters: a scheduler sets the learning"
                " rate only",
                text.span(step),
                (text.span(scheduler), "this is called in its place"),
            )


def find_exclusive_steps(
    scene: RehearsalContext, place: Place
) -> tuple[SourceText, ast.Call, ast.Call] | None:
    """Return the text, the step of a scheduler at a place and that of an optimizer,
    where one of the two is the `else` of the other under a condition on the scheduler,
    and no optimizer has stepped.
    """
    text = scene.program.text(place[0])
    if text is None or any(built.stepped for built in scene.training.optimizers):
        return None
    for call in text.near(place[1]):
        owner = get_receiver(call) if isinstance(call, ast.Call) else None
        if owner is None or get_called_name(call) != "step":
            continue
        branch = text.around(call, ast.If)
        if not isinstance(branch, ast.If) or not isinstance(call, ast.Call):
            continue
        test = text.written(branch.test)
        if get_last_name(owner) not in test and "sched" not in test.lower():
            continue
        blocks = [branch.body, branch.orelse]
        if text.statement_of(call) not in branch.body:
            blocks.reverse()
        for other in [part for s in blocks[1] for part in ast.walk(s)]:
            stepping = get_receiver(other) if isinstance(other, ast.Call) else None
            if stepping is None or get_called_name(other) != "step":
                continue
            words = text.written(stepping).lower()
            if isinstance(other, ast.Call) and not any(
                w in words for w in NO_OPTIMIZERS
            ):
                return text, call, other
    return None


NO_OPTIMIZERS = ("sched", "env", "scaler", "warmup")
"""Parts of names of what has a `step` and is no optimizer."""


SCHEDULER = re.compile(r"\w*LR|ReduceLROnPlateau|CosineAnnealingWarmRestarts")
"""Names of torch's schedulers of a learning rate."""


def _find_idle_schedulers(scene: RehearsalContext) -> Iterator[Finding]:
    """Find schedulers that a program builds and never names again."""
    texts = list(scene.program.own_texts())
    for text in texts:
        for target, value in iter_assignments(text.tree):
            name = get_called_name(value)
            if not SCHEDULER.fullmatch(name) or not isinstance(value, ast.Call):
                continue
            is_of_torch = "lr_scheduler" in text.text and value.args
            if not is_of_torch or not isinstance(target, ast.Name | ast.Attribute):
                continue
            own = get_last_name(target)
            uses = [use for other in texts for use in _iter_uses(other, own)]
            if own == "_" or any(not _is_named_only(*use) for use in uses):
                continue
            yield build_finding(
                NEVER_STEPPED,
                f"`{name}` never steps: the learning rate stays as it is",
                text.span(value),
                *(
                    (other.span(method), "without parentheses this calls nothing")
                    for other, use in uses
                    if isinstance(method := other.parent(use), ast.expr)
                ),
            )


def _iter_uses(
    text: SourceText, name: str
) -> Iterator[tuple[SourceText, ast.Name | ast.Attribute]]:
    """Yield where a text reads a name, or an attribute of that name."""
    for node in text.nodes:
        if not isinstance(node, ast.Name | ast.Attribute):
            continue
        if isinstance(node.ctx, ast.Load) and get_last_name(node) == name:
            yield text, node


def _is_named_only(text: SourceText, use: ast.expr) -> bool:
    """Return whether a statement is `scheduler.step`, without parentheses."""
    method = text.parent(use)
    is_step = isinstance(method, ast.Attribute) and method.attr == "step"
    return is_step and isinstance(text.parent(method), ast.Expr)


def _iter_kind(moment: Moment, kind: str) -> Iterator[Moment]:
    """Yield the events of a kind within an event."""
    for event in moment.inner:
        if event.kind == kind:
            yield event
        yield from _iter_kind(event, kind)


def _list_names(scene: RehearsalContext, optimizer: Optimized) -> set[str]:
    """Return the names that the statement which builds an optimizer gives to it."""
    text = scene.program.text(optimizer.built[0])
    return {
        ast.unparse(target)
        for node in (text.near(optimizer.built[1]) if text is not None else ())
        if isinstance(node, ast.Assign)
        for target in node.targets
    }


def _has_step(text: SourceText, names: set[str]) -> bool:
    """Return whether a text calls a `step` that may be an optimizer's.

    Schedulers, environments and functions of the program have one too.
    """
    own = {full for full, _ in text.functions("step")}
    for node in text.nodes:
        is_passed = isinstance(node, ast.Call) and any(
            ast.unparse(part).endswith(".step") for part in list_arguments(node)
        )
        if is_passed:
            return True
        if not isinstance(node, ast.Call) or get_called_name(node) != "step":
            continue
        func = node.func
        if isinstance(func, ast.Name):
            if not own:
                return True
            continue
        owner = ast.unparse(func.value) if isinstance(func, ast.Attribute) else ""
        if owner in names:
            return True
        is_other = any(word in owner.lower() for word in SCHEDULES)
        if owner == "self" and own:
            continue
        if not is_other or (owner.startswith("self.") and "sched" not in owner):
            return True
    return False


def _is_gradient_read(node: ast.AST) -> bool:
    """Return whether a node is `weight.grad`, which an update by hand reads."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "grad"
        and isinstance(node.ctx, ast.Load)
        and not get_dotted_name(node.value).endswith("autograd")
    )


def _find_uncalled_update(
    texts: list[SourceText],
) -> Iterator[tuple[SourceText, ast.FunctionDef]]:
    """Yield the only function that reads gradients and writes what has them, if no text
    names it.
    """
    updates = [
        (text, function)
        for text in texts
        for _, function in text.functions()
        if isinstance(function, ast.FunctionDef)
        and any(_is_gradient_read(node) for node in ast.walk(function))
    ]
    readers = {function for _, function in updates}
    others = any(
        _is_gradient_read(node) and text.around(node, *FUNCTIONS) not in readers
        for text in texts
        for node in text.nodes
    )
    if len(updates) != 1 or others:
        return
    text, update = updates[0]
    writes = any(
        isinstance(node, ast.AugAssign) or get_called_name(node).endswith("_")
        for node in ast.walk(update)
    )
    used = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for other in texts
        for node in other.nodes
        if isinstance(node, ast.Attribute | ast.Name)
    }
    if writes and update.name not in used and not update.name.startswith("__"):
        yield text, update
