"""Find gradients of parameters that are read where `zero_grad()` has cleared them.

The order of calls is read from the text, into the functions that a function calls: what
clears is often in another one than what reads.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import GRADIENTS_CLEARED_UNUSED
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_last_name,
)

PARAMETERS = frozenset({"parameters", "named_parameters"})
DEEPEST = 4
"""Functions that are followed, one calling another."""


@dataclass(frozen=True, slots=True)
class _Event:
    """What happens to gradients at a node, by a statement of the first function."""

    kind: str
    node: ast.expr
    statement: ast.stmt


def find_cleared_reads(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `p.grad.norm()` behind the `zero_grad()` of the only optimizer, with no
    backward pass between.
    """
    optimizers = scene.training.optimizers
    if len(optimizers) != 1 or optimizers[0].stepped is None:
        return
    for text in scene.program.own_texts():
        seen: set[ast.expr] = set()
        bodies = [function.body for _, function in text.functions()]
        if text.tree is not None:
            bodies.append(text.tree.body)
        for body in bodies:
            cleared: _Event | None = None
            for event in _iter_events(text, body, None, ()):
                if event.kind == "read":
                    if cleared is None or event.node in seen:
                        continue
                    if cleared.statement is event.statement:
                        continue  # another function says it of its own statements
                    seen.add(event.node)
                    yield _report(text, cleared, event)
                else:
                    cleared = event if event.kind == "clear" else None


def _report(text: SourceText, cleared: _Event, read: _Event) -> Finding:
    place = text.span(read.statement if _is_short(read.statement) else read.node)
    return build_finding(
        GRADIENTS_CLEARED_UNUSED,
        "the gradients are read behind `zero_grad()`, which has cleared them: they are"
        " None or 0 here, whatever the backward pass has left",
        place,
        (text.span(cleared.node), "they are cleared here"),
        (text.span(read.node), "they are read here"),
    )


def _is_short(statement: ast.stmt) -> bool:
    """Return whether a statement has no block of its own."""
    return not hasattr(statement, "body")


def _iter_events(
    text: SourceText,
    body: list[ast.stmt],
    top: ast.stmt | None,
    stack: tuple[str, ...],
    is_sure: bool = True,
) -> Iterator[_Event]:
    """Yield what statements do to gradients, in their order. What clears them under a
    condition is left out.
    """
    for statement in body:
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            continue
        at = top if top is not None else statement
        blocks = [
            block
            for name in ("body", "orelse", "finalbody")
            if isinstance(block := getattr(statement, name, None), list)
        ]
        heads: list[ast.AST] = [statement]
        if blocks:
            parts = (getattr(statement, name, None) for name in ("test", "iter"))
            heads = [part for part in parts if isinstance(part, ast.AST)]
            heads += [item.context_expr for item in getattr(statement, "items", [])]
        for head in heads:
            for event in _iter_of_expression(text, head, at, stack):
                if is_sure or event.kind != "clear":
                    yield event
        is_safe = is_sure and not isinstance(statement, ast.If | ast.Try)
        for block in blocks:
            yield from _iter_events(text, block, top, stack, is_safe)


def _iter_of_expression(
    text: SourceText, head: ast.AST, at: ast.stmt, stack: tuple[str, ...]
) -> Iterator[_Event]:
    """Yield what the calls and attributes of a statement or its head do."""
    nodes = [n for n in ast.walk(head) if isinstance(n, ast.Call | ast.Attribute)]
    for node in sorted(nodes, key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0)):
        if isinstance(node, ast.Attribute):
            if node.attr == "grad" and isinstance(node.ctx, ast.Store | ast.Del):
                yield _Event("write", node, at)
            elif node.attr == "grad" and _is_used(text, node):
                yield _Event("read", node, at)
            continue
        name = get_called_name(node)
        if name == "zero_grad":
            yield _Event("clear", node, at)
        elif name.endswith("backward"):
            yield _Event("backward", node, at)
        else:
            passed = sorted({get_last_name(argument) for argument in node.args})
            for called in passed if _is_of_torch(node) else (name, *passed):
                yield from _iter_called(text, called, node, at, stack)


def _is_of_torch(call: ast.Call) -> bool:
    """Return whether a call is a step of an optimizer, though a function of the file
    may have the name.
    """
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    name = get_last_name(owner).lower() if owner is not None else ""
    is_step = get_called_name(call) == "step"
    return is_step and any(word in name for word in ("opt", "sched", "adam", "sgd"))


def _iter_called(
    text: SourceText, name: str, node: ast.Call, at: ast.stmt, stack: tuple[str, ...]
) -> Iterator[_Event]:
    """Yield what a function of the file does that is called or handed on by its name;
    of several with the name, whether one of them may have a backward pass.
    """
    functions = [function for _, function in text.functions(name)] if name else []
    if not functions or name in stack or len(stack) >= DEEPEST:
        return
    if len(functions) == 1:
        yield from _iter_events(text, functions[0].body, at, (*stack, name))
        return
    parts = [part for function in functions for part in ast.walk(function)]
    if any(get_called_name(part).endswith("backward") for part in parts):
        yield _Event("backward", node, at)


def _is_used(text: SourceText, gradient: ast.Attribute) -> bool:
    """Return whether the gradient of a parameter in a loop over all is read, and not
    only asked whether it is there.
    """
    if not isinstance(gradient.ctx, ast.Load):
        return False
    around = text.parent(gradient)
    if isinstance(around, ast.Compare) or not isinstance(gradient.value, ast.Name):
        return False
    if not isinstance(around, ast.Attribute | ast.Call):
        return False
    if isinstance(around, ast.Attribute) and (
        around.attr.endswith("_") or isinstance(around.ctx, ast.Store)
    ):
        return False
    if isinstance(around, ast.Attribute) and around.attr == "data":
        outer = text.parent(around)
        if isinstance(outer, ast.Attribute) and outer.attr.endswith("_"):
            return False
    name = gradient.value.id
    for loop in text.outwards(gradient):
        generators = getattr(loop, "generators", [loop])
        for part in generators:
            target, data = getattr(part, "target", None), getattr(part, "iter", None)
            if target is None or data is None:
                continue
            calls = {get_called_name(call) for call in ast.walk(data)}
            if name in collect_names(target, ast.Store) and calls & PARAMETERS:
                return True
    return False
