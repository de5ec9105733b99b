"""Find losses whose gradients are added up over several batches before a step, and
which nothing divides by the number of these batches.

A step of Adam does not depend on the scale of its gradients, and clipping by their norm
takes it away: only steps of SGD are looked at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import find_block
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    StoryLoop,
    build_finding,
)
from shapewright.analysis.training_mistakes.sub_batch_losses import (
    find_sub_batch_losses,
)
from shapewright.findings.codes import UNDIVIDED_LOSS, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.counted_steps import OTHER_STEPS
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name

SCALED = re.compile(r"reduction\s*=\s*[\"']sum|size_average|accelerat|fabric|clip_grad")
"""What adds a loss up on purpose, divides it by itself, or bounds a step."""
SCALING = (ast.Div, ast.Mult)


@looks_for(UNDIVIDED_LOSS)
def find_undivided_losses(scene: RehearsalContext) -> Iterator[Finding]:
    """Find trainings that add up the gradients of several batches, not their means."""
    optimizers = scene.training.optimizers
    if not optimizers or any(optimizer.name != "SGD" for optimizer in optimizers):
        return
    for loop in scene.loops():
        finding = _find_in_loop(loop)
        if finding is not None:
            yield finding
            return
    yield from find_sub_batch_losses(scene)


def _find_in_loop(loop: StoryLoop) -> Finding | None:
    """Return the finding on a loop over batches that steps with some of them only."""
    text = loop.text
    if SCALED.search(text.text):
        return None
    steps = [
        call
        for call in ast.walk(loop.node)
        if get_called_name(call) == "step"
        and isinstance(call, ast.Call)
        and not any(word in get_dotted_name(call.func) for word in OTHER_STEPS)
    ]
    choice = text.around(steps[0], ast.If) if len(steps) == 1 else None
    count = find_count(choice.test) if choice is not None else None
    passes = [
        call
        for call in ast.walk(loop.node)
        if isinstance(call, ast.Call) and get_called_name(call) == "backward"
    ]
    if choice is None or count is None or len(passes) != 1:
        return None
    inside = set(ast.walk(choice))
    clearings = [
        call for call in ast.walk(loop.node) if get_called_name(call) == "zero_grad"
    ]
    if passes[0] in inside or not all(call in inside for call in clearings):
        return None
    loss = find_loss(passes[0])
    if loss is None or _is_scaled_by(text, count) or _is_divided(text, loop, loss):
        return None
    written = text.line_of(count)
    return build_finding(
        UNDIVIDED_LOSS,
        f"the gradients of `{written}` batches are added up before each step, and"
        f" `{loss.id}` is not divided by `{written}`: a step is as many times longer"
        " than that of one batch with all these samples",
        text.span(passes[0]),
        (text.span(choice.test), "only then a step is made"),
    )


def find_count(test: ast.expr) -> ast.expr | None:
    """Return the number of batches for which a condition waits, or None."""
    for node in ast.walk(test):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            count = node.right
            if isinstance(count, ast.Constant) and count.value in (0, 1):
                return None
            if isinstance(count, ast.Constant | ast.Name | ast.Attribute):
                return count
            return count if isinstance(count, ast.Subscript) else None
    return None


def find_accumulating_choice(text: SourceText, step: ast.Call) -> ast.If | None:
    """Return the condition, in front of the step of a scheduler in the same block, in
    which an optimizer steps once for several batches, or None.
    """
    statement = text.statement_of(step)
    for before in find_block(text, statement):
        if before is statement:
            return None
        if not isinstance(before, ast.If) or find_count(before.test) is None:
            continue
        for part in ast.walk(before):
            if get_called_name(part) != "step" or not isinstance(part, ast.Call):
                continue
            name = get_dotted_name(part.func)
            if not any(word in name for word in OTHER_STEPS):
                return None if before.orelse else before
    return None


def find_loss(backward: ast.Call) -> ast.Name | None:
    """Return the loss of a backward pass, also a scaled one, if it is a name."""
    owner = get_receiver(backward)
    if isinstance(owner, ast.Call) and get_called_name(owner) == "scale":
        owner = owner.args[0] if owner.args else None
    return owner if isinstance(owner, ast.Name) else None


def _is_scaled_by(text: SourceText, count: ast.expr) -> bool:
    """Return whether something of the file is divided by a number or multiplied."""
    written = ast.unparse(count)
    for node in text.nodes:
        if not isinstance(node, ast.BinOp | ast.AugAssign):
            continue
        if not isinstance(node.op, SCALING):
            continue
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.value]
        if any(get_called_name(part) == "len" for part in ast.walk(parts[0])):
            continue  # the number of steps
        if any(ast.unparse(p) == written for whole in parts for p in ast.walk(whole)):
            return True
    return False


def _is_divided(text: SourceText, loop: StoryLoop, loss: ast.Name) -> bool:
    """Return whether a loss is divided or added up where it is computed."""
    values: list[ast.AST] = []
    for node in ast.walk(loop.node):
        if isinstance(node, ast.AugAssign) and ast.unparse(node.target) == loss.id:
            values.append(node.value)
            if isinstance(node.op, SCALING):
                return True
        if isinstance(node, ast.Assign):
            names = [p.id for p in ast.walk(node.targets[0]) if isinstance(p, ast.Name)]
            values += [node.value] if loss.id in names else []
    callees = {get_called_name(node) for value in values for node in ast.walk(value)}
    called = [node for name in callees - {""} for _, node in text.functions(name)]
    return not values or any(
        (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))
        or get_called_name(node) in ("sum", "div", "nansum")
        for whole in (*values, *called)
        for node in ast.walk(whole)
    )
