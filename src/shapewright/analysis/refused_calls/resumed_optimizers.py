"""Optimizers that lack what goes with them: the state of an earlier run for a schedule
that resumes, gradients for a scaler.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import (
    cut_lines,
    wrap_in_condition,
    write_before,
)
from shapewright.analysis.older_programs import cut_argument
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_last_line,
)

NO_RATE = "param 'initial_lr' is not specified in param_groups"
NO_CHECKS = "No inf checks were recorded for this optimizer"
FREEZING = "requires_grad"


def find_resumed_optimizer(program: Program, finding: Finding) -> Explanation | None:
    """Return what a schedule or a scaler misses of an optimizer, or None."""
    place = program.call_at(finding.span)
    if place is None:
        return None
    if NO_RATE in finding.words:
        return _explain_resumed_schedule(*place)
    if NO_CHECKS in finding.words:
        return _explain_unchecked_step(program, *place)
    return None


# -- schedules that resume -------------------------------------------------------------


def _explain_resumed_schedule(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain a schedule that goes on from an epoch, of a new optimizer."""
    words = {word.arg: word for word in call.keywords}
    values = [*call.args[:1], *(words[k].value for k in words if k == "optimizer")]
    last = words.get("last_epoch")
    if not values:
        return None
    name = text.written(values[0])
    message = (
        "with `last_epoch` the schedule goes on from the rates that the state of"
        f" `{name}` holds as `initial_lr`, and `{name}` has no such state here"
    )
    load = _find_load(text, call, name)
    if load is None:
        fixes = []
        if last is not None:
            written = join_lines(f"last_epoch={text.written(last.value)}")
            edit = cut_argument(text, call, last)
            fixes.append(Fix("fits", f"without `{written}`", (edit,)))
        return Explanation(message, (), tuple(fixes))
    related = (Related(text.span(load), "its state is loaded only here"),)
    fix = _move_load(text, text.statement_of(call), load)
    return Explanation(message, related, (fix,))


def _find_load(text: SourceText, call: ast.Call, name: str) -> ast.stmt | None:
    """Return the statement below a schedule, in its function, that loads the state of
    its optimizer.
    """
    scope = text.around(call, *FUNCTIONS)
    for node in text.nodes:
        if not isinstance(node, ast.Call) or node.lineno <= get_last_line(call):
            continue
        is_load = get_called_name(node) == "load_state_dict"
        if is_load and isinstance(node.func, ast.Attribute):
            owner = text.written(node.func.value)
            if owner == name and text.around(node, *FUNCTIONS) is scope:
                return text.statement_of(node)
    return None


def _move_load(text: SourceText, statement: ast.stmt, load: ast.stmt) -> Fix:
    """Return the edit that loads a state above a schedule, under the same condition."""
    written = text.written(load)
    holder = text.parent(load)
    moved, rows = load, [written]
    if isinstance(holder, ast.If) and load in holder.body:
        rows = [f"if {text.written(holder.test)}:", f"    {written}"]
        if len(holder.body) == 1 and not holder.orelse:
            moved = holder
    indent = " " * statement.col_offset
    edits = (
        write_before(text, statement, f"\n{indent}".join(rows)),
        cut_lines(text, moved),
    )
    shown = f"`{join_lines(written)}` above the schedule"
    return Fix("fits", shown, edits)


# -- scalers ---------------------------------------------------------------------------


def _explain_unchecked_step(
    program: Program, text: SourceText, call: ast.Call
) -> Explanation | None:
    """Explain `scaler.step` of an optimizer without gradients."""
    if get_called_name(call) != "step" or len(call.args) != 1:
        return None
    optimizer = text.written(call.args[0])
    message = f"no parameter of `{optimizer}` has a gradient here:"
    if not any(FREEZING in own.text for own in program.own_texts()):
        message += " its loss was not scaled and passed backward before this step"
        return Explanation(message)
    message += " they are frozen, and a scaler steps only what has been trained"
    statement = text.statement_of(call)
    conditions = list(_iter_conditions(program, text, statement))
    rest = (
        f"any(p.grad is not None for group in {optimizer}.param_groups"
        ' for p in group["params"])'
    )
    fixes = []
    for condition in dict.fromkeys([*conditions, rest]):
        edit: Edit = wrap_in_condition(text, statement, condition)
        shown = f"`if {join_lines(condition)}:` above `{text.line_of(statement)}`"
        fixes.append(Fix("fits", shown, (edit,)))
    return Explanation(message, (), tuple(fixes))


def _iter_conditions(
    program: Program, text: SourceText, statement: ast.stmt
) -> Iterator[str]:
    """Yield the comparisons in the function of a step that decide what trains."""
    scope = text.around(statement, *FUNCTIONS) or text.tree
    known = collect_names(scope, ast.Store) if scope is not None else set()
    for node in ast.walk(scope) if scope is not None else ():
        if isinstance(node, ast.Compare) and node.lineno < statement.lineno:
            holder = text.parent(node)
            if not collect_names(node) & known:
                continue
            if isinstance(holder, ast.If) and holder.test is node:
                yield from _read_unfreezing(program, text, holder, node)
            elif _has_flag(program, text, node):
                yield text.written(node)


def _has_flag(program: Program, text: SourceText, node: ast.Compare) -> bool:
    """Return whether a comparison is what `requires_grad` is set to."""
    holder = text.parent(node)
    if isinstance(holder, ast.Assign):
        return FREEZING in text.written(holder.targets[0])
    call = holder if isinstance(holder, ast.Call) else text.around(node, ast.Call)
    return call is not None and _is_freezing(program, call)


def _is_freezing(program: Program, call: ast.Call) -> bool:
    """Return whether a call sets `requires_grad`, by itself or in its function."""
    name = get_called_name(call)
    if name == "requires_grad_":
        return True
    return any(
        FREEZING in own.written(function)
        for own in program.own_texts()
        for _, function in own.functions(name)
    )


def _read_unfreezing(
    program: Program, text: SourceText, holder: ast.If, test: ast.Compare
) -> Iterator[str]:
    """Yield the condition under which parameters train that are set free at an epoch:
    `epoch >= 3` of `if epoch == 3: unfreeze(net)`.
    """
    body = "\n".join(text.written(statement) for statement in holder.body)
    calls = [
        node
        for statement in holder.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
    ]
    frees = FREEZING in body and "True" in body
    frees |= any(_is_freezing(program, call) for call in calls) and "False" not in body
    if frees and len(test.ops) == 1:
        sides = text.written(test.left), text.written(test.comparators[0])
        if isinstance(test.ops[0], ast.Eq):
            yield f"{sides[0]} >= {sides[1]}"
        elif isinstance(test.ops[0], ast.GtE | ast.Gt):
            yield text.written(test)
