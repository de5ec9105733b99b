"""Edits for the terms of a loss and for masks: a sign, a root, `detach`, a fill."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.statements import cut_lines, write_before
from shapewright.analysis.hazards.dropped_copies import find_copied_value
from shapewright.analysis.hazards.dropped_results import (
    find_overwriting,
    get_changed_operand,
)
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_dotted_name,
    iter_assignments,
)


def suggest_fill(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `float("-inf")` as the number that hides scores."""
    if "has divided" in finding.message:
        yield from _suggest_earlier_mask(finding, text, node)
        return
    if "nothing reads what this hides" in finding.message:
        softmax = text.node(finding.related[0].span)
        if isinstance(softmax, ast.expr) and isinstance(node, ast.expr):
            later, reader = text.statement_of(node), text.statement_of(softmax)
            written = text.written(later)
            edits = write_before(text, reader, written), cut_lines(text, later)
            yield Fix("fits", f"`{join_lines(written)}` before the softmax", edits)
        return
    if not isinstance(node, ast.Call):
        return
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    for value in values:
        number = value.operand if isinstance(value, ast.UnaryOp) else value
        constant = number.value if isinstance(number, ast.Constant) else None
        if isinstance(constant, int | float) and not isinstance(constant, bool):
            new = 'float("-inf")'
            yield Fix("fits", f"`{new}`", (Edit(text.span(value), new),))


def _suggest_earlier_mask(
    finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to hide the scores before their softmax, by the mask that came later."""
    softmax = text.node(finding.related[0].span)
    if not isinstance(softmax, ast.Call) or not isinstance(softmax.func, ast.Attribute):
        return
    method = get_called_name(softmax) == "softmax" and get_dotted_name(
        softmax.func.value
    ) not in ("torch", "F", "nn.functional", "torch.nn.functional")
    if not method and not softmax.args:
        return
    scores = softmax.func.value if method else softmax.args[0]
    masks = []
    if isinstance(node, ast.Call) and get_called_name(node).startswith("masked_fill"):
        masks = [text.written(value) for value in node.args[:1]]
    elif isinstance(node, ast.BinOp):
        masks = [f"{text.written(side)} == 0" for side in (node.right, node.left)]
    for mask in masks:
        filled = f'.masked_fill({mask}, float("-inf"))'
        yield append_method(text, scores, filled)


def suggest_unreduced_loss(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `reduction="none"` for the loss that a focal factor is made of."""
    span = finding.related[0].span
    op = program.op_at(span)
    layer = program.layer(op) if op is not None else None
    built = program.built.get(layer.path) if layer is not None else None
    place = program.call_at(built.span if built is not None else span)
    if place is None:
        return
    where, call = place
    values = [word.value for word in call.keywords if word.arg == "reduction"]
    new = 'reduction="none"'
    for value in values[:1]:
        yield Fix("fits", f"`{new}`", (Edit(where.span(value), '"none"'),))
    if not values:
        yield with_keyword(where, call, new)


def suggest_sum(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `sum` for the mean of a divergence whose reconstruction is summed, and
    `reduction="sum"` for a reconstruction beside a divergence that is.
    """
    if "the reconstruction is a mean over" in finding.message:
        if isinstance(node, ast.Call) and get_called_name(node) in LOSSES:
            yield from _suggest_sum_of_samples(text, node)
        return
    if "the reconstruction is a mean" in finding.message:
        for place in finding.related:
            other = program.call_at(place.span)
            if other is not None and get_called_name(other[1]) in LOSSES:
                yield from _suggest_summed_loss(*other)
                return
    if not isinstance(node, ast.Call) or get_called_name(node) != "mean":
        return
    written, name = text.written(node), text.written(node.func)
    if name.endswith("mean"):
        new = f"{name[: -len('mean')]}sum{written[len(name) :]}"
        yield Fix("fits", "`sum` for `mean`", (Edit(text.span(node), new),))


def _suggest_sum_of_samples(text: SourceText, call: ast.Call) -> Iterator[Fix]:
    """Suggest `F.mse_loss(y, x, reduction="sum") / x.size(0)`."""
    target = call.args[1] if len(call.args) > 1 else None
    if not isinstance(target, ast.Name | ast.Attribute):
        return
    around = text.parent(call)
    is_factor = isinstance(around, ast.BinOp)
    if isinstance(around, ast.BinOp):
        is_factor = not isinstance(around.op, ast.Add | ast.Sub)
    if is_factor or isinstance(around, ast.Attribute):
        return
    samples = f" / {text.written(target)}.size(0)"
    for fix in _suggest_summed_loss(text, call):
        message = f"{fix.message} and `{samples.strip()}`"
        edits = (*fix.edits, Edit(text.span(call).end, samples))
        yield Fix("fits", message, edits)


def _suggest_summed_loss(text: SourceText, call: ast.Call) -> Iterator[Fix]:
    """Suggest `reduction="sum"` for a loss of a function that is a mean."""
    words = {word.arg: word.value for word in call.keywords}
    if "reduction" not in words:
        yield with_keyword(text, call, 'reduction="sum"')
    elif text.written(words["reduction"]).strip("'\"") == "mean":
        edit = Edit(text.span(words["reduction"]), '"sum"')
        yield Fix("fits", '`reduction="sum"`', (edit,))


LOSSES = operators_with("is_loss")


def suggest_signed_operands(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `a.float() - b.float()` for a difference of bytes."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return
    edits: list[Edit] = []
    for side in (node.left, node.right):
        edits += append_method(text, side, ".float()").edits
    yield Fix("fits", "`.float()` for both", tuple(edits))


def suggest_truths(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `~mask.bool()` for `~mask` of integers."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        yield append_method(text, node.operand, ".bool()")


def suggest_detached_operand(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `.detach()` for the operand that a finding names."""
    quoted = finding.message.partition("`")[2].partition("`")[0]
    sides: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        sides = [node.left, node.right]
    elif isinstance(node, ast.Call):
        sides = [*node.args, *(keyword.value for keyword in node.keywords)]
    for side in sides:
        if text.written(side).strip("()") == quoted.strip("()"):
            yield append_method(text, side, ".detach()")


def suggest_tracked_draw(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `q.rsample()` for `q.sample()`, and noise that is scaled and added for
    `torch.normal(mu, std)`.
    """
    if "draws without a graph" not in finding.message or not isinstance(node, ast.Call):
        return
    name, written = text.written(node.func), text.written(node)
    if name.endswith(".sample"):
        new = f"{name[: -len('sample')]}rsample{written[len(name) :]}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
    elif len(node.args) == 2 and not node.keywords:
        mean, scale = (text.written(part) for part in node.args)
        inner = scale if isinstance(node.args[1], ast.Name | ast.Call) else f"({scale})"
        new = f"{mean} + {inner} * torch.randn_like({mean})"
        is_part = isinstance(text.parent(node), ast.BinOp | ast.Attribute)
        edit = Edit(text.span(node), f"({new})" if is_part else new)
        yield Fix("fits", f"`{join_lines(new)}`", (edit,))


def suggest_tracked_samples(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `fake` for `fake.detach()` in the loss that is to train a generator:
    where a discriminator reads it, if `detached = fake.detach()` has its own name.
    """
    if "without a graph, for the label" not in finding.message:
        return
    source = node.value if isinstance(node, ast.Attribute) else None
    source = get_receiver(node) if isinstance(node, ast.Call) else source
    if source is None or not isinstance(node, ast.expr):
        return
    new = text.written(source)
    assigned = text.parent(node)
    if not isinstance(assigned, ast.Assign):
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
        return
    name = text.written(assigned.targets[0])
    last = finding.related[0].span.line if finding.related else 0
    reads = [
        part
        for part in text.nodes
        if isinstance(part, ast.Name | ast.Attribute)
        and isinstance(part.ctx, ast.Load)
        and text.written(part) == name
        and assigned.lineno < part.lineno <= last
    ]
    if reads and isinstance(source, ast.Name | ast.Attribute):
        read = max(reads, key=lambda part: (part.lineno, part.col_offset))
        message = f"`{join_lines(new)}` for `{name}` in this loss"
        yield Fix("fits", message, (Edit(text.span(read), new),))


def suggest_two_letters(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest an equation that contracts a matrix, of which only the diagonal was
    read: `dk,bck->bcd` for `dd,bcd->bcd`.
    """
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return
    left, arrow, out = first.value.partition("->")
    terms = [term.strip() for term in left.split(",")]
    matrices = [term for term in terms if len(term) == 2 and term[0] == term[1]]
    if len(terms) != 2 or len(matrices) != 1 or not arrow:
        return
    matrix = matrices[0]
    other = terms[1 - terms.index(matrix)]
    twice = matrix[0]
    if other.count(twice) != 1 or out.count(twice) != 1:
        return
    new = next(c for c in "klmnpqrs" if c not in first.value)
    changed = [
        f"{twice}{new}" if term == matrix else term.replace(twice, new)
        for term in terms
    ]
    quote = text.written(first)[0]
    equation = f"{quote}{','.join(changed)}->{out.strip()}{quote}"
    yield Fix("fits", f"`{equation}`", (Edit(text.span(first), equation),))


def suggest_subtracted_entropy(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `-` in place of the `+` that adds an entropy to a loss."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return
    new = f"{text.written(node.left)} - {text.written(node.right)}"
    shown = join_lines(new)
    yield Fix("fits", f"`{shown}`", (Edit(text.span(node), new),))


def suggest_pessimistic_bound(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `torch.max` for `torch.min` of negated surrogates, or the reverse, and a
    minus where none is.
    """
    function = node.func if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or not isinstance(function, ast.Attribute):
        return
    written = text.written(node)
    if "-torch.min" in finding.message:
        new = f"-{written}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
    elif function.attr.startswith(("min", "max")):
        owner, name = text.written(function.value), function.attr
        other = ("max" if name.startswith("min") else "min") + name[3:]
        old = f"{owner}.{name}"
        edit = Edit(text.span(function), f"{owner}.{other}")
        shown = f"{owner}.{other}{written.removeprefix(old)}"
        yield Fix("fits", f"`{join_lines(shown)}`", (edit,))


def suggest_root_of_variance(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `exp(0.5 * logvar)` in place of `exp(logvar)`, or of `logvar`."""
    if not isinstance(node, ast.Call) or get_called_name(node) != "exp":
        name = finding.message.partition("scaled by `")[2].partition("`")[0]
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) else []
        for side in sides if "variances sum" in finding.message else ():
            if text.line_of(side).strip("()") == name.strip("()"):
                yield append_method(text, side, ".sqrt()")
                return
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id == name:
                new = f"torch.exp(0.5 * {name})"
                yield Fix("fits", f"`{new}`", (Edit(text.span(part), new),))
        return
    if node.args:
        value: ast.expr = node.args[0]
    elif isinstance(node.func, ast.Attribute):
        value = node.func.value
    else:
        return
    written = text.written(value)
    simple = isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
    half = f"0.5 * {written}" if simple else f"0.5 * ({written})"
    new = half if node.args else f"({half})"
    yield Fix("fits", f"`{join_lines(half)}`", (Edit(text.span(value), new),))


def suggest_added_noise(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the name of the noise that the model was given."""
    if not finding.related:
        return
    drawn = text.node(finding.related[-1].span)
    quoted = finding.message.partition("`")[2].partition("`")[0]
    operands: list[ast.expr] = [*node.args] if isinstance(node, ast.Call) else []
    if isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    for name, value in iter_assignments(text.tree):
        for operand in operands if value is drawn else ():
            if text.written(operand) == quoted and isinstance(name, ast.Name):
                edit = Edit(text.span(operand), name.id)
                yield Fix("fits", f"`{name.id}`", (edit,))


def _suggest_kept_result(
    text: SourceText, first: ast.Assign, second: ast.Assign
) -> Iterator[Fix]:
    """Suggest to leave `mask = None` out, and `h = g(h)` for `h = g(x)` where
    `h = f(x)` stands above it.
    """
    name = text.written(first.targets[0])
    value, before = second.value, first.value
    if isinstance(value, ast.Constant) and value.value is None:
        message = f"without `{text.line_of(second)}`"
        yield Fix("fits", message, (cut_lines(text, second),))
    if not isinstance(value, ast.Call) or not isinstance(before, ast.Call):
        return
    for argument in value.args[:1]:
        same = before.args and ast.unparse(argument) == ast.unparse(before.args[0])
        if same and isinstance(argument, ast.Name):
            new = f"{name} = {text.written(value.func)}({name})"
            edit = Edit(text.span(argument), name)
            yield Fix("fits", f"`{join_lines(new)}`", (edit,))


def _suggest_other_result(
    text: SourceText, node: ast.AST, message: str
) -> Iterator[Fix]:
    """Suggest `c[:, order]` for the `h[:, order]` that stands in its place."""
    names = re.search(r"reads the `(\w+)` that came with `(\w+)`", message)
    if names is None or not isinstance(node, ast.expr):
        return
    second, first = names.groups()
    places = [
        part
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and part.id == first
    ]
    edits = tuple(Edit(text.span(part), second) for part in places)
    shown = re.sub(rf"(?<![\w.]){first}\b", second, text.written(node))
    yield Fix("fits", f"`{join_lines(shown)}`", edits)


def suggest_assigned_result(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `x = x.float()` in place of `x.float()`; without the statement that gives
    the name to None, or with the name in place of the value before it.
    """
    if "is a copy of elements" in finding.message:
        return
    if "a forward hook changes" in finding.message and isinstance(node, ast.Assign):
        new = f"return {text.written(node.value)}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
        return
    if "keeps what goes past the block" in finding.message:
        yield from _suggest_added_shortcut(text, node, finding.message.split("`")[1])
        return
    if "is computed twice" in finding.message:
        yield from _suggest_other_result(text, node, finding.message)
        return
    pair = find_overwriting(text, node)
    if pair is not None:
        yield from _suggest_kept_result(text, *pair)
        return
    if not isinstance(node, ast.Call):
        return
    op = program.op_at(finding.span, finding.module)
    layer = program.layer(op) if op is not None else None
    value = get_changed_operand(node, layer is not None)
    if op is None and "new value" in finding.message:
        value = find_copied_value(text, node)
    if value is None:
        return
    loop = text.around(node, ast.For)
    names = collect_names(loop.target, ast.Store) if loop is not None else set()
    if isinstance(node.func, ast.Attribute) and text.written(value) in names:
        end = text.span(node.func).end  # another name would not change the tensor
        method, whole = text.written(node.func), text.written(node)
        shown = f"{method}_{whole.removeprefix(method)}"
        yield Fix("fits", f"`{join_lines(shown)}`", (Edit(end, "_"),))
        return
    new = f"{text.written(value)} = {text.written(node)}"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def _suggest_added_shortcut(
    text: SourceText, node: ast.AST, name: str
) -> Iterator[Fix]:
    """Suggest `x + residual` for `x + x`, or in what a block returns."""
    if isinstance(node, ast.BinOp):
        new = f"{text.written(node.left)} + {name}"
        yield Fix("fits", f"`{new}`", (Edit(text.span(node.right), name),))
        return
    if isinstance(node, ast.AugAssign):
        new = f"{text.written(node.target)} += {name}"
        yield Fix("fits", f"`{new}`", (Edit(text.span(node.value), name),))
        return
    function = text.around(node, ast.FunctionDef)
    for statement in function.body[-1:] if function is not None else ():
        value = statement.value if isinstance(statement, ast.Return) else None
        if value is not None:
            new = f"{text.written(value)} + {name}"
            yield Fix("fits", f"`return {new}`", (Edit(text.span(value), new),))
