"""Edits for optimizers and schedulers: what steps them, and what they are built of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.statements import (
    replace_lines,
    write_after,
    write_before,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.floored_logarithms import (
    get_floored_quotient,
)
from shapewright.analysis.training_mistakes.missing_steps import SCHEDULER
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    LOOPS,
    get_called_name,
    get_iterated,
    get_last_line,
)


def suggest_step_of_scaler(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `scaler.step(optimizer)` and `scaler.update()` for `optimizer.step()`."""
    owner = get_receiver(node) if isinstance(node, ast.Call) else None
    if owner is None or not isinstance(node, ast.Call):
        return
    function = text.around(node, ast.FunctionDef, ast.Module)
    inside = list(ast.walk(function)) if function is not None else []
    statement = text.statement_of(node)
    for call in inside:
        scaler = get_receiver(call) if isinstance(call, ast.Call) else None
        if get_called_name(call) != "scale" or scaler is None:
            continue
        name = text.written(scaler)
        written = {text.line_of(n) for n in inside if isinstance(n, ast.Call)}
        new = f"{name}.step({text.written(owner)})"
        indent = text.lines[statement.lineno - 1][: statement.col_offset]
        rows = [f"{indent}{new}"]
        if f"{name}.update()" not in written:
            rows.append(f"{indent}{name}.update()")
        edit = replace_lines(text, statement, "\n".join(rows))
        yield Fix("fits", " and ".join(f"`{row.strip()}`" for row in rows), (edit,))
        return


def suggest_steps_of_loader(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `steps_per_epoch=len(loader)` for a number that leaves out the last,
    smaller batch.
    """
    loop = text.around(node, ast.For)
    data = loop.iter if loop is not None else None
    while isinstance(data, ast.Call) and data.args:  # `enumerate(loader)`
        data = data.args[0]
    for call in text.nodes if isinstance(data, ast.Name) else ():
        words = call.keywords if isinstance(call, ast.Call) else []
        for word in words:
            if word.arg != "steps_per_epoch":
                continue
            new = f"len({text.written(data)})" if data is not None else ""
            if text.written(word.value) != new:
                edit = Edit(text.span(word.value), new)
                yield Fix("fits", f"`steps_per_epoch={new}`", (edit,))


PER_EPOCH = re.compile(r"(n|num|len)_(batches|steps)|\w+_(per|in)_epoch")
"""Names of the number of batches of an epoch."""


def suggest_planned_batches(
    program: Program, finding: Finding, text: SourceText, node: ast.expr
) -> Iterator[Fix]:
    """Suggest `T_max=epochs * len(loader)` for `T_max=epochs`, with the loader whose
    loop steps the scheduler, or with a name for its length.
    """
    loop = text.around(node, ast.For)
    loader = get_iterated(loop.iter) if loop is not None else None
    for related in finding.related:
        place = program.call_at(related.span)
        if place is None or place[0] is not text:
            continue
        call = place[1]
        values = [word.value for word in call.keywords if word.arg == "T_max"]
        values += call.args[1:2]
        count = _write_count_of_batches(text, call, loader)
        if len(values) != 1 or not count:
            continue
        written = text.written(values[0])
        if isinstance(values[0], ast.BinOp):
            written = f"({written})"
        new = f"{written} * {count}"
        edit = Edit(text.span(values[0]), new)
        yield Fix("fits", f"`T_max={join_lines(new)}`", (edit,))


def _write_count_of_batches(
    text: SourceText, call: ast.Call, loader: ast.expr | None
) -> str:
    """Write the number of batches in names that are bound where a call stands, or
    return "".
    """
    scope = text.around(call, ast.FunctionDef)
    bound = _list_bound(text, scope, call)
    if isinstance(loader, ast.Name) and loader.id in bound:
        return f"len({loader.id})"
    if isinstance(loader, ast.Attribute) and text.written(loader) in bound:
        return f"len({text.written(loader)})"
    return next((name for name in bound if PER_EPOCH.fullmatch(name)), "")


def _list_bound(
    text: SourceText, scope: ast.FunctionDef | None, call: ast.Call
) -> list[str]:
    """Return the names, and attributes of `self`, that are bound before a call."""
    bound = [argument.arg for argument in scope.args.args] if scope else []
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or node.lineno >= call.lineno:
            continue
        around = text.around(node, ast.FunctionDef)
        if around is not scope and around is not None:
            continue
        for target in node.targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            bound += [text.written(part) for part in parts]
    return bound


def suggest_own_scheduler(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to build the scheduler again behind the optimizer that is new."""
    places = [program.node(related.span) for related in finding.related]
    statements = [
        place[0].statement_of(place[1])
        for place in places
        if place is not None and place[0] is text
    ]
    if len(statements) == 2:
        new = text.written(statements[1])
        edit = write_after(text, statements[0], new)
        yield Fix("fits", f"`{join_lines(new)}` behind the new optimizer", (edit,))


def suggest_direction(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the other mode of a scheduler, or the other comparison."""
    if isinstance(node, ast.Compare):
        left, right = text.written(node.left), text.written(node.comparators[0])
        sign = "<" if isinstance(node.ops[0], ast.Gt | ast.GtE) else ">"
        new = f"{left} {sign} {right}"
        yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
    for related in finding.related:
        place = program.call_at(related.span)
        if place is None:
            continue
        where, call = place
        mode = "min" if 'mode="max"' in finding.message else "max"
        values = [word.value for word in call.keywords if word.arg == "mode"]
        values += call.args[1:2]
        if values:
            edit = Edit(where.span(values[0]), f'"{mode}"')
            yield Fix("fits", f'`mode="{mode}"`', (edit,))
        else:
            yield with_keyword(where, call, f'mode="{mode}"')


def suggest_added_group(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `add_param_group` behind the line that unfreezes parameters."""
    if "they are unfrozen here" not in finding.message:
        return
    module, statement = _find_unfrozen(text, node)
    for related in finding.related:
        place = program.node(related.span)
        if not module or statement is None or place is None:
            continue
        built = place[0].statement_of(place[1])
        if isinstance(built, ast.Assign):
            name = place[0].written(built.targets[0])
            group = f'{{"params": {module}.parameters()}}'
            new = f"{name}.add_param_group({group})"
            yield Fix("fits", f"`{new}`", (write_after(text, statement, new),))
        return


def _find_unfrozen(text: SourceText, node: ast.AST) -> tuple[str, ast.stmt | None]:
    """Return the module that a line unfreezes, and the statement that does it."""
    if not isinstance(node, ast.expr | ast.stmt):
        return "", None
    statement = text.statement_of(node)
    for call in ast.walk(statement):
        owner = get_receiver(call) if isinstance(call, ast.Call) else None
        if get_called_name(call) == "requires_grad_" and owner is not None:
            loop = text.parent(statement)
            iterated = loop.iter if isinstance(loop, ast.For) else None
            parts = get_receiver(iterated) if isinstance(iterated, ast.Call) else None
            if parts is not None and isinstance(loop, ast.For):
                return text.written(parts), loop
            return text.written(owner), statement
        if isinstance(call, ast.Call) and call.args:
            first = call.args[0]
            if isinstance(first, ast.Name | ast.Attribute):
                return text.written(first), statement
    loop = text.parent(statement)
    if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call):
        parts = get_receiver(loop.iter)
        if parts is not None and get_called_name(loop.iter) == "parameters":
            return text.written(parts), loop
    return "", None


def suggest_rate_of_one(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `lr=1.0` where a schedule gives the learning rate itself."""
    for part in ast.walk(node):
        for keyword in part.keywords if isinstance(part, ast.Call) else ():
            if keyword.arg == "lr":
                yield Fix("fits", "`lr=1.0`", (Edit(text.span(keyword.value), "1.0"),))
                return


def suggest_true_division(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `step / warmup` for `step // warmup`, `a / (b // 2)` for `a / b // 2`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        quotient = get_floored_quotient(node)
        if quotient is not None:
            below = f"({text.written(quotient.right)} // {text.written(node.right)})"
            new = f"{text.written(quotient.left)} / {below}"
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
            return
        left, right = text.span(node.left), text.span(node.right)
        between = Span(
            text.file, left.end_line, left.end_column, right.line, right.column
        )
        sign = text.at(between)
        if sign.count("//") == 1 and "#" not in sign:
            new = sign.replace("//", "/")
            shown = text.written(node).replace(sign, new, 1)
            yield Fix("fits", f"`{join_lines(shown)}`", (Edit(between, new),))


OF_BATCHES = frozenset({"OneCycleLR", "CyclicLR"})
"""Schedulers that step with each batch."""


def suggest_step_of_scheduler(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `scheduler.step()` behind the loop over batches, or in it for a cycle."""
    built = text.statement_of(node) if isinstance(node, ast.expr) else node
    name = get_called_name(built.value) if isinstance(built, ast.Assign) else ""
    if not isinstance(built, ast.Assign) or not SCHEDULER.fullmatch(name):
        return
    if name == "ReduceLROnPlateau":
        return  # what it waits for is not known
    assert isinstance(built.value, ast.Call)
    optimizer = text.line_of(built.value.args[0])
    new = f"{text.line_of(built.targets[0])}.step()"
    for call in text.nodes:
        owner = get_receiver(call) if isinstance(call, ast.Call) else None
        if owner is None or not isinstance(call, ast.Call):
            continue
        loop = text.around(call, *LOOPS)
        is_step = get_called_name(call) == "step" and text.line_of(owner) == optimizer
        if not is_step or loop is None:
            continue
        if name in OF_BATCHES:
            edit = write_after(text, text.statement_of(call), new)
            yield Fix("fits", f"`{new}` after the optimizer's step", (edit,))
        elif text.around(loop, *LOOPS) is not None:
            edit = write_after(text, loop, new)
            yield Fix("fits", f"`{new}` behind the loop over batches", (edit,))
        else:
            yield from _suggest_step_of_epoch(text, loop, built, new)
        return


def _suggest_step_of_epoch(
    text: SourceText, batches: ast.AST, built: ast.Assign, new: str
) -> Iterator[Fix]:
    """Suggest `scheduler.step()` as the last statement of the loop that calls the
    function which goes over the batches, where the scheduler has its name.
    """
    function = text.around(batches, ast.FunctionDef)
    if function is None:
        return
    for call in text.nodes:
        if not isinstance(call, ast.Call) or get_called_name(call) != function.name:
            continue
        loop = text.around(call, *LOOPS)
        if not isinstance(loop, ast.For | ast.While):
            continue
        is_own = new.startswith("self.") and (
            text.around(loop, ast.ClassDef) is text.around(built, ast.ClassDef)
        )
        same = text.around(loop, ast.FunctionDef) is text.around(built, ast.FunctionDef)
        if is_own or same:
            edit = write_after(text, loop.body[-1], new)
            yield Fix("fits", f"`{new}` at the end of each epoch", (edit,))
        return


def suggest_step_in_any_case(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `optimizer.step()` above the condition under which a scheduler steps in
    its place, or beside the step of the scheduler.
    """
    places = [program.call_at(related.span) for related in finding.related]
    branch = text.around(node, ast.If)
    is_exclusive = "in its place" in " ".join(r.message for r in finding.related)
    if not is_exclusive or not isinstance(node, ast.Call) or branch is None:
        return
    step, written = text.statement_of(node), text.written(node)
    is_first = text.lines[branch.lineno - 1].lstrip().startswith("if")
    if branch.orelse == [step] and is_first:
        body = branch.body[-1]
        start, end = get_last_line(body), get_last_line(step)
        rest = Span(
            text.file, start, len(text.lines[start - 1]) + 1,
            end, len(text.lines[end - 1]) + 1,
        )  # fmt: skip
        above = write_before(text, branch, written)
        yield Fix("fits", f"`{written}` above the condition", (above, Edit(rest, "")))
        return
    for place in places:
        if place is not None and place[0] is text:
            edit = write_before(text, text.statement_of(place[1]), written)
            yield Fix("fits", f"`{written}` before the scheduler's step", (edit,))
