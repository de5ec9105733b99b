"""Edits for the order of backward passes and steps of several optimizers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.autograd_errors import Cause
from shapewright.analysis.autograd_errors.early_makers import iter_early_makers
from shapewright.analysis.autograd_errors.history import History
from shapewright.analysis.fixes.statements import (
    cut_lines,
    write_after,
    write_before,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_dotted_name,
    get_last_line,
)

FACTORIES = operators_with("is_factory", "is_sized_factory", "is_random")
MOST_BETWEEN = 4
"""Statements between a backward pass and its step: gradients clipped, numbers kept."""


def suggest_earlier_pass(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest the backward pass and the step of a loss before the steps of other
    optimizers, which change weights that the pass needs.

    Only where those clear their gradients first: the pass leaves gradients in them.
    """
    failing = history.find_text(cause.failing.span)
    if failing is None:
        return
    text, statement = failing
    body = getattr(text.parent(statement), "body", [])
    if statement not in body:
        return
    at = body.index(statement)
    first = at
    while first and _get_method(body[first - 1]) == "zero_grad":
        first -= 1
    last = next(
        (
            number
            for number in range(at, min(at + MOST_BETWEEN, len(body)))
            if _get_method(body[number]) == "step"
        ),
        at,
    )
    known = _find_definition(body[:at], statement)
    steps = [n for n in range(known + 1, first) if _get_method(body[n]) == "step"]
    if not steps:
        return
    target = steps[0]
    while target > known + 1 and isinstance(body[target - 1], ast.Expr):
        target -= 1
    before = [_get_method(other) for other in body[target:first]]
    if before.count("zero_grad") < before.count("step"):
        return
    yield _move(text, body[first : last + 1], body[target])


def suggest_later_forward(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `state = model.encode(obs)` below the step, where it is made above it for
    the next turn of a loop: by then its weights are others.
    """
    if cause.other is None:
        return
    for text, maker, step in iter_early_makers(history, cause.failing, cause.other):
        written = text.written(maker)
        edits = (cut_lines(text, maker), write_after(text, step, written))
        message = f"`{written}` after `{join_lines(text.written(step))}`"
        yield Fix("fits", message, edits)


def suggest_made_again(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `criterion(discriminator(fake), ones)` for `criterion(d_fake, ones)`,
    where the step between has changed what made `d_fake`.
    """
    failing = history.find_text(cause.failing.span)
    step = history.find_text(cause.other.span if cause.other is not None else None)
    if failing is None or step is None or failing[0].file != step[0].file:
        return
    text, statement = failing
    body = getattr(text.parent(statement), "body", [])
    if statement not in body or step[1] not in body:
        return
    at, between = body.index(statement), body.index(step[1])
    losses = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
    terms = []
    for later in reversed(body[between + 1 : at]):
        if not isinstance(later, ast.Assign):
            continue
        if losses & collect_names(ast.Tuple(list(later.targets))):
            losses |= collect_names(later.value)
            terms.append(later)
    for later in reversed(terms):
        fix = _replace_made(text, body[: at + 1], between, later)
        if fix is not None:
            yield fix


def _replace_made(
    text: SourceText, body: list[ast.stmt], step: int, later: ast.Assign
) -> Fix | None:
    """Return the fix that computes again what a term reads and a step has made old."""
    edits, shown = [], text.written(later.value)
    for node in sorted(
        (n for n in ast.walk(later.value) if isinstance(n, ast.Name)),
        key=lambda n: (n.lineno, n.col_offset), reverse=True,
    ):  # fmt: skip
        new = _write_again(text, body, step, later, node.id)
        if not new:
            continue
        edits.append(Edit(text.span(node), new))
        start = node.col_offset - later.value.col_offset
        if node.lineno == later.value.lineno:
            shown = f"{shown[:start]}{new}{shown[start + len(node.id) :]}"
    if not edits:
        return None
    return Fix("fits", f"`{join_lines(shown)}`", tuple(reversed(edits)))


def suggest_computed_again(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `logits = model(x)` once more, above the later statements that read
    `logits`, where a step has changed the weights since its graph was freed.
    """
    failing = history.find_text(cause.failing.span)
    maker = history.find_text(cause.maker.span if cause.maker is not None else None)
    if failing is None or cause.fact is None or cause.maker is None:
        return
    text, statement = failing
    maker = _find_outer_maker(history, cause, text) or maker
    if maker is None or maker[0] is not text or not isinstance(maker[1], ast.Assign):
        return
    names = collect_names(ast.Tuple(list(maker[1].targets)), ast.Store)
    block = getattr(text.parent(statement), "body", [])
    first = history.find_text(cause.other.span if cause.other is not None else None)
    if maker[1] in block and first is not None and first[1] in block:
        yield from _suggest_new_pass(text, block, maker[1], first[1], statement)
        return
    readers = (
        [
            later
            for later in block[: block.index(statement)]
            if names & collect_names(later) and later.lineno > maker[1].lineno
        ]
        if statement in block
        else []
    )
    written = text.written(maker[1])
    is_near = maker[1] not in block and len(names) == 1 and "\n" not in written
    if not readers or not is_near:
        return
    read = collect_names(maker[1].value)
    function = text.around(maker[1], *FUNCTIONS, ast.Module)
    for node in ast.walk(function) if function is not None else ():
        targets = getattr(node, "targets", ())
        is_between = maker[1].lineno < getattr(node, "lineno", 0) < readers[0].lineno
        if is_between and any(read & collect_names(t, ast.Store) for t in targets):
            return
    message = f"`{written}` again, before it is read"
    yield Fix("fits", message, (write_before(text, readers[0], written),))


def _suggest_new_pass(
    text: SourceText,
    block: list[ast.stmt],
    maker: ast.Assign,
    first: ast.stmt,
    second: ast.stmt,
) -> Iterator[Fix]:
    """Suggest `criterion(model(x), y)` for a second loss of `output`, which a model
    made above the step that has changed its weights.
    """
    target = maker.targets[0]
    is_call = isinstance(maker.value, ast.Call) and len(maker.targets) == 1
    if not is_call or not isinstance(target, ast.Name):
        return
    begin, end = block.index(first) + 1, block.index(second) + 1
    read = collect_names(maker.value, ast.Load) | {target.id}
    for other in block[block.index(maker) + 1 : end]:
        if read & collect_names(other, ast.Store):
            return  # the call would be another one
    new = join_lines(text.written(maker.value))
    for later in block[begin:end]:
        value = getattr(later, "value", later)
        if isinstance(later, ast.Expr) and later is not second:
            continue
        edits, shown = _replace_reads(text, value, target.id, new)
        if edits:
            yield Fix("fits", f"`{join_lines(shown)}`", tuple(edits))
            return


def _replace_reads(
    text: SourceText, value: ast.AST, name: str, new: str
) -> tuple[list[Edit], str]:
    """Return the edits that write an expression where a name is read, and the whole
    with the first of them, if that is a single line.
    """
    reads = [n for n in ast.walk(value) if isinstance(n, ast.Name) and n.id == name]
    edits = [Edit(text.span(node), new) for node in reads]
    if not isinstance(value, ast.expr) or not reads:
        return edits, new
    shown = text.written(value)
    start = reads[0].col_offset - value.col_offset
    if reads[0].lineno == value.lineno and len(reads) == 1 and shown.isascii():
        shown = f"{shown[:start]}{new}{shown[start + len(name) :]}"
        return edits, shown
    return edits, new


def _find_outer_maker(
    history: History, cause: Cause, text: SourceText
) -> tuple[SourceText, ast.stmt] | None:
    """Return the statement of the function that fails in which a tensor was made, of a
    call of a model the one that calls it.
    """
    assert cause.maker is not None
    failing = cause.failing.frames[-1] if cause.failing.frames else None
    for frame in cause.maker.frames:
        if failing is not None and frame.function == failing.function:
            return history.find_text(frame.span)
    return None


def _write_again(
    text: SourceText, body: list[ast.stmt], step: int, later: ast.stmt, name: str
) -> str:
    """Return the call above a step by which a name got its value, nothing detached:
    the later loss trains what the first one left alone.
    """
    makers = [
        (number, statement)
        for number, statement in enumerate(body)
        if isinstance(statement, ast.Assign)
        and any(isinstance(n, ast.Name) and n.id == name for n in statement.targets)
    ]
    if len(makers) != 1 or makers[0][0] >= step:
        return ""
    number, maker = makers[0]
    assert isinstance(maker, ast.Assign)
    value = maker.value
    methods = [n for n in ast.walk(value) if isinstance(n, ast.Call)]
    if not methods or not isinstance(methods[-1].func, ast.Name | ast.Attribute):
        return ""
    if get_called_name(value) in FACTORIES:
        return ""  # no weights made it
    read = collect_names(value)
    for other in body[number + 1 : body.index(later)]:
        targets = getattr(other, "targets", ())
        if any(read & collect_names(target, ast.Store) for target in targets):
            return ""
    return join_lines(text.written(value)).replace(".detach()", "")


def _get_method(statement: ast.stmt) -> str:
    """Return the name of the method that a statement only calls."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        return call.func.attr
    return ""


def _find_definition(body: list[ast.stmt], statement: ast.stmt) -> int:
    """Return the number of the last statement that assigns what another one reads."""
    read = {
        get_dotted_name(node)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
    }
    for number in range(len(body) - 1, -1, -1):
        targets = getattr(body[number], "targets", ())
        names = {get_dotted_name(n) for target in targets for n in ast.walk(target)}
        if names & read:
            return number
    return -1


def _move(text: SourceText, moved: list[ast.stmt], before: ast.stmt) -> Fix:
    """Return the fix that moves statements above another one."""
    begin, end = moved[0].lineno, get_last_line(moved[-1])
    rows = "".join(f"{row}\n" for row in text.lines[begin - 1 : end])
    there = Span(text.file, before.lineno, 1, before.lineno, 1)
    if end < len(text.lines):
        gone = Edit(Span(text.file, begin, 1, end + 1, 1), "")
    else:
        gone = Edit(Span(text.file, begin, 1, end, len(text.lines[end - 1]) + 1), "")
    shown = next(s for s in moved if _get_method(s) == "backward")
    message = f"`{join_lines(text.written(shown))}`"
    if _get_method(moved[-1]) == "step":
        message += f" and `{join_lines(text.written(moved[-1]))}`"
    message += f" before `{join_lines(text.written(before))}`"
    return Fix("fits", message, (Edit(there, rows), gone))
