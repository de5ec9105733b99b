"""Edits for values: what becomes NaN, a sign, a scale, labels to leave out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.operands import TIGHT, append_method
from shapewright.analysis.fixes.statements import cut_lines, write_after, write_before
from shapewright.analysis.hazards.distribution_inputs import get_scale
from shapewright.analysis.hazards.log_limits import LOGARITHMS
from shapewright.analysis.hazards.pixel_statistics import (
    KNOWN_DEVIATIONS,
    KNOWN_MEANS,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.training_mistakes.changed_draws import DRAWS
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    find_imports,
    get_receiver,
    join_lines,
)
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    list_arguments,
    list_parameters,
)

SMALLEST = {"sqrt": "1e-12"}
"""What a call is given at least: the root of 1e-12 is 1e-6."""
SMALL = "1e-10"
IGNORED = re.compile(r"ignores label (-?\d+)")
ARRAYS = frozenset({"to_numpy", "values"})
"""How a table of pandas becomes an array."""


def suggest_limited_value(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `x.clamp(min=1e-10)` for the operand of a logarithm or a root."""
    power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
    if isinstance(node, ast.BinOp) and power:
        value, name = node.left, "sqrt"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        op = program.op_at(finding.span, finding.module)
        is_method = op is not None and op.name.startswith("Tensor.")
        if not is_method and not node.args:
            return
        value = node.func.value if is_method else node.args[0]
        name = "sqrt" if node.func.attr == "pow" else node.func.attr
    else:
        return
    yield append_method(text, value, f".clamp(min={SMALLEST.get(name, SMALL)})")


def suggest_limited_count(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `count.clamp(min=1)` for the divisor of a mean."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield append_method(text, node.right, ".clamp(min=1)")


def suggest_limit_inside(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `torch.log(x.clamp(min=1e-5))` for `torch.log(x).clamp(min=1e-5)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    value = node.func.value
    outer = node.args if isinstance(value, ast.Call) else node.args[1:]
    source = value if isinstance(value, ast.Call) else next(iter(node.args), None)
    if not isinstance(source, ast.Call) or not isinstance(source.func, ast.Attribute):
        return
    if get_called_name(source) not in LOGARITHMS or source.keywords:
        return
    operand = source.args[0] if source.args else source.func.value
    limits = [text.written(part) for part in outer]
    limits += [f"{word.arg}={text.written(word.value)}" for word in node.keywords]
    inner = text.written(operand)
    if not isinstance(operand, TIGHT):
        inner = f"({inner})"
    inner = f"{inner}.{node.func.attr}({', '.join(limits)})"
    name = text.written(source.func)
    new = f"{name}({inner})" if source.args else f"{inner}.{source.func.attr}()"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_filled_cells(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `table.fillna(table.mean())` where a table becomes a tensor, and
    `torch.nan_to_num(y)` for targets that a mask leaves out.
    """
    op = program.op_at(finding.span, finding.module)
    if op is not None and "0 times NaN" in finding.message:
        name = finding.message.split("`")[1]
        for place in find_tensor_expressions(program, op):
            if place is not None and text.line_of(place[0]) == name:
                new = f"torch.nan_to_num({text.written(place[0])})"
                edit = Edit(text.span(place[0]), new)
                yield Fix("fits", f"`{join_lines(new)}`", (edit,))
        return
    if op is None or not op.outputs or op.outputs[0].ndim != 2:
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in ARRAYS:
            table = text.written(part.value)
            new = f"{table}.fillna({table}.mean())"
            edit = Edit(text.span(part.value), new)
            yield Fix("fits", f"`{join_lines(new)}`", (edit,))
            return


def suggest_other_sign(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `target - prediction` for `prediction - target`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        new = f"{text.written(node.right)} - {text.written(node.left)}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_flat_gradient(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `gradients.flatten(1)` for the operand of a norm."""
    op = program.op_at(finding.span, finding.module)
    if op is None or not isinstance(node, ast.Call):
        return
    place = find_tensor_expressions(program, op)[0]
    if place is not None:
        yield append_method(text, place[0], ".flatten(1)")


def suggest_scaled_pixels(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `x / 255` for bytes of which a mean is subtracted, and `x` for pixels
    that are divided a second time.
    """
    if re.search("between 0 and 1 already|are normalized already", finding.message):
        yield from _suggest_undivided(text, node)
        return
    if "`scale=True` divides" in finding.message and isinstance(node, ast.Call):
        yield with_keyword(text, node, "scale=True")
        return
    if "a known mean from blue to red" in finding.message:
        yield from _suggest_turned_statistics(text, node)
        return
    if "`Normalize` takes" in finding.message:
        yield from _suggest_statistics(finding, text, node)
        return
    op = program.op_at(finding.span, finding.module)
    place = find_tensor_expressions(program, op)[0] if op is not None else None
    if place is not None:
        new = f"{text.written(place[0])} / 255"
        if not isinstance(place[0], ast.Name | ast.Call | ast.Attribute):
            new = f"({text.written(place[0])}) / 255"
        inner = new if isinstance(node, ast.BinOp) else f"({new})"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(place[0]), inner),))


def _suggest_turned_statistics(text: SourceText, node: ast.AST) -> Iterator[Fix]:
    """Suggest the known mean and deviation of `Normalize` from red to blue."""
    edits: list[Edit] = []
    shown: list[str] = []
    for part in list_arguments(node) if isinstance(node, ast.Call) else ():
        value = find_known_value(text, part)
        items = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        numbers = tuple(getattr(item, "value", None) for item in items)
        if numbers[::-1] not in (*KNOWN_MEANS, *KNOWN_DEVIATIONS):
            continue
        written = [text.written(item) for item in items]
        shown.append(f"`({', '.join(written[::-1])})`")
        edits += [
            Edit(text.span(item), new)
            for item, new in zip(items, written[::-1], strict=True)
            if text.written(item) != new
        ]
    if edits:
        yield Fix("fits", " and ".join(shown), tuple(edits))


def _suggest_statistics(
    finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `(125.3 / 255, ...)` for statistics of bytes, and the numbers themselves
    for those that are divided by 255 once more.
    """
    values = [text.node(place.span) for place in finding.related]
    arguments = list_arguments(node)[:2] if isinstance(node, ast.Call) else []
    values += [part for part in arguments if not isinstance(part, ast.Name)]
    edits: list[Edit] = []
    for value in values:
        if isinstance(value, ast.Call) and len(value.args) == 1:
            value = value.args[0]
        if "of bytes" in finding.message and isinstance(value, ast.Tuple | ast.List):
            edits += [Edit(text.span(item).end, " / 255") for item in value.elts]
        elif isinstance(value, ast.ListComp) and isinstance(value.elt, ast.BinOp):
            edits.append(Edit(text.span(value), text.written(value.generators[0].iter)))
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
            edits.append(Edit(text.span(value), text.written(value.left)))
    if edits and "of bytes" in finding.message:
        yield Fix("fits", "each mean and deviation `/ 255`", tuple(edits))
    elif len(edits) == 2:
        shown = " and ".join(f"`{join_lines(edit.text)}`" for edit in edits)
        yield Fix("fits", f"{shown}, not divided", tuple(edits))


def suggest_whole_labels(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `torch.from_numpy(np.array(mask)).long()` for a mask of classes, and
    `PILToTensor()` for the transform that divides it.
    """
    for place in finding.related:
        transform = program.call_at(place.span)
        if transform is not None and get_called_name(transform[1]) == "ToTensor":
            where, call = transform
            new = where.written(call).replace("ToTensor", "PILToTensor")
            yield Fix("fits", f"`{new}`", (Edit(where.span(call), new),))
            return
    source: ast.expr | None = node if isinstance(node, ast.expr) else None
    words = finding.message.partition("`")[2].partition("`")[0]
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and text.line_of(part) == words and part.args:
            source = part
    has_numpy = find_imports(text).get("np") == "numpy"
    if isinstance(source, ast.Call) and has_numpy and isinstance(node, ast.expr):
        new = f"torch.from_numpy(np.array({text.written(source.args[0])})).long()"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def _suggest_undivided(text: SourceText, node: ast.AST) -> Iterator[Fix]:
    """Suggest `x` for `x / 255`, or no statement for `x /= 255`."""
    if isinstance(node, ast.AugAssign):
        yield Fix("fits", f"no `{text.line_of(node)}`", (cut_lines(text, node),))
        return
    kept: ast.expr | None = None
    if isinstance(node, ast.BinOp):
        is_number = isinstance(node.left, ast.Constant)
        kept = node.right if is_number else node.left
    elif isinstance(node, ast.Call):
        kept = get_receiver(node)
        around = text.parent(node)
        if isinstance(around, ast.Expr):
            yield Fix("fits", f"no `{text.line_of(node)}`", (cut_lines(text, around),))
            return
    if kept is not None and isinstance(node, ast.expr):
        new = text.written(kept)
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_kept_labels(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to leave out what the loss ignores, in front of a count of pairs."""
    if "which is `" in finding.message:
        yield from _suggest_no_class(program, finding)
        return
    label = IGNORED.search(finding.message)
    if label is None or not isinstance(node, ast.Call) or not node.args:
        return
    pairs = node.args[0]
    if not isinstance(pairs, ast.BinOp) or not isinstance(pairs.op, ast.Add):
        return
    sides = [pairs.left, pairs.right]
    product = next((side for side in sides if isinstance(side, ast.BinOp)), None)
    other = next((side for side in sides if isinstance(side, ast.Name)), None)
    if product is None or other is None:
        return
    factors = (product.left, product.right)
    truth = next((side for side in factors if isinstance(side, ast.Name)), None)
    if truth is None:
        return
    kept = f"{truth.id} != {label.group(1)}"
    names = f"{truth.id}, {other.id}"
    new = f"{names} = {truth.id}[{kept}], {other.id}[{kept}]"
    edit = write_before(text, text.statement_of(node), new)
    yield Fix("fits", f"`{new}`", (edit,))


def _suggest_no_class(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest `PAD_TAG = -100` for a constant that a loss ignores and is a class."""
    places = [program.call_at(place.span) for place in finding.related]
    places.append(program.call_at(finding.span))
    for text, call in filter(None, places):
        for word in call.keywords:
            if word.arg != "ignore_index" or not isinstance(word.value, ast.Name):
                continue
            for own in program.own_texts():
                values = find_defining(own, word.value.id)
                if len(values) == 1 and isinstance(values[0], ast.Constant):
                    edit = Edit(own.span(values[0]), "-100")
                    yield Fix("fits", f"`{text.written(word.value)} = -100`", (edit,))
                    return


def suggest_exponential(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `log_std.exp()` for the deviation of a distribution."""
    if "takes a standard deviation" not in finding.message:
        return
    scale = get_scale(node) if isinstance(node, ast.Call) else None
    if scale is not None:
        yield append_method(text, scale, ".exp()")


def suggest_unchanged_draw(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `dist.log_prob(raw)` for an action that was `tanh(raw)`, if the draw has
    a name; and that of the action in place of another draw.
    """
    if not isinstance(node, ast.Call) or not node.args or not finding.related:
        return
    line = finding.related[0].span.line
    for statement in text.nodes:
        if not isinstance(statement, ast.Assign) or statement.lineno != line:
            continue
        name = statement.targets[0]
        if isinstance(name, ast.Name | ast.Attribute) and isinstance(
            statement.value, ast.Call
        ):
            new = text.written(name)
            is_changed = get_called_name(statement.value) not in DRAWS
            if is_changed and "draws anew" in finding.message:
                new = f"torch.as_tensor({new})"  # `action = dist.sample().item()`
            call = f"{text.written(node.func)}({new})"
            yield Fix("fits", f"`{call}`", (Edit(text.span(node.args[0]), new),))


def suggest_called_normalizer(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `image = normalize(image)` behind the line that makes a tensor of it."""
    places = [program.call_at(related.span) for related in finding.related]
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    whole = [program.node(related.span) for related in finding.related]
    for around in whole if isinstance(node, ast.Assign) else ():
        if around is not None and isinstance(around[1], ast.FunctionDef):
            yield from _suggest_prepared(text, node, around[1])
            return
    for place in places if isinstance(target, ast.Name) else ():
        if place is not None and isinstance(node, ast.Assign):
            name = text.written(target) if target is not None else ""
            new = f"{name} = {place[0].written(place[1].func)}({name})"
            yield Fix("fits", f"`{join_lines(new)}`", (write_after(text, node, new),))


def _suggest_prepared(
    text: SourceText, tensor: ast.AST, prepared: ast.FunctionDef
) -> Iterator[Fix]:
    """Suggest `x = preprocess(images)` for `x = torch.as_tensor(images)`."""
    function = text.around(tensor, ast.FunctionDef)
    parameters = [*list_parameters(function)] if function is not None else []
    names = [name for name in parameters if name in collect_names(tensor)]
    if isinstance(tensor, ast.Assign) and len(names) == 1:
        new = f"{prepared.name}({names[0]})"
        yield Fix("fits", f"`{new}`", (Edit(text.span(tensor.value), new),))


def suggest_added_entries(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `scatter_add` for `scatter`, and `index_add_` for `counts[ids] += 1`."""
    name = get_called_name(node) if isinstance(node, ast.Call) else ""
    if name in ADDING and isinstance(node, ast.Call):
        if "adds them up" not in finding.message:
            return
        end = text.span(node.func)
        place = Span(
            end.file, end.end_line, end.end_column - len(name), end.end_line,
            end.end_column,
        )  # fmt: skip
        yield Fix("fits", f"`{ADDING[name]}`", (Edit(place, ADDING[name]),))
        return
    if not isinstance(node, ast.expr | ast.stmt):
        return
    statement = text.statement_of(node)
    sums = _split_sum(text, statement)
    if sums is None:
        return
    target, value, is_difference = sums
    places = (
        target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    )
    tensors = [at for at, place in enumerate(places) if not _is_whole(place)]
    if any(isinstance(places[at], ast.Slice | ast.Constant) for at in tensors):
        return
    owner, index = text.written(target.value), text.written(places[tensors[0]])
    new = text.written(value)
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
        new = f"torch.full({index}.shape, {value.value}, dtype={owner}.dtype)"
        if value.value == 1:
            new = f"torch.ones_like({index}, dtype={owner}.dtype)"
    if len(tensors) == 1 and not _is_stretched(program, finding, value):
        alpha = ", alpha=-1" if is_difference else ""
        edit = f"{owner}.index_add_({tensors[0]}, {index}, {new}{alpha})"
        yield Fix("fits", f"`{join_lines(edit)}`", (Edit(text.span(statement), edit),))
    elif tensors == list(range(len(places))):
        all_places = ", ".join(text.written(place) for place in places)
        all_places += "," if len(places) == 1 else ""
        new = f"-({new})" if is_difference else new
        edit = f"{owner}.index_put_(({all_places}), {new}, accumulate=True)"
        yield Fix("fits", f"`{join_lines(edit)}`", (Edit(text.span(statement), edit),))


def _split_sum(
    text: SourceText, statement: ast.stmt
) -> tuple[ast.Subscript, ast.expr, bool] | None:
    """Return where `x[i] += y` or `x[i] = x[i] + y` adds, what, and whether it takes
    that away; None for other statements.
    """
    if isinstance(statement, ast.AugAssign):
        target: ast.expr = statement.target
        value, operator = statement.value, statement.op
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        total, target = statement.value, statement.targets[0]
        value, operator = total.right, total.op
        if text.written(total.left) != text.written(target):
            return None
    else:
        return None
    if not isinstance(operator, ast.Add | ast.Sub):
        return None
    if not isinstance(target, ast.Subscript):
        return None
    return target, value, isinstance(operator, ast.Sub)


def _is_stretched(program: Program, finding: Finding, value: ast.expr) -> bool:
    """Return whether what is added has fewer elements than the places it is added to,
    which `index_add_` does not take.
    """
    write = next(
        (o for o in program.trace.ops if o.span == finding.span and o.name == "[]="),
        None,
    )
    if write is None or isinstance(value, ast.Constant):
        return False
    adding = [
        op
        for op in program.trace.ops[max(write.index - 2, 0) : write.index]
        if op.outputs and op.outputs[0].tensor == write.inputs[-1].tensor
    ]
    return any(
        fact.shape != op.outputs[0].shape for op in adding[-1:] for fact in op.inputs
    )


def _is_whole(place: ast.expr) -> bool:
    """Return whether a part of an index is `:`."""
    return isinstance(place, ast.Slice) and not (
        place.lower or place.upper or place.step
    )


ADDING = {"scatter": "scatter_add", "scatter_": "scatter_add_"}
"""What adds up, for what writes."""
