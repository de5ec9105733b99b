"""Find loops of which a single turn counts: those that return in the first turn what
they add up, and those whose loss is assigned anew in each turn.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.late_passes import find_late_passes
from shapewright.analysis.training_mistakes.overwritten_sums import (
    find_overwritten_sums,
    find_sums_as_losses,
    find_sums_set_to_zero,
)
from shapewright.analysis.training_mistakes.rewritten_losses import (
    find_rewritten_losses,
)
from shapewright.findings.codes import LOSS_OVERWRITTEN, RETURN_IN_LOOP, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    LOOPS,
    SCOPES,
    collect_names,
    get_called_name,
    iter_own_nodes,
)

KEEPING = frozenset({"append", "extend", "update"})
"""Methods that add to a list, or to a metric."""
LOSS_WORDS = ("loss", "criterion", "cross_entropy", "nll", "mse", "bce", "l1", "kl")
"""What is in the name of a function that computes a loss."""


@looks_for(RETURN_IN_LOOP)
def find_returns_in_loops(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loops that add up and end with a `return`: in their first turn."""
    for text in scene.program.own_texts():
        for loop in text.nodes:
            if not isinstance(loop, ast.For) or loop.orelse:
                continue
            leaving, sums = find_early_return(text, loop)
            if leaving is None or not sums:
                continue
            added = sums[0]
            yield build_finding(
                RETURN_IN_LOOP,
                f"`{text.line_of(leaving)}` ends the loop in its first turn, so that"
                f" `{text.line_of(added)}` is run once: what is returned is that of the"
                f" first item of `{text.line_of(loop.iter)}`",
                text.span(leaving),
                (text.span(loop.iter), "the loop is over this"),
                (text.span(added), "this is meant for each turn"),
            )


def find_early_return(
    text: SourceText, loop: ast.For
) -> tuple[ast.Return | None, list[ast.stmt]]:
    """Return the `return` that ends each turn of a loop, or None, and the sums of the
    loop that it hands out.
    """
    leaving = _get_last(loop.body)
    function = text.around(loop, *SCOPES)
    own = list(iter_own_nodes(loop))
    is_left = isinstance(leaving, ast.Return) and leaving.value is not None
    if not is_left or not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return None, []
    if any(isinstance(node, ast.Continue | ast.Yield | ast.YieldFrom) for node in own):
        return None, []
    assert isinstance(leaving, ast.Return)
    assert leaving.value is not None
    names = collect_names(leaving.value, ast.Load)
    for statement in reversed([node for node in own if isinstance(node, ast.Assign)]):
        if names & collect_names(statement, ast.Store):
            names |= collect_names(statement.value, ast.Load)
    before = {
        name
        for node in iter_own_nodes(function)
        if isinstance(node, ast.Assign) and node.lineno < loop.lineno
        for name in collect_names(node, ast.Store)
    }
    sums = [
        node
        for node in own
        if isinstance(node, ast.stmt)
        and text.around(node, *LOOPS) is loop
        and (name := _get_sum(node)) in names & before
        and not _is_set_in(own, name)
    ]
    return leaving, sums


def _get_last(body: list[ast.stmt]) -> ast.stmt:
    """Return the last statement of a body, in a `with` the last of its own."""
    last = body[-1]
    return _get_last(last.body) if isinstance(last, ast.With) else last


def _get_sum(node: ast.stmt) -> str:
    """Return the name that a statement adds to, or an empty string."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return node.target.id if isinstance(node.target, ast.Name) else ""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        target, left = node.targets[0], node.value.left
        is_sum = isinstance(node.value.op, ast.Add) and isinstance(target, ast.Name)
        if is_sum and isinstance(left, ast.Name) and left.id == target.id:  # type: ignore[attr-defined]
            return left.id
    if isinstance(node, ast.Expr) and get_called_name(node.value) in KEEPING:
        assert isinstance(node.value, ast.Call)
        owner = get_receiver(node.value)
        return owner.id if isinstance(owner, ast.Name) else ""
    return ""


def _is_set_in(nodes: list[ast.AST], name: str) -> bool:
    """Return whether one of the nodes assigns a name in another way than by a sum."""
    return any(
        isinstance(node, ast.Assign)
        and _get_sum(node) != name
        and name in {part for t in node.targets for part in collect_names(t, ast.Store)}
        for node in nodes
    )


@looks_for(LOSS_OVERWRITTEN)
def find_overwritten_losses(scene: RehearsalContext) -> Iterator[Finding]:
    """Find losses that a loop over steps assigns, and of which the last is trained,
    and sums over batches that were meant and hold the last one.
    """
    yield from find_overwritten_sums(scene)
    yield from find_sums_set_to_zero(scene)
    yield from find_sums_as_losses(scene)
    yield from find_late_passes(scene)
    yield from find_rewritten_losses(scene)
    batches = {loop.node for loop in scene.loops()}
    for text in scene.program.own_texts():
        for loop in text.nodes:
            if not isinstance(loop, ast.For) or loop in batches or loop.orelse:
                continue
            if "loader" in text.written(loop.iter):
                continue
            for assignment in _iter_direct(loop.body):
                used = _find_pass(text, loop, assignment)
                if used is None:
                    continue
                name = text.written(assignment.targets[0])
                yield build_finding(
                    LOSS_OVERWRITTEN,
                    f"each turn of the loop assigns `{name}` anew and nothing reads it"
                    f" there: `{text.line_of(used)}` has the loss of the last turn"
                    " alone",
                    text.span(assignment),
                    (text.span(loop.iter), "the loop is over this"),
                    (text.span(used), "the backward pass is behind the loop"),
                )


def _iter_direct(body: list[ast.stmt]) -> Iterator[ast.Assign]:
    """Yield the assignments that each turn of a loop runs."""
    for statement in body:
        if isinstance(statement, ast.Assign):
            yield statement
        elif isinstance(statement, ast.With):
            yield from _iter_direct(statement.body)


def _find_pass(
    text: SourceText, loop: ast.For, assignment: ast.Assign
) -> ast.Call | None:
    """Return the backward pass behind a loop of the loss that it assigns, if what the
    loop assigns is one part of a sum.
    """
    name = assignment.targets[0]
    if len(assignment.targets) != 1 or not isinstance(name, ast.Name):
        return None
    own = list(iter_own_nodes(loop))
    read = name.id in collect_names(loop, ast.Load)
    stored = [n for n in own if isinstance(n, ast.Name) and n.id == name.id]
    is_left = any(isinstance(n, ast.Break | ast.Return | ast.Yield) for n in own)
    if read or len(stored) != 1 or not _is_loss(assignment.value):
        return None
    begins_at_zero = find_zero(text, loop, name.id) is not None
    of_turn = collect_names(loop.target)
    for statement in _iter_direct(loop.body):
        is_item = isinstance(statement.value, ast.Subscript)
        if is_item and of_turn & collect_names(statement.value):
            of_turn |= collect_names(statement, ast.Store)
    has_own_target = bool(of_turn & collect_names(assignment.value, ast.Load))
    if not begins_at_zero and (is_left or not has_own_target):
        return None
    body = getattr(text.parent(loop), "body", [])
    for statement in body[body.index(loop) + 1 :] if loop in body else ():
        for node in ast.walk(statement):
            if not isinstance(node, ast.Call) or get_called_name(node) != "backward":
                continue
            receiver = get_receiver(node)
            parts = [*node.args, *([receiver] if receiver is not None else [])]
            if any(name.id in collect_names(part, ast.Load) for part in parts):
                return node
        if name.id in collect_names(statement, ast.Store):
            return None
    return None


def find_zero(text: SourceText, loop: ast.For, name: str) -> ast.Assign | None:
    """Return the assignment of zero to a name above a loop, in the same block."""
    body = getattr(text.parent(loop), "body", [])
    above = body[: body.index(loop)] if loop in body else []
    for statement in reversed(above):
        if name not in collect_names(statement, ast.Store):
            continue
        value = statement.value if isinstance(statement, ast.Assign) else None
        is_zero = isinstance(value, ast.Constant) and value.value in (0, 0.0)
        return statement if is_zero and isinstance(statement, ast.Assign) else None
    return None


def _is_loss(value: ast.expr) -> bool:
    """Return whether an expression has a call whose name says that it is a loss."""
    names = [get_called_name(node).lower() for node in ast.walk(value)]
    return any(word in name for name in names for word in LOSS_WORDS)
