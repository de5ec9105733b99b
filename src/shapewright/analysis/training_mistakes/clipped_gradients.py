"""Find gradients that are clipped in the wrong place, or stepped while scaled."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import find_block
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import (
    CLIPPED_AFTER_STEP,
    CLIPPED_SCALED,
    SCALED_STEP,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.program.counted_steps import OTHER_STEPS
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    get_receiver,
)
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    get_called_name,
    get_last_line,
)
from shapewright.record.report import Moment, Place

CLIPS = ("clip_grad_norm_", "clip_grad_value_")


@looks_for(CLIPPED_AFTER_STEP, CLIPPED_SCALED)
def find_clipping_mistakes(scene: RehearsalContext) -> Iterator[Finding]:
    """Find gradients that are clipped after their step, or while they are scaled."""
    for met in scene.observations("clipped-late"):
        yield build_finding(
            CLIPPED_AFTER_STEP,
            f"these gradients are clipped after `{met.name}` has used them: the step is"
            " made with the gradients as they were",
            scene.span(met.place, *CLIPS),
            (scene.span(met.other, "step"), "the step"),
        )
    # Told by itself: a backward pass that fails or never comes, gradients cleared.
    is_none = (
        _is_backward_refused(scene)
        or not _has_backward(scene.rehearsal.story)
        or any(scene.observations("cleared-unused"))
    )
    for met in () if is_none else scene.observations("clipped-early"):
        yield build_finding(
            CLIPPED_AFTER_STEP,
            "there are no gradients here yet: `backward()` comes after this, and"
            f" `{met.name}` steps with gradients of any size",
            scene.span(met.place, *CLIPS),
        )
    yield from _find_clipped_parts(scene)
    for met in scene.observations("clipped-scaled"):
        yield build_finding(
            CLIPPED_SCALED,
            "these gradients are of a scaled loss: a limit that is meant for the true"
            f" ones makes the step of `{met.name}` thousands of times smaller",
            scene.span(met.place, *CLIPS),
            (
                scene.span(met.other, "step", "unscale_"),
                "only here they are divided by the scale",
            ),
        )


def _has_backward(moment: Moment) -> bool:
    """Return whether a backward pass runs within an event."""
    return any(
        event.kind == "backward" or _has_backward(event) for event in moment.inner
    )


def _find_clipped_parts(scene: RehearsalContext) -> Iterator[Finding]:
    """Find gradients that are clipped with each backward pass of an accumulation, whose
    step comes with every k-th one.
    """
    for text in scene.program.own_texts():
        for node in text.nodes:
            if get_called_name(node) not in CLIPS or not isinstance(node, ast.Call):
                continue
            clip = text.statement_of(node)
            backward = _find_pass_before(text, clip)
            step = _find_counted_step(text, clip)
            if backward is None or step is None or "inf" in text.written(node):
                continue
            if not _is_run(scene, text, node):
                continue
            passes = _count_events(scene.rehearsal.story, text, backward, "backward")
            steps = _count_events(scene.rehearsal.story, text, step, "step")
            if passes <= steps or _is_cleared_each_time(text, clip, step):
                continue
            yield build_finding(
                CLIPPED_AFTER_STEP,
                "each backward pass of an accumulation clips what has come together so"
                " far, the earlier parts again and again: the step is to clip their"
                " sum, once",
                text.span(node),
                (text.span(step), "the step comes only with every k-th pass"),
            )


def _is_run(scene: RehearsalContext, text: SourceText, clip: ast.Call) -> bool:
    """Return whether a run came to a clipping."""
    lines = range(clip.lineno, get_last_line(clip) + 1)
    return any(
        op.span is not None and op.span.file == text.file and op.span.line in lines
        for op in scene.program.trace.ops
    )


def _find_pass_before(text: SourceText, clip: ast.stmt) -> ast.stmt | None:
    """Return the backward pass that stands above a clipping in its block, with nothing
    but numbers between them; or above the condition of the clipping, if each turn
    decides it alike, as `if max_norm > 0:`.
    """
    block = find_block(text, clip)
    for other in reversed(block[: block.index(clip)] if clip in block else []):
        if isinstance(other, ast.With) and len(other.body) == 1:
            other = other.body[0]
        if not isinstance(other, ast.Expr):
            if isinstance(other, ast.Assign | ast.AugAssign | ast.AnnAssign):
                continue
            return None
        if get_called_name(other.value) == "backward":
            return other
        if get_called_name(other.value) in ("step", "unscale_", "zero_grad"):
            return None
    choice = text.parent(clip)
    if isinstance(choice, ast.If) and _is_alike_each_turn(text, choice):
        return _find_pass_before(text, choice)
    return None


def _is_alike_each_turn(text: SourceText, choice: ast.If) -> bool:
    """Return whether a condition without another branch reads only names and attributes
    that no turn of the loop around it writes, and calls nothing.
    """
    loop = text.around(choice, *LOOPS)
    if loop is None or choice.orelse:
        return False
    if any(isinstance(part, ast.Call) for part in ast.walk(choice.test)):
        return False
    written = {
        ast.unparse(part)
        for part in ast.walk(loop)
        if isinstance(part, ast.Name | ast.Attribute | ast.Subscript)
        and isinstance(part.ctx, ast.Store | ast.Del)
    }
    return not any(ast.unparse(part) in written for part in ast.walk(choice.test))


def _find_counted_step(text: SourceText, clip: ast.stmt) -> ast.stmt | None:
    """Return the step of an optimizer below a clipping that is made with every k-th
    turn of its loop: under `if step % k == 0:`, or behind a `continue` of the others.
    """
    inner: ast.AST = clip
    for outer in text.outwards(clip):
        if not isinstance(outer, ast.If | ast.With | ast.For | ast.While):
            return None
        block = find_block(text, inner) if isinstance(inner, ast.stmt) else []
        behind = block[block.index(inner) + 1 :] if inner in block else []
        is_counted = False
        for other in behind:
            if _is_step(other) and not is_counted:
                return None
            if _is_step(other):
                return other
            if not isinstance(other, ast.If) or not _is_count(other.test):
                continue
            is_counted |= isinstance(other.body[-1], ast.Continue)
            step = next((part for part in other.body if _is_step(part)), None)
            if step is not None and not other.orelse:
                return step
        if isinstance(outer, ast.For | ast.While):
            return None
        inner = outer
    return None


def _is_count(test: ast.expr) -> bool:
    """Return whether a condition holds in every k-th turn: `(i + 1) % k == 0`."""
    return any(
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
        for node in ast.walk(test)
    )


def _is_step(node: ast.stmt) -> bool:
    """Return whether a statement steps an optimizer, also by a scaler."""
    if not isinstance(node, ast.Expr) or get_called_name(node.value) != "step":
        return False
    owner = get_receiver(node.value) if isinstance(node.value, ast.Call) else None
    words = ast.unparse(owner).lower() if owner is not None else "sched"
    return not any(word in words for word in OTHER_STEPS)


def _is_cleared_each_time(text: SourceText, clip: ast.stmt, step: ast.stmt) -> bool:
    """Return whether gradients are cleared in each turn of the loop around a clipping:
    then nothing is accumulated.
    """
    loop = text.around(clip, *LOOPS)
    return any(
        isinstance(node, ast.Call)
        and get_called_name(node) == "zero_grad"
        and text.around(node, ast.If, *LOOPS) is loop
        and not (text.parent(step) is loop and node.lineno > step.lineno)
        for node in (ast.walk(loop) if loop is not None else ())
    )


def _count_events(moment: Moment, text: SourceText, node: ast.stmt, kind: str) -> int:
    """Return how often an event of a statement came in a run."""
    lines = range(node.lineno, get_last_line(node) + 1)
    is_own = moment.kind == kind and moment.file == text.file and moment.line in lines
    count = moment.count if is_own else 0
    return count + sum(_count_events(m, text, node, kind) for m in moment.inner)


def _is_backward_refused(scene: RehearsalContext) -> bool:
    """Return whether a backward pass of the run failed."""
    ops = scene.program.trace.ops
    return any(
        ops[failure.op].name.rpartition(".")[2] == "backward"
        for failure in scene.program.failures
    )


@looks_for(SCALED_STEP, of_whole_runs=True)
def find_scaled_steps(scene: RehearsalContext) -> Iterator[Finding]:
    """Find optimizers that step directly after the backward pass of a scaled loss."""
    met_lines = {
        met.place
        for met in scene.observations("scaled-step")
        if not _is_alternative(scene, met.place)
    }
    for text, step in _iter_bare_steps(scene):
        if (text.file, step.lineno) in met_lines:
            continue  # the run says more of it
        yield build_finding(
            SCALED_STEP,
            "this step uses the gradients of a scaled loss, which elsewhere only a step"
            " of the scaler divides again",
            text.span(step),
        )
    for met in scene.observations("scaled-step"):
        if _is_alternative(scene, met.place):
            continue
        yield build_finding(
            SCALED_STEP,
            f"this step of `{met.name}` uses the gradients of a scaled loss, 65536"
            " times too large at first: only a step of the scaler divides them again",
            scene.span(met.place, "step"),
            (scene.span(met.other, "backward"), "the backward pass of the scaled loss"),
        )


def _iter_bare_steps(scene: RehearsalContext) -> Iterator[tuple[SourceText, ast.Call]]:
    """Yield the steps of an optimizer in a function that otherwise steps it by a
    scaler, unless they stand on the other path of a condition.
    """
    for text in scene.program.own_texts():
        calls = [
            node
            for node in text.nodes
            if isinstance(node, ast.Call) and get_called_name(node) == "step"
        ]
        for scaled in calls:
            function = text.around(scaled, ast.FunctionDef, ast.Module)
            scaler = get_receiver(scaled)
            if len(scaled.args) != 1 or scaler is None or function is None:
                continue
            name, owner = text.written(scaled.args[0]), text.written(scaler)
            if f"{owner}.scale(" not in text.text or ".unscale_(" in text.text:
                continue
            for bare in calls:
                receiver = get_receiver(bare)
                is_same = receiver is not None and text.written(receiver) == name
                inside = text.around(bare, ast.FunctionDef, ast.Module) is function
                if (
                    is_same
                    and inside
                    and not bare.args
                    and _is_behind_scaled(text, bare)
                    and not _is_other_path(text, bare)
                ):
                    yield text, bare


def _is_behind_scaled(text: SourceText, step: ast.Call) -> bool:
    """Return whether the backward pass above a step, in the same loop or else in the
    same function, is that of a scaled loss.
    """
    loop, function = (
        text.around(step, *LOOPS, *FUNCTIONS),
        text.around(step, *FUNCTIONS),
    )
    passes = [
        node
        for node in text.nodes
        if isinstance(node, ast.Call)
        and get_called_name(node) == "backward"
        and node.lineno < step.lineno
        and text.around(node, *FUNCTIONS) is function
    ]
    own = [node for node in passes if text.around(node, *LOOPS, *FUNCTIONS) is loop]
    last = max(own or passes, key=lambda node: node.lineno, default=None)
    loss = get_receiver(last) if last is not None else None
    if loss is None:
        return False
    values = find_defining(text, loss.id) if isinstance(loss, ast.Name) else []
    return any(".scale(" in text.written(part) for part in (loss, *values))


SCALED_WORDS = ("scaler", "amp", "fp16", "half", "mixed", "precision")
"""Words of conditions that say whether a loss is scaled."""


def _is_other_path(text: SourceText, step: ast.Call) -> bool:
    """Return whether a step stands under a condition that may say whether the loss is
    scaled.
    """
    for outer in text.outwards(step):
        if isinstance(outer, ast.FunctionDef):
            return False
        if isinstance(outer, ast.If):
            words = text.written(outer.test).lower()
            is_branch = bool(outer.orelse)
            if is_branch or any(word in words for word in SCALED_WORDS):
                return True
    return False


def _is_alternative(scene: RehearsalContext, place: Place) -> bool:
    """Return whether a scaler steps this optimizer on another path of the text."""
    text = scene.program.text(place[0])
    for node in text.near(place[1]) if text is not None else ():
        owner = get_receiver(node) if isinstance(node, ast.Call) else None
        if text is None or owner is None or get_called_name(node) != "step":
            continue
        branch = text.around(node, ast.If, ast.FunctionDef)
        name = text.written(owner)
        return isinstance(branch, ast.If) and any(
            isinstance(other, ast.Call)
            and get_called_name(other) == "step"
            and any(text.written(argument) == name for argument in other.args)
            for other in text.nodes
        )
    return text is None
