"""Edits for loops: where they return, what they add up, what their functions read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import (
    cut_lines,
    find_block,
    write_after,
    write_before,
)
from shapewright.analysis.fixes.warnings.data_edits import suggest_shuffle
from shapewright.analysis.fixes.warnings.mean_edits import find_batch
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.additions import VALUES
from shapewright.analysis.training_mistakes.late_bindings import find_late_names
from shapewright.analysis.training_mistakes.overwritten_sums import (
    list_additions,
    list_losses_of_sum,
)
from shapewright.analysis.training_mistakes.single_turns import (
    find_early_return,
    find_zero,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
    get_iterated,
    iter_own_nodes,
)


def suggest_single_pass(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `batches = iter(loader)` before the steps where each cuts its batches out
    of a new pass over the loader; else a shuffle of the loader.
    """
    place = program.node(finding.related[0].span) if finding.related else None
    if get_called_name(node) == "islice" and isinstance(node, ast.Call):
        steps = text.around(text.around(node, *LOOPS) or node, *LOOPS)
        names = {part.id for part in text.nodes if isinstance(part, ast.Name)}
        name = next(word for word in PASSES if word not in names)
        source = text.written(node.args[0])
        if isinstance(steps, ast.stmt):
            edits = (
                write_before(text, steps, f"{name} = iter({source})"),
                Edit(text.span(node.args[0]), name),
            )
            yield Fix("fits", f"`{name} = iter({source})` before the steps", edits)
    if place is not None:
        yield from suggest_shuffle(program, finding, *place)


def suggest_own_length(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the length of the loader whose loop has added up what is divided."""
    place = program.node(finding.related[0].span) if finding.related else None
    source = place[1] if place is not None else None
    if get_called_name(node) != "len" or not isinstance(node, ast.Call):
        return
    own = text.written(get_iterated(source)) if isinstance(source, ast.expr) else ""
    ending = ".dataset" if text.written(node).endswith(".dataset)") else ""
    if own and node.args:
        new = f"len({own}{ending})"
        yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


PASSES = ("batches", "train_batches", "pass_over_batches")
"""Names for one pass over a loader."""


def suggest_return_behind_loop(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to move a `return` behind its loop, with what is computed for it of the
    sums alone.
    """
    loop = text.around(node, ast.For)
    leaving, sums = find_early_return(text, loop) if loop is not None else (None, [])
    body = getattr(text.parent(leaving), "body", [])
    if loop is None or leaving is None or not sums or len(body) < 2:
        return
    first = len(body) - 1
    of_sums = [node for part in sums for node in ast.walk(part)]
    added = {n.id for n in of_sums if isinstance(n, ast.Name)}
    changed = {
        name
        for part in iter_own_nodes(loop)
        if isinstance(part, ast.Assign) and part not in sums
        for name in collect_names(part, ast.Store)
    } | collect_names(loop.target)
    while isinstance(body[first - 1], ast.Assign) and body[first - 1] not in sums:
        read = collect_names(body[first - 1].value, ast.Load)
        if not read & added or read & changed:
            break
        first -= 1
    if first == 0:
        return
    moved = [text.written(statement) for statement in body[first:]]
    if any("\n" in row for row in moved):
        return
    indent = text.lines[loop.lineno - 1][: loop.col_offset]
    edits: list[Edit] = [cut_lines(text, statement) for statement in body[first:]]
    edits.append(write_after(text, loop, f"\n{indent}".join(moved)))
    yield Fix("fits", f"`{join_lines(moved[-1])}` behind the loop", tuple(edits))


def suggest_added_loss(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `loss += criterion(...)`, and `loss = 0` before the loop."""
    loop = text.around(node, ast.For)
    if loop is None or not isinstance(node, ast.Assign):
        return
    if "behind the loop" in finding.message and "last batch only" in finding.message:
        if "is the sum and the loss of a batch" in finding.message:
            yield from _suggest_own_name(finding, text, node)
            return
        yield from _suggest_start_before(program, finding, text, loop)
        return
    name, value = text.written(node.targets[0]), text.written(node.value)
    if "the mean of the last batch" in finding.message:
        value = f"({value})" if isinstance(node.value, ast.BinOp) else value
        value += f" * {find_batch(loop)}.size(0)"
    new = f"{name} += {value}"
    edits = [Edit(text.span(node), new)]
    is_sum = "each batch assigns" in finding.message
    if not is_sum and find_zero(text, loop, name) is None:
        edits.insert(0, write_before(text, loop, f"{name} = 0"))
    yield Fix("fits", f"`{join_lines(new)}`", tuple(edits))


UPDATING = re.compile(
    r"[\w.]+\.(zero_grad|step|update|unscale_)|[\w.]*clip_grad_\w+|.*\.backward"
)
"""What a batch calls for an update of the parameters."""


def suggest_passes_inside_loop(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to move a backward pass, and the step behind it, into the loop over
    batches above them.
    """
    if "stands behind the loop over batches" not in finding.message:
        return
    statement = text.statement_of(node) if isinstance(node, ast.expr) else None
    block = find_block(text, statement) if statement is not None else []
    at = next((n for n, part in enumerate(block) if part is statement), 0)
    first = last = at
    while first > 0 and _is_update(text, block[first - 1]):
        first -= 1
    while last + 1 < len(block) and _is_update(text, block[last + 1]):
        last += 1
    loop = next((n for n in block[:first][::-1] if isinstance(n, ast.For)), None)
    if loop is None or statement is None:
        return
    moved = block[first : last + 1]
    end = loop.body[-1]
    indent = text.lines[end.lineno - 1][: end.col_offset]
    rows = [text.written(part) for part in moved]
    edits = [cut_lines(text, part) for part in moved]
    edits.append(write_after(text, end, f"\n{indent}".join(rows)))
    shown = join_lines(text.written(statement))
    more = f" and {len(moved) - 1} more" if len(moved) > 1 else ""
    yield Fix("fits", f"`{shown}`{more} inside the loop", tuple(edits))


def _is_update(text: SourceText, statement: ast.stmt) -> bool:
    """Return whether a statement is a part of an update: `optimizer.step()`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    name = text.line_of(call.func) if isinstance(call, ast.Call) else ""
    return UPDATING.fullmatch(name) is not None and "sched" not in name.lower()


def _suggest_own_name(
    finding: Finding, text: SourceText, node: ast.Assign
) -> Iterator[Fix]:
    """Suggest `loss = criterion(...)` for `total = criterion(...)`, and to add it to
    the total.
    """
    loop, name = text.around(node, ast.For), text.written(node.targets[0])
    scope = text.around(node, *FUNCTIONS, ast.Module)
    known = collect_names(scope) if scope is not None else set[str]()
    new = next((n for n in ("loss", "batch_loss") if n not in known), "")
    if loop is None or not new:
        return
    edits = [Edit(text.span(use), new) for use in list_losses_of_sum(loop, node, name)]
    shown = f"`{join_lines(f'{new} = {text.written(node.value)}')}`"
    if list_additions(loop, name):
        yield Fix("fits", shown, tuple(edits))
        return
    is_mean = "times their samples" in finding.related[0].message
    factor = f" * {find_batch(loop)}.size(0)" if is_mean else ""
    is_number = get_called_name(node.value) in VALUES
    for value in (new,) if is_number else (f"{new}.item()", f"{new}.detach()"):
        added = write_after(text, node, f"{name} += {value}{factor}")
        yield Fix("fits", shown, (*edits, added))


def _suggest_start_before(
    program: Program, finding: Finding, text: SourceText, loop: ast.For
) -> Iterator[Fix]:
    """Suggest to set sums to zero, and to make lists, before the loop that fills
    them.
    """
    places = [finding.span, *(place.span for place in finding.related)]
    nodes = [program.node(place) for place in places]
    resets = [
        node[1]
        for node in nodes
        if node is not None and isinstance(node[1], ast.Assign)
        if text.around(node[1], ast.For) is loop
    ]
    around = text.parent(loop)
    head = around if isinstance(around, ast.With) else loop
    indent = text.lines[head.lineno - 1][: head.col_offset]
    rows = [text.written(reset) for reset in resets]
    edits = [cut_lines(text, reset) for reset in resets]
    edits.append(write_before(text, head, f"\n{indent}".join(rows)))
    shown = "; ".join(map(join_lines, rows))
    yield Fix("fits", f"`{shown}` before the loop", tuple(edits))


def suggest_bound_names(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `lambda x, name=name: ...`, which binds the value of each turn."""
    if not isinstance(node, ast.Lambda | ast.FunctionDef) or node.args.kwarg:
        return
    new = ", ".join(f"{name}={name}" for name in find_late_names(text, node))
    arguments = node.args
    parameters: list[ast.expr | ast.arg] = [
        *arguments.args, *arguments.defaults, *arguments.kwonlyargs,
        *(value for value in arguments.kw_defaults if value is not None),
        *([arguments.vararg] if arguments.vararg else []),
    ]  # fmt: skip
    span = text.span(node)
    if parameters:
        last = max(
            (part.end_lineno or 0, part.end_col_offset or 0) for part in parameters
        )
        line, column, new = last[0], text.column(*last), f", {new}"
    elif isinstance(node, ast.Lambda):
        line, column, new = span.line, span.column + len("lambda"), f" {new}"
    else:
        line = span.line
        column = text.lines[line - 1].index("(", span.column) + 2
    edit = Edit(Span(text.file, line, column, line, column), new)
    row = text.lines[line - 1]
    head = f"{row[: column - 1]}{new}{row[column - 1 :]}".strip()
    yield Fix("fits", f"`{head}`", (edit,))
