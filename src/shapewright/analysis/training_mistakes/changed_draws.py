"""Find draws of a distribution whose probability is asked after they were changed, and
actions for which the probability of another draw is asked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from math import isfinite

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import CHANGED_DRAW, EQUAL_POLICIES, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import values_of
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    get_called_name,
    get_dotted_name,
)

DRAWS = frozenset({"sample", "rsample"})
CURVES = frozenset(
    name for name, limits in values_of("gives_range").items() if isfinite(sum(limits))
)
"""Functions whose results lie between two numbers."""
STEPS = 5
"""Assignments between a draw and the question."""
NUMBERS = frozenset({"int", "float"})
TAKING = frozenset({"step", "append", "push", "store", "store_transition"})
"""Methods that take the action of a policy."""
ESTIMATES = re.compile(r"ent|kl|elbo|prior|(^|_)h(_|$)", re.I)
"""How an average over draws is called, which needs no action."""
MOVES = (ast.Mult, ast.Add, ast.Sub, ast.Div)
NAMES_OF_TRANSFORMED = ("Transformed", "Squashed", "Tanh")


@looks_for(CHANGED_DRAW)
def find_changed_draws(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `dist.log_prob(action)` of an action that is `tanh(dist.rsample())`."""
    for text in scene.program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Call):
                continue
            yield from _find_second_draw(text, node)
            change = _find_change(text, node)
            if change is None:
                continue
            changed, draw = change
            name = get_dotted_name(node.func.value)  # type: ignore[attr-defined]
            yield build_finding(
                CHANGED_DRAW,
                f"`{name}` is asked how likely `{text.written(node.args[0])}` is, which"
                f" it did not draw: `{text.line_of(changed)}` changes its draw, so the"
                " probability is that of another one",
                text.span(node),
                (text.span(draw), "this is what was drawn"),
            )


def _find_second_draw(text: SourceText, node: ast.Call) -> Iterator[Finding]:
    """Yield the finding for `dist.log_prob(dist.sample())` of a draw that nothing else
    reads, beside an action that the same distribution drew.
    """
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if get_called_name(node) != "log_prob" or len(node.args) != 1 or owner is None:
        return
    drawn, scope = node.args[0], text.around(node, *FUNCTIONS)
    if isinstance(drawn, ast.Name):
        read = [n for n in text.nodes if _is_read(n, drawn) and _is_in(text, n, scope)]
        value = find_last_value(text, drawn, drawn.lineno)
        if (
            value is None
            or len(read) != 1
            or text.around(value, *LOOPS) is not (text.around(node, *LOOPS))
        ):
            return
        drawn = value
    name, result = ast.unparse(owner), _name_result(text, node)
    if not _is_single_draw(drawn, name) or ESTIMATES.search(result):
        return
    for statement in text.nodes:
        if not isinstance(statement, ast.Assign) or not _is_in(text, statement, scope):
            continue
        action, value = statement.targets[0], _strip_numbers(statement.value)
        if not isinstance(action, ast.Name) or not _is_single_draw(value, name):
            continue
        is_same = _find_built(text, owner, value) is _find_built(text, owner, drawn)
        if value is drawn or not is_same or not _is_taken(text, scope, action, result):
            continue
        yield build_finding(
            CHANGED_DRAW,
            f"`{text.line_of(drawn)}` draws anew: this is the probability of another"
            f" draw than `{action.id}`, so a loss with it says nothing of"
            f" `{action.id}`",
            text.span(node),
            (text.span(statement), f"`{action.id}` is drawn here"),
        )
        return


def _is_read(node: ast.AST, name: ast.Name) -> bool:
    """Return whether a node reads the name."""
    return (
        isinstance(node, ast.Name)
        and node.id == name.id
        and isinstance(node.ctx, ast.Load)
    )


def _is_in(text: SourceText, node: ast.AST, scope: ast.AST | None) -> bool:
    """Return whether a node stands in this function, or outside of all."""
    return text.around(node, *FUNCTIONS) is scope


def _find_built(text: SourceText, owner: ast.expr, at: ast.expr) -> ast.expr | None:
    """Return what the distribution's name was last given above an expression."""
    return find_last_value(text, owner, at.lineno) if get_dotted_name(owner) else None


def _is_single_draw(value: ast.expr, name: str) -> bool:
    """Return whether an expression is `dist.sample()`, of a distribution as written."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in DRAWS
        and ast.unparse(value.func.value) == name
        and not value.args
        and not value.keywords
    )


def _strip_numbers(value: ast.expr) -> ast.expr:
    """Return `dist.sample()` of `dist.sample().item()` or `int(dist.sample())`."""
    while isinstance(value, ast.Call) and get_called_name(value) not in DRAWS:
        inner = value.func.value if isinstance(value.func, ast.Attribute) else None
        if inner is None:
            if get_called_name(value) not in NUMBERS or len(value.args) != 1:
                break
            inner = value.args[0]
        value = inner
    return value


def _name_result(text: SourceText, node: ast.Call) -> str:
    """Return the name that the statement of a call assigns, or an empty string."""
    statement = text.statement_of(node)
    if isinstance(statement, ast.Assign):
        return get_dotted_name(statement.targets[0])
    return ""


def _is_taken(
    text: SourceText, scope: ast.AST | None, action: ast.Name, result: str
) -> bool:
    """Return whether an action is taken by an environment, kept or returned with a
    probability, and nothing asks for its own.
    """
    taken = False
    for node in text.nodes:
        if not _is_read(node, action) or not _is_in(text, node, scope):
            continue
        calls = [n for n in text.outwards(node) if isinstance(n, ast.Call)]
        names = {get_called_name(call) for call in calls}
        if "log_prob" in names:
            return False
        held = text.around(node, ast.stmt)
        with_result = isinstance(held, ast.Return) and any(
            get_dotted_name(part) == result or get_called_name(part) == "log_prob"
            for part in ast.walk(held)
        )
        taken |= bool(names & TAKING) or with_result
    return taken


def _find_change(text: SourceText, node: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """Return the expression that changes a draw before `log_prob` is asked of it, and
    that of the draw, or None.
    """
    if get_called_name(node) != "log_prob" or len(node.args) != 1:
        return None
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    name = get_dotted_name(owner) if owner is not None else ""
    built = find_last_value(text, owner, node.lineno) if name and owner else None
    if isinstance(built, ast.Call) and any(
        part in get_called_name(built) for part in NAMES_OF_TRANSFORMED
    ):
        return None
    value: ast.expr | None = node.args[0]
    changed: ast.expr | None = None
    for _ in range(STEPS):
        if isinstance(value, ast.Name | ast.Attribute) and get_dotted_name(value):
            value = find_last_value(text, value, value.lineno)
        if value is None:
            return None
        if _is_draw(value, name):
            return (changed, value) if changed is not None else None
        inner = _get_unchanged(value)
        if inner is None:
            return None
        changed, value = value, inner
    return None


def _is_draw(value: ast.expr, name: str) -> bool:
    """Return whether an expression draws from a distribution of a name."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in DRAWS
        and get_dotted_name(value.func.value) == name != ""
    )


def _get_unchanged(value: ast.expr) -> ast.expr | None:
    """Return what a squashing call, or an expression with numbers and names of
    constants, is given, or None.
    """
    if isinstance(value, ast.Call):
        if get_called_name(value) not in CURVES:
            return None
        if value.args or not isinstance(value.func, ast.Attribute):
            return next(iter(value.args), None)
        return value.func.value
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, MOVES):
        return None
    sides = [part for part in (value.left, value.right) if not _is_constant(part)]
    return sides[0] if len(sides) == 1 else None


def _is_constant(node: ast.expr) -> bool:
    """Return whether an expression is a number, or is named as a constant."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.expr)]
    return all(
        isinstance(part, ast.Constant | ast.BinOp | ast.UnaryOp)
        or (isinstance(part, ast.Name) and part.id.isupper())
        or (isinstance(part, ast.Attribute) and _is_limit(part.attr))
        or (isinstance(part, ast.Name) and _is_limit(part.id))
        for part in parts
    )


def _is_limit(name: str) -> bool:
    """Return whether a name says that it scales or shifts actions."""
    return any(
        word in name.lower()
        for word in ("scale", "bias", "limit", "max", "bound", "high", "low")
    )


@looks_for(EQUAL_POLICIES)
def find_equal_policies(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `(new - old).exp()` of two log-probabilities that are computed alike in the
    same turn of a loop.
    """
    for text in scene.program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Call) or get_called_name(node) != "exp":
                continue
            difference = next(iter(node.args), None)
            if difference is None and isinstance(node.func, ast.Attribute):
                difference = node.func.value
            if not isinstance(difference, ast.BinOp):
                continue
            if not isinstance(difference.op, ast.Sub):
                continue
            new, old = (
                find_last_value(text, side, node.lineno)
                for side in (difference.left, difference.right)
            )
            if new is None or old is None or new is old:
                continue
            loop = text.around(new, ast.For)
            is_same = ast.unparse(new) == ast.unparse(old)
            if not is_same or "log_prob" not in ast.unparse(new) or loop is None:
                continue
            if text.around(old, ast.For) is not loop or _is_stepped(new, old, loop):
                continue
            yield build_finding(
                EQUAL_POLICIES,
                f"this ratio is always 1: `{text.written(difference.right)}` is"
                f" computed by the policy of now, as `{text.written(difference.left)}`"
                " is, and not when the actions were drawn",
                text.span(node),
                (text.span(old), "it is computed anew here"),
            )


def _is_stepped(new: ast.expr, old: ast.expr, loop: ast.For) -> bool:
    """Return whether an optimizer steps between two lines of a loop."""
    first, last = sorted((new.lineno, old.lineno))
    return any(
        isinstance(node, ast.Call)
        and get_called_name(node) == "step"
        and first < node.lineno < last
        for node in ast.walk(loop)
    )
