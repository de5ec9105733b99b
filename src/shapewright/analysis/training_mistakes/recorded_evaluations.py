"""Find evaluations that record gradients: loops behind `eval()`, and calls of functions
that train elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.growth import add_growth
from shapewright.findings.codes import EVALUATED_WITH_GRAPH, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name, get_last_line
from shapewright.record.ops import Op
from shapewright.record.report import Moment

_Pass = ast.For | ast.ListComp | ast.GeneratorExp
"""What goes through data: a loop, or an expression that is one."""


@looks_for(EVALUATED_WITH_GRAPH, misled_by_errors=True)
def find_recorded_evaluations(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loops that evaluate a model with gradients recorded."""
    training = {
        (loop.moment.file, loop.moment.line)
        for loop in scene.loops()
        if set(_iter_kinds(loop.moment)) & {"backward", "step", "train", "zero_grad"}
    }
    for text in scene.program.own_texts():
        reported: list[_Pass] = []
        for node in text.nodes:
            if not isinstance(node, _Pass):
                continue
            over = node.iter if isinstance(node, ast.For) else node.generators[0].iter
            inside = any(parent in reported for parent in text.outwards(node))
            if (
                inside
                or (get_called_name(over) == "range" and not isinstance(node, ast.For))
                or (text.file, node.lineno) in training
                or not _is_after_eval(text, node)
                or _is_over_models(node)
            ):
                continue
            span = _find_graph(scene, text, node)
            if span is None:
                continue
            reported.append(node)
            held = "the activations of each batch are held"
            if _is_sum_kept(scene, text, node):
                held = "the activations of all batches are held by a sum,"
            finding = build_finding(
                EVALUATED_WITH_GRAPH,
                f"this evaluates with gradients recorded: {held} for a backward pass"
                " that never comes",
                span,
                (text.span(over), "in this loop, after `eval()`"),
            )
            yield add_growth(scene, finding, (text.file, node.lineno))
        yield from _find_recorded_calls(scene, text, training)


def _find_recorded_calls(
    scene: RehearsalContext, text: SourceText, training: Collection[tuple[str, int]]
) -> Iterator[Finding]:
    """Find calls behind `eval()` of a function whose loop trains in another call: what
    it records here is of no use.
    """
    for call in text.nodes:
        statement = text.parent(call)
        if not isinstance(call, ast.Call) or not isinstance(statement, _Statement):
            continue
        loops = [
            (loop, where)
            for where in scene.program.own_texts()
            for _, function in where.functions(get_called_name(call))
            for loop in ast.walk(function)
            if isinstance(loop, ast.For)
            if (where.file, loop.lineno) in training or _has_pass(scene, where, loop)
        ]
        if len(loops) != 1 or not _is_after_eval_in_block(text, statement):
            continue
        if _find_graph(scene, text, call) is None:
            continue
        (loop, where), *_ = loops
        yield build_finding(
            EVALUATED_WITH_GRAPH,
            "this evaluates with gradients recorded: the activations of each batch are"
            " held for a backward pass that never comes",
            text.span(call),
            (where.span(loop.iter), "in this loop, which trains in another call"),
        )


def _has_pass(scene: RehearsalContext, text: SourceText, loop: ast.For) -> bool:
    """Return whether a loop takes gradients in some of its runs."""
    lines = range(loop.lineno, get_last_line(loop) + 1)
    return any(
        _is_pass(op)
        and any(
            frame.span.file == text.file and frame.span.line in lines
            for frame in op.frames
        )
        for op in scene.program.trace.ops
    )


def _is_pass(op: Op) -> bool:
    """Return whether a call takes gradients."""
    return op.name.rpartition(".")[2] in ("backward", "grad")


_Statement = ast.Expr | ast.Assign
"""What a call is the whole value of."""


def _is_after_eval_in_block(text: SourceText, statement: ast.stmt) -> bool:
    """Return whether the last change of a mode above a statement in its block is to
    `eval()`.
    """
    body = getattr(text.parent(statement), "body", [])
    if statement not in body:
        return False
    modes = [
        "eval" if _is_evaluating(before.value) else "train"
        for before in body[: body.index(statement)]
        if isinstance(before, ast.Expr)
        and isinstance(before.value, ast.Call)
        and get_called_name(before.value) in ("eval", "train")
        and isinstance(before.value.func, ast.Attribute)
    ]
    return modes[-1:] == ["eval"]


def _is_over_models(loop: _Pass) -> bool:
    """Return whether what a loop goes through is called: networks, `net(x) for net in
    nets`, each with the same data.
    """
    target = loop.target if isinstance(loop, ast.For) else loop.generators[0].target
    names = {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in names
        for node in ast.walk(loop)
    )


def _iter_kinds(moment: Moment) -> Iterator[str]:
    """Yield the kinds of all events within an event."""
    for event in moment.inner:
        yield event.kind
        yield from _iter_kinds(event)


def _is_after_eval(text: SourceText, loop: _Pass) -> bool:
    """Return whether the function of a loop calls `eval()` above it, and takes no
    gradient below it.
    """
    function = text.around(loop, ast.FunctionDef, ast.Module)
    last = get_last_line(loop)
    for node in ast.walk(function) if function is not None else ():
        if get_called_name(node) in ("backward", "grad") and node.lineno > last:  # type: ignore[attr-defined]
            return False
    modes = [
        (node.lineno, "eval" if _is_evaluating(node) else "train")
        for node in (ast.walk(function) if function is not None else ())
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("eval", "train")
        and node.lineno < loop.lineno
    ]
    return bool(modes) and max(modes)[1] == "eval"


def _is_evaluating(call: ast.Call) -> bool:
    """Return whether a call is `eval()`, or `train(False)`."""
    values = [*call.args, *(word.value for word in call.keywords)]
    is_off = any(isinstance(v, ast.Constant) and v.value is False for v in values)
    return get_called_name(call) == "eval" or is_off


def _is_sum_kept(scene: RehearsalContext, text: SourceText, loop: _Pass) -> bool:
    """Return whether a loop adds up tensors with their graphs."""
    sums = {
        (text.file, node.lineno)
        for node in ast.walk(loop)
        if isinstance(node, ast.AugAssign)
    }
    return any(
        op.span is not None
        and (op.span.file, op.span.line) in sums
        and any(fact.requires_grad and not fact.shape for fact in op.outputs)
        for op in scene.program.trace.ops
        if op.name in ("+", "+=")
    )


def _find_graph(
    scene: RehearsalContext, text: SourceText, loop: _Pass | ast.Call
) -> Span | None:
    """Return where a loop, or a call, first makes a tensor with a graph, if no call in
    it takes a gradient.
    """
    lines = range(loop.lineno, get_last_line(loop) + 1)
    first: Span | None = None
    for op in scene.program.trace.ops:
        inside = [
            frame.span
            for frame in op.frames
            if frame.span.file == text.file and frame.span.line in lines
        ]
        if not inside:
            continue
        if _is_pass(op):
            return None
        graph = any(fact.requires_grad and not fact.is_leaf for fact in op.outputs)
        graph = graph and (isinstance(loop, ast.For) or bool(op.module))
        if graph and first is None:
            first = inside[0]
    return first
