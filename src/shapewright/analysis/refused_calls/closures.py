"""The closure that `LBFGS` takes: it computes the loss several times in a step."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_dotted_name,
    get_last_line,
)

MISSING = "step() missing 1 required positional argument: 'closure'"


def find_missing_closure(program: Program, finding: Finding) -> Explanation | None:
    """Return that a step needs a function that computes the loss, or None."""
    place = program.node(finding.span)
    if MISSING not in finding.words or place is None:
        return None
    text, node = place
    kind = finding.words.partition(MISSING)[0].rstrip(".").rpartition(" ")[2]
    message = (
        f"`{kind.strip('`') or 'LBFGS'}` computes the loss several times in a step:"
        " `step` takes a function that clears the gradients, computes the loss, calls"
        " `backward` and returns the loss"
    )
    built = [
        Related(text.span(call), "the optimizer is built here")
        for call in text.nodes
        if isinstance(call, ast.Call) and get_called_name(call) == "LBFGS"
    ]
    own = _find_own_closure(text, node)
    if own is not None:
        where = Related(text.span(own).start, f"`{own.name}` is such a function")
        fix = _suggest_own_closure(text, node, own)
        return Explanation(message, (*built[:1], where), (fix,) if fix else ())
    edit = _write_closure(text, node)
    shown = "`def closure():` around what computes the loss"
    fixes = (Fix("fits", shown, (edit,)),) if edit is not None else ()
    return Explanation(message, tuple(built[:1]), fixes)


def _find_own_closure(
    text: SourceText, node: ast.expr | ast.stmt
) -> ast.FunctionDef | None:
    """Return the function of the program that computes a loss and its gradients, and
    returns the loss, if the step can see one.
    """
    scopes = [text.tree, *(n for n in text.outwards(node) if isinstance(n, FUNCTIONS))]
    fitting = []
    for function in text.nodes:
        if not isinstance(function, ast.FunctionDef) or function.lineno > node.lineno:
            continue
        arguments = function.args
        is_free = len(arguments.args) == len(arguments.defaults)
        within = {get_called_name(part) for part in ast.walk(function)}
        last = function.body[-1]
        around = text.around(text.parent(function), *FUNCTIONS) or text.tree
        computes = "backward" in within and "step" not in within
        returns = isinstance(last, ast.Return) and last.value is not None
        if is_free and computes and returns and around in scopes:
            fitting.append(function)
    return fitting[0] if len(fitting) == 1 else None


def _suggest_own_closure(
    text: SourceText, node: ast.expr | ast.stmt, own: ast.FunctionDef
) -> Fix | None:
    """Suggest `optimizer.step(closure)`, without the call of the function above it."""
    step = text.statement_of(node) if isinstance(node, ast.expr) else node
    call = getattr(step, "value", None)
    if not isinstance(call, ast.Call) or call.args or call.keywords:
        return None
    new = f"{text.written(call.func)}({own.name})"
    block = getattr(text.parent(step), "body", [])
    above = block[block.index(step) - 1] if step in block[1:] else None
    called = getattr(above, "value", None)
    is_call = isinstance(called, ast.Call) and get_dotted_name(called.func) == own.name
    if not isinstance(step, ast.Expr) or not is_call or called.args:  # type: ignore[union-attr]
        return Fix("fits", f"`{new}`", (Edit(text.span(call), new),))
    if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
        new = f"{above.targets[0].id} = {new}"
    elif not isinstance(above, ast.Expr):
        return None
    first, last = text.span(above), text.span(step)
    whole = Span(text.file, first.line, first.column, last.end_line, last.end_column)
    return Fix("fits", f"`{new}`", (Edit(whole, new),))


def _write_closure(text: SourceText, node: ast.expr | ast.stmt) -> Edit | None:
    """Return the edit that puts the statements of a step into a function."""
    step = text.statement_of(node) if isinstance(node, ast.expr) else node
    body = getattr(text.parent(step), "body", [])
    if not isinstance(step, ast.Expr) or not isinstance(step.value, ast.Call):
        return None
    if step.value.args or step.value.keywords or step not in body:
        return None
    at = body.index(step)
    before: list[ast.stmt] = body[:at]
    calls = [_get_statement_call(statement) for statement in before]
    backward = max((n for n in range(at) if calls[n] == "backward"), default=-1)
    if backward < 0:
        return None
    clearing = [n for n in range(backward) if calls[n] == "zero_grad"]
    start = clearing[-1] if clearing else _find_start(text, before, backward)
    if start is None:
        return None
    above = [row for row in before[start:] if _is_reassigned(row)]
    inner = [row for row in before[start:] if row not in above]
    if not _is_closed(text, body[at + 1 :], step, above, inner, before[backward]):
        return None
    loss = _get_loss(before[backward])
    if not loss:
        return None
    return _replace_rows(text, before[start], step, above, inner, loss)


def _get_statement_call(statement: ast.stmt) -> str:
    """Return the name of the method that a statement calls."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return get_called_name(value) if isinstance(value, ast.Call) else ""


def _find_start(
    text: SourceText, before: Sequence[ast.stmt], backward: int
) -> int | None:
    """Return the first statement of those that compute the loss, one below another."""
    needed = collect_names(before[backward], ast.Load)
    start = backward
    for at in range(backward - 1, -1, -1):
        statement = before[at]
        if not isinstance(statement, ast.Assign) or _is_reassigned(statement):
            break
        stored = collect_names(statement, ast.Store)
        if not stored & needed or get_called_name(statement.value) in ("next", "to"):
            break
        needed |= collect_names(statement, ast.Load)
        start = at
    return start


def _is_reassigned(statement: ast.stmt) -> bool:
    """Return whether a statement sets names that it reads: `x = x.to(device)`."""
    stored = collect_names(statement, ast.Store)
    return isinstance(statement, ast.Assign) and bool(
        stored & collect_names(statement.value, ast.Load)
    )


def _is_closed(
    text: SourceText,
    behind: Sequence[ast.stmt],
    step: ast.stmt,
    above: Sequence[ast.stmt],
    inner: Sequence[ast.stmt],
    backward: ast.stmt,
) -> bool:
    """Return whether statements may run in a function of their own: what they set is
    not read elsewhere, but for the loss, and what stays above reads none of it.
    """
    set_inside: set[str] = set()
    for statement in inner:
        if isinstance(statement, ast.AugAssign):
            return False
        for part in ast.walk(statement):
            if isinstance(part, ast.Break | ast.Continue | ast.Return | ast.Yield):
                return False
        set_inside |= collect_names(statement, ast.Store)
    if any(collect_names(row, ast.Load) & set_inside for row in above):
        return False
    unset: set[str] = set()
    known: set[str] = set()
    for statement in inner:
        unset |= (collect_names(statement, ast.Load) & set_inside) - known
        known |= collect_names(statement, ast.Store)
    scope = text.around(step, *FUNCTIONS)
    whole = getattr(scope, "body", None) if scope is not None else None
    inside = {id(part) for row in (*inner, *above) for part in ast.walk(row)}
    elsewhere = {
        part.id
        for row in (whole if isinstance(whole, list) else behind)
        for part in ast.walk(row)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
        if id(part) not in inside
    }
    return not unset and elsewhere & set_inside <= {_get_loss(backward)}


def _get_loss(backward: ast.stmt) -> str:
    """Return the name of the loss that `backward` is called of, or `loss`."""
    call = backward.value if isinstance(backward, ast.Expr) else None
    owner = get_receiver(call) if isinstance(call, ast.Call) else None
    if isinstance(owner, ast.Name):
        return owner.id
    return "loss" if isinstance(owner, ast.Call) else ""


def _replace_rows(
    text: SourceText,
    first: ast.stmt,
    step: ast.Expr,
    above: Sequence[ast.stmt],
    inner: Sequence[ast.stmt],
    loss: str,
) -> Edit:
    """Return the edit that writes a closure and the step with it."""
    indent = text.lines[step.lineno - 1][: step.col_offset]
    rows = [row for statement in above for row in _get_rows(text, statement)]
    rows.append(f"{indent}def closure():")
    for statement in inner:
        lines = _get_rows(text, statement)
        call = statement.value if isinstance(statement, ast.Expr) else None
        owner = get_receiver(call) if isinstance(call, ast.Call) else None
        if get_called_name(call or ast.Pass()) == "backward" and isinstance(
            owner, ast.Call
        ):
            assigned = f"{indent}{loss} = {text.written(owner)}"
            lines = [*assigned.split("\n"), f"{indent}{loss}.backward()"]
        rows += [f"    {row}" if row.strip() else row for row in lines]
    rows += [f"{indent}    return {loss}", ""]
    last = get_last_line(step)
    owner = get_receiver(step.value) if isinstance(step.value, ast.Call) else None
    called = f"{text.written(owner)}.step(closure)" if owner is not None else ""
    scope = text.around(step, *FUNCTIONS)
    inside = {id(part) for row in inner for part in ast.walk(row)}
    is_read = any(
        isinstance(part, ast.Name) and part.id == loss
        for part in (ast.walk(scope) if scope is not None else text.nodes)
        if id(part) not in inside
    )
    rows.append(f"{indent}{loss} = {called}" if is_read else f"{indent}{called}")
    end = len(text.lines[last - 1]) + 1
    span = Span(text.file, first.lineno, 1, last, end)
    return Edit(span, "\n".join(rows))


def _get_rows(text: SourceText, statement: ast.stmt) -> list[str]:
    """Return the lines of a statement as they are written."""
    return list(text.lines[statement.lineno - 1 : get_last_line(statement)])
