"""Edits of formulas: off by one sample, in the wrong order or without effect,
with arguments at the place of others.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.statements import cut_lines
from shapewright.analysis.hazards.custom_gradients import (
    get_incoming_gradient,
    list_returned,
)
from shapewright.analysis.hazards.exchanged_roles import get_estimator
from shapewright.analysis.hazards.forgetful_means import get_forgetful_terms
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.training_mistakes.argument_names import (
    get_complement,
    list_misplaced,
)
from shapewright.analysis.training_mistakes.exchanged_labels import get_exchanged
from shapewright.analysis.training_mistakes.exchanged_names import iter_exchanged
from shapewright.analysis.training_mistakes.orders_as_ranks import iter_taken_orders
from shapewright.analysis.training_mistakes.scaled_deviations import find_scale
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    list_reads,
)


def suggest_exclusive_product(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest a cumulative product, or sum, without the sample itself."""
    op = program.op_at(finding.span, finding.module)
    if not isinstance(node, ast.Call) or op is None or not op.inputs:
        return
    words = {word.arg: word.value for word in node.keywords}
    operands = _list_operands(node)
    factors = operands[0] if operands else words.get("input")
    dim = operands[1] if len(operands) > 1 else words.get("dim")
    if factors is None or dim is None:
        return
    written = text.written(factors)
    if get_called_name(node) == "cumsum":
        own = written if _is_simple(factors) else f"({written})"
        new = f"({text.written(node)} - {own})"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
        return
    number = text.written(dim)
    names = sorted(collect_names(factors) - {"torch"})
    is_last = number in ("-1", str(op.inputs[0].ndim - 1))
    place = "...," if is_last else ":, " * int(number) if number.isdigit() else ""
    if len(names) != 1 or not place:
        return
    first, rest = (f"{place.rstrip()} {end}" for end in (":1", ":-1"))
    ones = f"torch.ones_like({names[0]}[{first}])"
    joined = f"torch.cat([{ones}, {written}], dim={number})"
    new = f"torch.cumprod({joined}, dim={number})[{rest}]"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def _list_operands(call: ast.Call) -> list[ast.expr]:
    """Return the operands of a function of torch or of a method, in their order."""
    owner = get_receiver(call)
    is_function = owner is None or (isinstance(owner, ast.Name) and owner.id == "torch")
    return list(call.args) if is_function or owner is None else [owner, *call.args]


def _is_simple(node: ast.expr) -> bool:
    """Return whether an expression needs no brackets behind a minus sign."""
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)


def suggest_share_of_difference(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `mean + delta * count / total` for a running mean."""
    terms = get_forgetful_terms(text, node)
    if terms is not None and isinstance(node, ast.expr):
        mean, (delta, _), share = terms
        new = f"{text.written(mean)} + {text.written(delta)} * {text.written(share)}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_assigned_weight(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to assign what is written to a weight, as a parametrization allows."""
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or "parametriz" not in text.text:
        return  # the old functions register no setter
    owner = get_receiver(call)
    weight = call.args[0] if call.args else None
    if isinstance(owner, ast.Attribute) and owner.attr in ("data", "weight"):
        weight = owner
    while isinstance(weight, ast.Attribute) and weight.attr == "data":
        weight = weight.value
    if isinstance(weight, ast.Attribute) and weight.attr == "weight":
        new = f"{text.written(weight)} = {text.written(call)}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))


def suggest_descending(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `descending=True` for the order of times."""
    if not isinstance(node, ast.Call) or get_called_name(node) not in SORTS:
        return
    words = [word for word in node.keywords if word.arg == "descending"]
    for word in words:
        edit = Edit(text.span(word.value), "True")
        yield Fix("fits", "`descending=True`", (edit,))
    if not words and len(_list_operands(node)) < 3:
        yield with_keyword(text, node, "descending=True")


SORTS = ("sort", "argsort")


def suggest_exchanged_predictions(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to exchange the conditional and the unconditional prediction."""
    words = finding.message.split("`")
    if len(words) < 4 or not isinstance(node, ast.expr):
        return
    other = {words[1]: words[3], words[3]: words[1]}
    places = [
        part
        for part in ast.walk(node)
        if isinstance(part, ast.expr) and text.line_of(part) in other
    ]
    edits = [Edit(text.span(p), other[text.line_of(p)]) for p in places]
    new, start = text.written(node), text.span(node)
    if start.line != start.end_line:
        return
    for edit in sorted(edits, key=lambda e: -e.span.column):
        first, last = (
            c - start.column for c in (edit.span.column, edit.span.end_column)
        )
        new = new[:first] + edit.text + new[last:]
    yield Fix("fits", f"`{new}`", tuple(edits))


def suggest_exchanged_quotient(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest a quotient upside down, with the negatives in place of all samples."""
    if not isinstance(node, ast.BinOp):
        return
    top, bottom = text.written(node.left), text.written(node.right)
    above = f"({bottom})" if isinstance(node.right, ast.BinOp) else bottom
    if "all samples" in finding.message:
        above = f"({bottom} - {top})"
    below = f"({top})" if isinstance(node.left, ast.BinOp) else top
    new = f"{above} / {below}"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_named_argument(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `weight_decay=decay` for an argument at the place of another one, and
    `1 - keep` for a share that is kept where that to drop is taken, and the arguments
    of a loss in its order, and each of two results under its own name.
    """
    if "is stored as" in finding.message:
        yield from _exchange_results(finding, text)
        return
    pair = get_exchanged(text, node)
    if pair is not None and isinstance(node, ast.Call):
        yield _exchange(text, node, *(argument for argument, _ in pair))
        return
    call = text.around(node, ast.Call)
    if call is None or not isinstance(node, ast.expr):
        return
    if "the two arguments are exchanged" in finding.message:
        second = text.node(finding.related[0].span)
        if isinstance(second, ast.expr):
            yield _exchange(text, call, node, second)
        return
    rows = list_misplaced(text, call)
    if not rows:
        other = get_complement(node)
        new = text.written(other) if other is not None else f"1 - {text.written(node)}"
        yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
        return
    names = [meant for _, meant, _ in rows]
    taken = {word.arg for word in call.keywords}
    if "" in names or len({*names}) < len(names) or taken & {*names}:
        return
    words = [f"{meant}={text.written(value)}" for value, meant, _ in rows]
    edits = tuple(
        Edit(text.span(value), word)
        for (value, _, _), word in zip(rows, words, strict=True)
    )
    yield Fix("fits", f"`{', '.join(words)}`", edits)


def _exchange_results(finding: Finding, text: SourceText) -> Iterator[Fix]:
    """Yield the edit that exchanges two results that are stored under each other's
    names.
    """
    for (_, first), (_, second) in iter_exchanged(text):
        if text.span(first) != finding.span:
            continue
        written = text.written(first), text.written(second)
        edits = (
            Edit(text.span(first), written[1]),
            Edit(text.span(second), written[0]),
        )
        shown = f"`{join_lines(written[1])}` and `{join_lines(written[0])}` exchanged"
        yield Fix("fits", shown, edits)


def _exchange(
    text: SourceText, call: ast.Call, first: ast.expr, second: ast.expr
) -> Fix:
    """Return the edit that exchanges two arguments of a call."""
    others = {first: second, second: first}
    shown = ", ".join(text.written(others.get(part, part)) for part in call.args)
    edits = (
        Edit(text.span(first), text.written(second)),
        Edit(text.span(second), text.written(first)),
    )
    return Fix("fits", f"`{shown}`", edits)


def suggest_straight_through(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `z + (q - z).detach()` for `q + (z - q).detach()`."""
    pair = get_estimator(text, node)
    if pair is None or not isinstance(node, ast.BinOp):
        return
    quantized, plain = (text.written(part) for part in pair)
    new = f"{plain} + ({quantized} - {plain}).detach()"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_chain_rule(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `grad_output * s` for each `s` that a `backward` returns."""
    backward = text.around(node, ast.FunctionDef)
    if backward is None:
        return
    name = get_incoming_gradient(backward)
    edits: list[Edit] = []
    for value in list_returned(backward):
        written = text.written(value)
        is_factor = isinstance(value, ast.Name | ast.Call | ast.Subscript)
        is_product = isinstance(value, ast.BinOp) and isinstance(
            value.op, ast.Mult | ast.Div
        )
        new = written if is_factor or is_product else f"({written})"
        edits.append(Edit(text.span(value), f"{name} * {new}"))
    if name and edits:
        shown = " and ".join(f"`{join_lines(edit.text)}`" for edit in edits)
        yield Fix("fits", shown, tuple(edits))


def suggest_own_derivatives(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the sum of the derivative of each column for `g[:, 0] + g[:, 1]`."""
    statement = text.statement_of(node) if isinstance(node, ast.expr) else None
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == 1:
        target = target.elts[0]
    if not isinstance(target, ast.Name) or not isinstance(node, ast.Call):
        return
    scope = text.around(node, ast.FunctionDef) or text.tree
    reads = list_reads(scope, target.id)
    sums = [text.around(read, ast.BinOp) for read in reads]
    total = max((s for s in sums if s is not None), key=_count_terms, default=None)
    terms = _list_terms(total) if total is not None else []
    columns = [_get_column(term, target.id) for term in terms]
    is_whole = len(reads) == len(columns) > 1
    if total is None or sorted(columns) != [*range(len(columns))] or not is_whole:
        return
    field, points = node.args[0], node.args[1]
    if isinstance(field, ast.Call) and get_called_name(field) == "sum":
        field = get_receiver(field) or field
    grad, name = text.written(node.func), text.written(field)
    new = (
        f"sum({grad}({name}[:, i].sum(), {text.written(points)}, create_graph=True)"
        f"[0][:, i] for i in range({len(columns)}))"
    )
    if statement is not None:
        edits = (cut_lines(text, statement), Edit(text.span(total), new))
        yield Fix("fits", f"`{join_lines(new)}`", edits)


def _list_terms(node: ast.expr) -> list[ast.expr]:
    """Return what a chain of `+` adds up."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_list_terms(node.left), *_list_terms(node.right)]
    return [node]


def _count_terms(node: ast.expr) -> int:
    return len(_list_terms(node))


def _get_column(node: ast.expr, name: str) -> int:
    """Return the column that `g[:, 1]` takes of a name, or -1."""
    items = node.slice if isinstance(node, ast.Subscript) else None
    if not isinstance(node, ast.Subscript) or not isinstance(items, ast.Tuple):
        return -1
    is_own = isinstance(node.value, ast.Name) and node.value.id == name
    last = items.elts[-1]
    number = last.value if isinstance(last, ast.Constant) else None
    return number if is_own and isinstance(number, int) else -1


EXTREMES = {"min": "max", "max": "min", "amin": "amax", "amax": "amin"}


def suggest_hardest(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `max` for the positives and `min` for the negatives, with infinities of
    the other sign.
    """
    edits: list[Edit] = []
    for span in (finding.span, finding.related[0].span if finding.related else None):
        place = program.call_at(span)
        owner = get_receiver(place[1]) if place is not None else None
        name = get_called_name(place[1]) if place is not None else ""
        if place is None or owner is None or name not in EXTREMES:
            return
        call, other = place[1], EXTREMES[name]
        new = text.written(call)
        is_function = isinstance(owner, ast.Name) and owner.id == "torch"
        head = "torch." if is_function else text.written(owner) + "."
        if not new.startswith(f"{head}{name}("):
            return
        inside = new[len(head) + len(name) :]
        head, inside = (_negate_infinities(part) for part in (head, inside))
        edits.append(Edit(text.span(call), f"{head}{other}{inside}"))
        if not any(word in new for word in INFINITIES) and "masked_fill" in new:
            return
    if len(edits) == 2:
        first, second = (join_lines(edit.text) for edit in edits)
        yield Fix("fits", f"`{first}` and `{second}`", tuple(edits))


INFINITIES = ("inf", "1e9", "1e6", "1e12")


def _negate_infinities(written: str) -> str:
    """Return a text with `float("inf")` for `float("-inf")` and the reverse."""
    pattern = (
        r"""(-?)(float\(["'])(-?)(inf["']\))|(-?)((?:torch|math|np)\.inf|\b1e\d+)"""
    )

    def negate(match: re.Match[str]) -> str:
        outer, call, inner, end, sign, number = match.groups()
        if call is None:
            return number if sign else f"-{number}"
        return f"{call}{'' if outer or inner else '-'}{end}"

    return re.sub(pattern, negate, written)


def suggest_ranks(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the `argsort` of an order that is taken for ranks."""
    for taken in iter_taken_orders(text):
        if node not in (taken.sort, taken.lookup):
            continue
        sort, at = taken.sort, taken.lookup or taken.sort
        along = [word for word in sort.keywords if word.arg in ("dim", "axis")]
        words = ", ".join(f"{w.arg}={text.written(w.value)}" for w in along)
        owner = get_receiver(sort)
        is_method = owner is not None and text.written(owner) not in MODULES
        place = sort.args[0 if is_method else 1 :][:1]
        if place and not along:
            words = text.written(place[0])
        if is_method or text.written(owner or sort.func) == "torch":
            yield append_method(text, at, f".argsort({words})")
        else:
            new = f"np.argsort({text.written(at)}{', ' if words else ''}{words})"
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(at), new),))


MODULES = ("torch", "np", "numpy")


def suggest_scaled_deviation(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `std * scaler.scale_` for `scaler.inverse_transform(std)`."""
    owner = get_receiver(node) if isinstance(node, ast.Call) else None
    scale = find_scale(text, owner) if owner is not None else None
    if isinstance(node, ast.Call) and scale is not None and scale.factor:
        value = text.written(node.args[0])
        value = f"({value})" if isinstance(node.args[0], ast.BinOp) else value
        new = value + scale.factor
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_turned_lengths(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the transpose of the lengths of the second side of a similarity, or a
    column for those of the first.
    """
    if "by the lengths of" not in finding.message or not finding.related:
        return
    op = program.op_at(finding.related[0].span)
    places = find_tensor_expressions(program, op) if op is not None else []
    for place, fact in reversed(
        list(zip(places, op.inputs if op else (), strict=True))
    ):
        if place is None or not finding.related[0].message.startswith(f"`{place[1]}`"):
            continue
        method = ".unsqueeze(1)" if fact.ndim == 1 else ".transpose(-2, -1)"
        where = program.node(finding.related[0].span)
        if where is not None:
            yield append_method(where[0], place[0], method)
            return
