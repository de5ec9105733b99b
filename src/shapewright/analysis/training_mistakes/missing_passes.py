"""Optimizers whose parameters never get a gradient, since no backward pass reaches
them: nothing calls one, or `detach()` stands between a loss and its model.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Sequence

from shapewright.analysis.autograd_errors.history import History
from shapewright.analysis.autograd_errors.lost_graphs import (
    GraphEnd,
    describe_copy,
    describe_cut,
    describe_numbers,
)
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import NO_GRADIENT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    get_called_name,
    get_last_line,
)
from shapewright.record.ops import Op
from shapewright.record.report import Optimized, Place

PASSES = ("backward", "grad", "manual_backward")
"""Functions and methods that compute gradients."""
MOST = 4000
"""Calls that are followed back from a loss."""
LOST = "the graph of what they compute is lost, as"
"""What is said before the call that takes a graph away."""
LEAF = "a parameter has no graph behind it"
WRAPPERS = ("Parameter", "Variable")
"""Classes whose objects are leaves."""
UNREAD = "nothing calls its `backward()`"
"""What is said of the loss of a missing backward pass."""


def find_missing_pass(scene: RehearsalContext, group: Optimized) -> Finding | None:
    """Return the finding on a step before which no backward pass runs, or None."""
    text = scene.program.text(group.stepped[0]) if group.stepped is not None else None
    if text is None or group.stepped is None or _has_pass(scene):
        return None
    loss = _find_loss(scene, text, group.stepped)
    if loss is None:
        return None
    return build_finding(
        NO_GRADIENT,
        f"no backward pass runs before this step: `{ast.unparse(loss.targets[0])}` is"
        f" never differentiated, and none of the {group.parameters} parameters of"
        f" `{group.name}` gets a gradient",
        scene.span(group.stepped, "step"),
        (text.span(loss), UNREAD),
        scene.find_uncalled("backward")
        or (scene.span(group.built, group.name), "the optimizer holds them"),
    )


def _has_pass(scene: RehearsalContext) -> bool:
    """Return whether a backward pass ran, or a text of the program calls one."""
    ops = scene.program.trace.ops
    if any(op.name.rpartition(".")[2] in PASSES for op in ops):
        return True
    return any(
        get_called_name(node) in PASSES
        for text in scene.program.own_texts()
        for node in text.nodes
        if isinstance(node, ast.Call)
    )


def _find_loss(
    scene: RehearsalContext, text: SourceText, stepped: Place
) -> ast.Assign | None:
    """Return the last statement above a step, in its loop, that gives a number with a
    graph a name.
    """
    span = scene.span(stepped, "step")
    place = scene.program.node(span)
    if place is None or place[0] is not text:
        return None
    around = text.around(place[1], *LOOPS, *FUNCTIONS)
    first = around.lineno if isinstance(around, ast.stmt) else 1
    for op in reversed(scene.program.trace.ops):
        fact = op.outputs[0] if op.outputs else None
        if fact is None or fact.shape or not fact.requires_grad or op.span is None:
            continue
        inside = [
            frame.span
            for frame in op.frames
            if frame.span.file == text.file and first <= frame.span.line <= stepped[1]
        ]
        if not inside:
            continue
        place = scene.program.node(inside[0])
        node = place[1] if place is not None else None
        statement = text.statement_of(node) if isinstance(node, ast.expr) else None
        if isinstance(statement, ast.Assign) and isinstance(
            statement.targets[0], ast.Name | ast.Attribute
        ):
            return statement
    return None


def find_lost_graph(
    scene: RehearsalContext, group: Optimized, layers: Sequence[str], many: int
) -> Finding | None:
    """Return the finding on a loss that follows from what layers compute, but without
    its graph: through `detach()`, an array, class numbers.
    """
    backward = _find_pass_before(scene, group)
    history = History(scene.program)
    cut = _find_cut(history, backward, set(layers)) if backward is not None else None
    if cut is None or cut.op is None or cut.op.span is None or backward is None:
        return None
    span = cut.span or cut.op.span
    return build_finding(
        NO_GRADIENT,
        f"{many} of the {group.parameters} parameters of `{group.name}` never get a"
        f" gradient, {list_names(layers)}: {LOST} {cut.reason}",
        span,
        (backward.span, "the backward pass before the step"),
        (scene.span(group.built, group.name), "the optimizer holds them"),
        module=layers[0],
    )


def _find_pass_before(scene: RehearsalContext, group: Optimized) -> Op | None:
    """Return the last backward pass above the step of an optimizer, in its block."""
    if group.stepped is None:
        return None
    file, line = group.stepped
    place = scene.program.node(scene.span(group.stepped, "step"))
    around = place[0].around(place[1], *LOOPS, *FUNCTIONS) if place else None
    first = around.lineno if isinstance(around, ast.stmt) else 1
    last = get_last_line(around) if isinstance(around, ast.stmt) else line
    passes = [
        op
        for op in scene.program.trace.ops
        if op.name.rpartition(".")[2] == "backward" and op.inputs
        if op.span is not None and op.span.file == file
        if first <= op.span.line <= min(line, last)
    ]
    nearest = max((op.span.line for op in passes if op.span is not None), default=0)
    passes = [op for op in passes if op.span is not None and op.span.line == nearest]
    return passes[-1] if passes else None


def _find_cut(history: History, backward: Op, layers: set[str]) -> GraphEnd | None:
    """Return what takes the graph away between layers and a loss that follows from
    them, if each way from them to the loss has such a call.
    """
    waiting = deque[tuple[int, Op | None]]((f.tensor, None) for f in backward.inputs)
    seen, cuts = set[tuple[int, bool]](), list[Op]()
    copies: list[GraphEnd] = []
    while waiting and len(seen) < MOST:
        tensor, cut = waiting.popleft()
        op = history.program.producers.get(tensor)
        if op is None or (tensor, cut is None) in seen:
            continue
        seen.add((tensor, cut is None))
        if cut is None and _is_cut(op):
            cut = op
        if op.module in layers:
            if cut is None:
                return None
            cuts.append(cut)
            continue
        copy = _find_copy(history, op) if _is_beside(op, layers) else None
        copies += [copy] if copy is not None else []
        waiting += [(fact.tensor, cut) for fact in op.inputs]
    if cuts:
        return describe_cut(history, cuts[0])
    called = any(op.module in layers for op in history.program.trace.ops)
    return copies[0] if copies and called else None


def _is_cut(op: Op) -> bool:
    """Return whether a call in the program takes the graph of its inputs away."""
    if op.span is None or not op.outputs or not any(f.requires_grad for f in op.inputs):
        return False
    result = op.outputs[0]
    return not result.requires_grad or (result.is_leaf and op.kind != "inplace")


def find_inner_cut(scene: RehearsalContext, layers: Sequence[str]) -> Op | None:
    """Return the call within layers that takes the graph of what they compute away."""
    own = {op.module for op in scene.program.trace.ops if op.module in layers}
    cuts = [op for op in scene.program.trace.ops if op.module in own and _is_cut(op)]
    return cuts[0] if {op.module for op in cuts} == {*layers} else None


def _find_copy(history: History, op: Op) -> GraphEnd | None:
    """Return the call that makes anew what another call reads, without its graph."""
    if not op.inputs:
        return describe_copy(history, op)
    unknown = [
        fact
        for fact in op.inputs
        if fact.tensor not in history.makers
        and fact.tensor not in history.program.states
    ]
    return (
        _find_new_leaf(history, op) or describe_numbers(history, op)
        if unknown
        else None
    )


def _find_new_leaf(history: History, op: Op) -> GraphEnd | None:
    """Return the `nn.Parameter(x)` of a computed `x`, a leaf without its graph."""
    place = history.program.node(op.span)
    for name in ast.walk(place[1]) if place is not None else ():
        if place is None or not isinstance(name, ast.Name):
            continue
        text = place[0]
        values = [v for v in find_defining(text, name.id) if v.lineno < name.lineno]
        for call in values[-1:]:
            if get_called_name(call) not in WRAPPERS or not isinstance(call, ast.Call):
                continue
            if call.args and isinstance(call.args[0], ast.Name | ast.Call):
                reason = f"`{text.line_of(call)}` at line {call.lineno} is a new leaf"
                names = (text.written(call.args[0]),)
                return GraphEnd(op, reason, LEAF, names, text.span(call))
    return None


def _is_beside(op: Op, layers: set[str]) -> bool:
    """Return whether a call, or that of its module, stands in the `forward` of the
    module of some layers, or in no module.
    """
    owners = {layer.rpartition(".")[0] for layer in layers}
    return (
        not op.module or op.module in owners or op.module.rpartition(".")[0] in owners
    )


def list_names(names: Sequence[str], most: int = 4) -> str:
    """Return names as text: `a`, `b` and 3 more."""
    text = ", ".join(f"`{name}`" for name in names[:most])
    more = len(names) - most
    return f"{text} and {more} more" if more > 0 else text
