"""Edits of means over an epoch: the exponential or the root of a mean, not the mean of
them; sums divided by the number of samples.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import cut_lines, write_after
from shapewright.analysis.fixes.warnings.training_edits import suggest_last_batch
from shapewright.analysis.hazards.first_samples import iter_first_samples
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.additions import strip_conversions
from shapewright.analysis.training_mistakes.inner_sums import is_sum_of_entries
from shapewright.analysis.training_mistakes.repeated_counts import iter_repeated_counts
from shapewright.analysis.training_mistakes.undivided_losses import (
    find_count,
    find_loss,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.curved_values import CurvedValue, iter_curved_values
from shapewright.program.source_text import SourceText, find_imports, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
    get_dotted_name,
)


def suggest_curve_of_mean(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `math.exp(total / len(loader))` with `total += loss.item()`."""
    curved = next((c for c in iter_curved_values(text) if c.node is node), None)
    place = program.node(finding.related[0].span) if finding.related else None
    if curved is None or place is None or place[0] is not text:
        return
    division = place[1]
    if curved.node in ast.walk(division):
        return  # a logger takes the mean
    if text.around(division, *FUNCTIONS) is not text.around(curved.node, *FUNCTIONS):
        return
    inner = text.written(curved.argument)
    edits = []
    if not curved.name:
        edits = [Edit(text.span(curved.node), inner)]
    else:
        edits = [
            Edit(text.span(used), inner) for used in _iter_added(text, curved.name)
        ]
    added = text.statement_of(curved.node)
    is_number = ".item()" in text.written(added) or "float(" in text.written(added)
    if isinstance(division, ast.AugAssign):
        total = text.written(division.target)
        mean = f"{total} / {text.written(division.value)}"
        new = f"{total} = {_write_curve(text, curved, mean, is_number)}"
    elif isinstance(division, ast.expr):
        new = _write_curve(text, curved, text.written(division), is_number)
    else:
        return
    if edits and text.around(division, ast.JoinedStr) is None:
        edits.append(Edit(text.span(division), new))
        yield Fix("fits", f"`{join_lines(new)}`", tuple(edits))


def _iter_added(text: SourceText, name: str) -> Iterator[ast.expr]:
    """Yield where a name is added to a total or appended to a list."""
    for node in text.nodes:
        values: list[ast.expr] = []
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            values = [node.value]
        elif isinstance(node, ast.Call) and get_called_name(node) == "append":
            values = node.args
        for value in values:
            for part in ast.walk(value):
                is_name = isinstance(part, ast.Name | ast.Attribute)
                if is_name and get_dotted_name(part) == name:
                    yield part  # type: ignore[misc]


def _write_curve(
    text: SourceText, curved: CurvedValue, mean: str, is_number: bool
) -> str:
    """Write the exponential or the root of a mean with what the file imports."""
    written = text.written(curved.node)
    for module in ("math", "np", "numpy"):
        if written.startswith(f"{module}.{curved.kind}("):
            return f"{module}.{curved.kind}({mean})"
    if not is_number:
        return f"torch.{curved.kind}({mean})"
    imported = find_imports(text)
    for module in ("math", "np", "numpy"):
        if module in imported:
            return f"{module}.{curved.kind}({mean})"
    if curved.kind == "sqrt":
        return f"({mean}) ** 0.5"
    return f"torch.tensor({mean}).exp().item()"


def suggest_count_of_batches(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to divide a sum of batch means by the number of batches, or to weigh each
    mean by the samples of its batch.
    """
    divisor = None
    if isinstance(node, ast.BinOp):
        divisor = node.right
    elif isinstance(node, ast.AugAssign):
        divisor = node.value
    if isinstance(divisor, ast.Call) and get_called_name(divisor) == "len":
        inner = divisor.args[0]
        if isinstance(inner, ast.Attribute) and inner.attr == "dataset":
            new = f"len({text.written(inner.value)})"
            if "sampler" in finding.message:
                new = f"len({text.written(inner.value)}.sampler)"
            yield Fix("fits", f"`{new}`", (Edit(text.span(divisor), new),))
    for related in finding.related:
        text_and_node = program.node(related.span)
        if text_and_node is None:
            continue
        where, statement = text_and_node
        loop = where.around(statement, *LOOPS)
        value = getattr(statement, "value", None)
        batch = find_batch(loop)
        count = _find_counted(where, loop, divisor)
        if isinstance(value, ast.expr) and (batch or count):
            new = f" * {count}" if count else f" * {batch}.size(0)"
            shown = join_lines(where.written(statement)) + new
            yield Fix("fits", f"`{shown}`", (Edit(where.span(value).end, new),))


def _find_counted(
    text: SourceText, loop: ast.AST | None, divisor: ast.expr | None
) -> str:
    """Return what a loop adds to the number by which a sum is divided: `labels.size(0)`
    of `count += labels.size(0)`, or an empty string.
    """
    counted = text.written(divisor) if divisor is not None else ""
    added = [
        node.value
        for node in ast.walk(loop if loop is not None else ast.Pass())
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add)
        if text.written(node.target) == counted
    ]
    if len(added) != 1 or not isinstance(added[0], ast.Call | ast.Name | ast.Subscript):
        return ""
    return join_lines(text.written(added[0]))


def find_batch(loop: ast.AST | None) -> str:
    """Return the name of the first tensor that a loop over batches unpacks."""
    target = getattr(loop, "target", None)
    names = [
        name_node.id
        for name_node in ast.walk(target if target is not None else ast.Pass())
        if isinstance(name_node, ast.Name)
    ]
    plain = [
        name for name in names if name not in ("i", "idx", "step", "batch_idx", "_")
    ]
    return plain[0] if plain else ""


def suggest_count_of_samples(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to divide a number of correct answers by the number of samples."""
    divisor = node.right if isinstance(node, ast.BinOp) else None
    if isinstance(node, ast.AugAssign):
        divisor = node.value
    message = finding.message
    loader = _get_loader(divisor) or _find_enumerated(program, finding)
    if "turn of the inner loop" in message:
        yield from _suggest_count_of_turns(program, finding, text, node)
        return
    if loader and divisor is not None and " by the number of batches" in message:
        new = f"len({loader}.dataset)"
        yield Fix("fits", f"`{new}`", (Edit(text.span(divisor), new),))
        return
    for where, statement, place in _iter_sums(program, finding, text, node):
        value = getattr(statement, "value", None)
        loader = _get_loader(place.right if isinstance(place, ast.BinOp) else None)
        if not isinstance(value, ast.expr) or not loader:
            return
        count = _replace_mean(where, value)
        if count is None or not isinstance(place, ast.BinOp):
            return
        edits = (*count, Edit(where.span(place.right), f"len({loader}.dataset)"))
        message = "the correct answers, added up, divided by the number of samples"
        yield Fix("fits", message, edits)


def _suggest_count_of_turns(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to divide by the number of turns of an inner loop as well."""
    place = program.node(finding.related[0].span) if finding.related else None
    loop = place[0].around(place[1], ast.For) if place is not None else None
    divisor = node.right if isinstance(node, ast.BinOp) else None
    if isinstance(node, ast.AugAssign):
        divisor = node.value
    if place is None or loop is None or divisor is None or place[0] is not text:
        return
    owner = finding.message.partition("`")[2].partition("`")[0]
    count = ""
    if get_called_name(loop.iter) == "range" and isinstance(loop.iter, ast.Call):
        turns = loop.iter.args[0] if len(loop.iter.args) == 1 else None
        is_known = isinstance(turns, ast.Constant | ast.Name | ast.Attribute)
        count = text.written(turns) if turns is not None and is_known else ""
    elif isinstance(node, ast.BinOp) and is_sum_of_entries(node.left, owner):
        count = f"len({owner})"
    if count:
        new = f"({text.written(divisor)} * {count})"
        yield Fix("fits", f"`{new}`", (Edit(text.span(divisor), new),))


def _find_enumerated(program: Program, finding: Finding) -> str:
    """Return the name of the loader that the loop around an addition enumerates."""
    for related in finding.related:
        text_and_node = program.node(related.span)
        if text_and_node is None:
            continue
        loop = text_and_node[0].around(text_and_node[1], ast.For)
        iterated = loop.iter if isinstance(loop, ast.For) else None
        if isinstance(iterated, ast.Call) and get_called_name(iterated) == "enumerate":
            loader = iterated.args[0] if iterated.args else None
            if isinstance(loader, ast.Name | ast.Attribute):
                return ast.unparse(loader)
    return ""


def _get_loader(divisor: ast.AST | None) -> str:
    """Return the name of the loader whose length a number is."""
    for node in ast.walk(divisor) if divisor is not None else ():
        if isinstance(node, ast.Call) and get_called_name(node) == "len" and node.args:
            return ast.unparse(node.args[0])
    return ""


def _iter_sums(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[tuple[SourceText, ast.stmt, ast.AST]]:
    """Yield the statement that adds up and the division below it, of a finding at one
    of them.
    """
    for related in finding.related:
        text_and_node = program.node(related.span)
        if text_and_node is None or text_and_node[0].file != text.file:
            continue
        for addition, division in ((node, text_and_node[1]), (text_and_node[1], node)):
            statement = (
                text.statement_of(addition)
                if isinstance(addition, ast.expr)
                else addition
            )
            adds = isinstance(statement, ast.AugAssign | ast.Assign)
            inside = text.around(statement, *LOOPS) is not None
            if adds and inside and isinstance(division, ast.BinOp):
                assert isinstance(statement, ast.stmt)
                yield text, statement, division
                return


def _replace_mean(text: SourceText, value: ast.expr) -> tuple[Edit, ...] | None:
    """Return the edits with which a share of correct answers becomes their number."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
        return (Edit(text.span(value), text.written(value.left)),)
    for call in ast.walk(value):
        func = getattr(call, "func", None)
        if isinstance(func, ast.Attribute) and func.attr == "mean":
            written = text.written(call)  # type: ignore[arg-type]
            head = written[: written.rindex("mean")]
            tail = written[written.rindex("mean") + 4 :]
            return (Edit(text.span(call), f"{head}sum{tail}"),)  # type: ignore[arg-type]
    return None


def suggest_whole_batch(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `(guesses == labels).float().mean().item()` for a comparison of the first
    samples, and `drop_last=True` where a last batch is one sample.
    """
    if "samples alone" not in finding.message:
        yield from suggest_last_batch(program, finding, text, node)
        return
    for place in iter_first_samples(program):
        if place.value is node and isinstance(node, ast.expr):
            left, right = (text.written(p.value) for p in (place.first, place.second))
            new = f"({left} == {right}).float().mean().item()"
            yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def suggest_divided_loss(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the loss divided by the number of batches before a step."""
    loss = find_loss(node) if isinstance(node, ast.Call) else None
    test = program.node(finding.related[0].span) if finding.related else None
    if loss is None or test is None or not isinstance(test[1], ast.expr):
        return
    count = find_count(test[1])
    if count is not None:
        new = f"{loss.id} / {test[0].written(count)}"
        is_alone = isinstance(text.parent(loss), ast.Attribute)
        new = f"({new})" if is_alone else new
        yield Fix("fits", f"`{new}`", (Edit(text.span(loss), new),))


def suggest_own_sum(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the sum of the loop above for the loss of its last batch."""
    place = program.node(finding.related[0].span) if finding.related else None
    addition = place[1] if place is not None and place[0] is text else None
    if not isinstance(addition, ast.AugAssign) or not isinstance(node, ast.BinOp):
        return
    total, added = text.written(addition.target), collect_names(addition.value)
    reads = [
        part
        for part in ast.walk(node.left)
        if isinstance(part, ast.Name) and part.id in added
    ]
    if len(reads) != 1:
        return
    loss = next(
        part
        for part in ast.walk(node.left)
        if isinstance(part, ast.expr) and strip_conversions(part) is reads[0]
    )
    edit = Edit(text.span(loss), total)
    yield Fix("fits", f"`{total}` for `{text.written(loss)}`", (edit,))


def suggest_count_behind_loop(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to count behind the loop over several sums, not for each of them."""
    for repeated in iter_repeated_counts(text):
        if text.span(repeated.count) == finding.span:
            written = text.written(repeated.count)
            edits = (
                cut_lines(text, repeated.count),
                write_after(text, repeated.loop, written),
            )
            yield Fix("fits", f"`{join_lines(written)}` behind the loop", edits)
