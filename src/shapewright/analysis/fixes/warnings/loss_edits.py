"""Edits for losses of probabilities where logits belong, and the reverse."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.statements import cut_lines
from shapewright.analysis.fixes.warnings.thresholds import add_thresholds
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.distribution_inputs import (
    DISTRIBUTIONS,
    get_probabilities,
)
from shapewright.analysis.hazards.target_ranges import find_limits
from shapewright.analysis.hazards.value_makers import find_value_maker
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.provenance.origins import find_constructor
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with, values_of
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    is_optimizer,
    iter_assignments,
)
from shapewright.record.ops import Op

OTHER_LOSSES = values_of("takes_instead")
"""The loss that fits what is given, by the loss that is written."""
CLASSES = values_of("layer_of_loss")
"""The layer of each loss."""
RANGES = values_of("gives_range")
LOGARITHMIC = frozenset(
    name for name, kind in values_of("expects_input").items()
    if kind == "log-probabilities"
)  # fmt: skip
"""Losses of log-probabilities."""


def suggest_loss_edits(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to leave out the activation before a loss, or the loss that fits it."""
    loss = program.op_at(finding.span, finding.module)
    if loss is None:
        return
    if "takes the prediction first" in finding.message and isinstance(node, ast.Call):
        yield from _suggest_swapped_arguments(text, node)
        return
    if "after a second activation" in finding.message:
        for place in (finding.span, *(related.span for related in finding.related)):
            op = program.op_at(place)
            yield from _suggest_without(program, op) if op is not None else ()
        return
    name = loss.name.rpartition(".")[2]
    if name == "kl_div" and "logits" in finding.message.rpartition(" holds ")[2]:
        yield from _suggest_softmax(program, finding, loss)
        return
    if "as the inputs of the model are" in finding.message:
        return  # the line is right for these
    if "as its target" in finding.message:
        yield from _suggest_log_target(program, loss)
        return
    kind = finding.message.rpartition(" holds ")[2].partition(" of ")[0]
    if "has applied it" in finding.message:
        kind = "log-probabilities"
    makers = [
        op
        for related in finding.related
        for op in program.trace.ops
        if op.span == related.span and op.index < loss.index
    ]
    ways = [_suggest_other_loss(program, loss, name, kind)]
    if makers and kind == "probabilities" and name in LOGARITHMIC:
        ways = [_suggest_log_softmax(program, makers[-1]), _suggest_log(program, loss)]
    elif makers and kind != "logits":
        fixes = _suggest_without(program, makers[-1])
        first = len(ways) if _is_read_twice(program, makers[-1]) else 0
        ways.insert(first, (add_thresholds(program, makers[-1], fix) for fix in fixes))
    if makers and kind == "logits" and name == "binary_cross_entropy":
        ways.append(_suggest_sigmoid(program, makers[-1]))
    for way in ways:
        yield from way


def _is_read_twice(program: Program, maker: Op) -> bool:
    """Return whether other layers read what a loss reads, too: they are trained on
    probabilities.
    """
    result = maker.outputs[0].tensor
    readers = {
        op.span
        for op in program.trace.ops
        if any(fact.tensor == result for fact in op.inputs)
        and any(fact.requires_grad for fact in op.outputs)
    }
    return len(readers) > 1


def _suggest_sigmoid(program: Program, maker: Op) -> Iterator[Fix]:
    """Suggest `nn.Sigmoid()` as the last layer of an `nn.Sequential` that ends with the
    layer that made the scores.
    """
    layer = program.layer(maker)
    holder = layer.path.rpartition(".")[0] if layer is not None else ""
    built = find_constructor(program, holder)
    if layer is None or built is None or get_called_name(built[1]) != "Sequential":
        return
    text, call = built
    last = call.args[-1] if call.args else None
    if layer.path != f"{holder}.{len(call.args) - 1}" or not isinstance(last, ast.Call):
        return
    new = f"{text.written(last.func).rpartition('.')[0]}.Sigmoid()".lstrip(".")
    edit = Edit(text.span(last).end, f", {new}")
    yield Fix("fits", f"`{new}` behind `{text.line_of(last)}`", (edit,))


def _suggest_swapped_arguments(text: SourceText, call: ast.Call) -> Iterator[Fix]:
    """Suggest `loss_fn(prediction, target)` for `loss_fn(target, prediction)`."""
    if len(call.args) < 2:
        return
    first, second = call.args[:2]
    edits = (
        Edit(text.span(first), text.written(second)),
        Edit(text.span(second), text.written(first)),
    )
    written = f"{text.written(call.func)}({text.written(second)}, {text.written(first)}"
    rest = "".join(f", {text.written(part)}" for part in call.args[2:])
    words = "".join(f", {w.arg}={text.written(w.value)}" for w in call.keywords)
    yield Fix("fits", f"`{join_lines(f'{written}{rest}{words})')}`", edits)


def suggest_without_activation(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to leave out the last activation, where it is written for itself; for
    masks of 0 and 255, to divide them, and for standardised data another loss.
    """
    if not finding.related and isinstance(node, ast.Call):
        yield from _suggest_divided_target(program, finding, text, node)
        return
    place = finding.related[0].span if finding.related else finding.span
    makers = [
        op
        for op in program.trace.ops
        if op.span == place and op.name.rpartition(".")[2] in {*RANGES, "softmax"}
    ]
    if makers:
        yield from _suggest_without(program, makers[-1])


def _suggest_divided_target(
    program: Program, finding: Finding, text: SourceText, call: ast.Call
) -> Iterator[Fix]:
    """Suggest `masks / 255` as the target of a binary loss."""
    scene = HazardContext(program)
    targets = [
        op.inputs[1]
        for op in program.trace.ops
        if op.span == finding.span and len(op.inputs) > 1
    ]
    limits = [find_limits(scene, target) for target in targets]
    if (0.0, BRIGHTEST) in limits and len(call.args) > 1:
        written = text.written(call.args[1])
        simple = isinstance(call.args[1], ast.Name | ast.Attribute | ast.Subscript)
        simple |= isinstance(call.args[1], ast.Call)
        shown = f"{written if simple else f'({written})'} / {BRIGHTEST}"
        edit = Edit(text.span(call.args[1]), shown)
        yield Fix("fits", f"`{shown}`", (edit,))
    elif BINARY.search(text.written(call.func)):
        yield from _suggest_squared_error(scene, finding, text, call)


def _suggest_squared_error(
    scene: HazardContext, finding: Finding, text: SourceText, call: ast.Call
) -> Iterator[Fix]:
    """Suggest `F.mse_loss`, without a last sigmoid, for standardised data that a binary
    loss is to reconstruct.
    """
    loss = scene.program.op_at(finding.span, finding.module)
    has_weight = len(call.args) > 2 or any(
        "weight" in f"{w.arg}" for w in call.keywords
    )
    if loss is None or has_weight or loss.inputs[1].shape[-1:] in ((), (1,)):
        return
    new = BINARY.sub("mse_loss", text.written(call.func))
    edits: tuple[Edit, ...] = (Edit(text.span(call.func), new),)
    message = f"`{new}`"
    maker = find_value_maker(scene, loss.inputs[0])
    if maker is not None and maker.name == "sigmoid":
        without = next(_suggest_without(scene.program, maker.op), None)
        if without is None:
            return
        edits = (*without.edits, *edits)
        message = f"`{new}`, and the output {without.message} in place of its sigmoid"
        if without.message.startswith("without"):
            message = f"`{new}`, {without.message}"
    yield Fix("fits", message, edits)


BINARY = re.compile(r"binary_cross_entropy(_with_logits)?$")
BRIGHTEST = 255
"""What white is in an image of bytes."""


def _suggest_without(program: Program, maker: Op) -> Iterator[Fix]:
    """Suggest to leave out an activation: a call, or a layer of a container."""
    layer = program.layer(maker)
    text_and_node = program.node(maker.span)
    if layer is not None and layer.path in program.built:
        built = program.call_at(program.built[layer.path].span)
        if built is not None:
            text, call = built
            holder = text.parent(call)
            rows = _get_items(holder)
            if text.around(call, ast.For, ast.ListComp) is not None:
                yield from _suggest_without_last(text, call)
                return
            added = isinstance(holder, ast.Call) and get_called_name(holder)
            if added in ("add_module", "append") and isinstance(holder, ast.Call):
                statement = text.statement_of(holder)
                message = f"without `{text.line_of(statement)}`"
                yield Fix("fits", message, (cut_lines(text, statement),))
            elif call in rows:
                yield _cut_item(text, rows, call)
            elif isinstance(holder, ast.Assign) and text_and_node is not None:
                yield from _suggest_argument(*text_and_node)
                return
    if text_and_node is not None and layer is None:
        yield from _suggest_argument(*text_and_node)


def _suggest_without_last(text: SourceText, layer: ast.Call) -> Iterator[Fix]:
    """Suggest `*layers[:-1]` where a list of layers ends with one that a loop adds."""
    holder = text.parent(layer)
    receiver = get_receiver(holder) if isinstance(holder, ast.Call) else None
    name = get_last_name(receiver) if receiver is not None else ""
    scope = text.around(layer, *FUNCTIONS) or text.tree
    for part in ast.walk(scope) if scope is not None and name else ():
        if isinstance(part, ast.Starred) and get_last_name(part.value) == name:
            new = f"{text.written(part.value)}[:-1]"
            yield Fix("fits", f"`*{new}`", (Edit(text.span(part.value), new),))


def _get_items(holder: ast.AST | None) -> list[ast.expr]:
    """Return the arguments of a call or the items of a list."""
    if isinstance(holder, ast.Call):
        return holder.args
    return holder.elts if isinstance(holder, ast.List | ast.Tuple) else []


def _cut_item(text: SourceText, rows: list[ast.expr], item: ast.expr) -> Fix:
    """Return the fix that removes an item of a list with one of its commas."""
    at = rows.index(item)
    span = text.span(item)
    if at > 0:
        before = text.span(rows[at - 1])
        span = Span(span.file, before.end_line, before.end_column, *_get_end(span))
    elif len(rows) > 1:
        after = text.span(rows[1])
        span = Span(span.file, span.line, span.column, after.line, after.column)
    return Fix("fits", f"without `{text.line_of(item)}`", (Edit(span, ""),))


def _get_end(span: Span) -> tuple[int, int]:
    """Return the line and column at which a span ends."""
    return span.end_line, span.end_column


def _suggest_argument(text: SourceText, node: ast.AST) -> Iterator[Fix]:
    """Suggest `x` for `F.softmax(x, dim=1)` and for `x.softmax(1)`."""
    if not isinstance(node, ast.Call):
        return
    inner = node.args[0] if node.args else None
    receiver = get_receiver(node)
    module = receiver is not None and get_last_name(receiver) in (
        "F", "torch", "functional", "self",
    )  # fmt: skip
    if receiver is not None and not module:
        inner = receiver
    if inner is None:
        return
    new = text.written(inner)
    statement = text.statement_of(node)
    if isinstance(statement, ast.Assign) and statement.value is node:
        target = text.written(statement.targets[0])
        if target == new:
            message = f"without `{text.line_of(statement)}`"
            yield Fix("fits", message, (cut_lines(text, statement),))
            return
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def _suggest_log_softmax(program: Program, maker: Op) -> Iterator[Fix]:
    """Suggest log-softmax for a softmax."""
    layer = program.layer(maker)
    span = maker.span
    if layer is not None and layer.path in program.built:
        span = program.built[layer.path].span
    text_and_call = program.call_at(span)
    if text_and_call is None:
        return
    text, call = text_and_call
    name = get_last_name(call.func)
    new = {"Softmax": "LogSoftmax", "softmax": "log_softmax"}.get(name)
    if new is not None:
        end = text.span(call.func)
        start = Span(end.file, end.end_line, end.end_column - len(name), *_get_end(end))
        yield Fix("fits", f"`{new}` for `{name}`", (Edit(start, new),))


def _suggest_log(program: Program, loss: Op) -> Iterator[Fix]:
    """Suggest `probabilities.log()` for what a loss gets."""
    text_and_node = program.node(loss.span)
    place = next(iter(find_tensor_expressions(program, loss)), None)
    if text_and_node is not None and place is not None:
        yield append_method(text_and_node[0], place[0], ".log()")


def _suggest_softmax(program: Program, finding: Finding, loss: Op) -> Iterator[Fix]:
    """Suggest `scores.log_softmax(-1)` for what a divergence takes for logarithms of
    probabilities, and `scores.softmax(-1)` for its target.
    """
    is_target = "as its target" in finding.message
    text_and_node = program.node(loss.span)
    place = find_tensor_expressions(program, loss)[1 if is_target else 0]
    if text_and_node is not None and place is not None:
        method = ".softmax(-1)" if is_target else ".log_softmax(-1)"
        yield append_method(text_and_node[0], place[0], method)


def _suggest_log_target(program: Program, loss: Op) -> Iterator[Fix]:
    """Suggest `log_target=True` where a divergence is called, or built as a layer."""
    layer = program.layer(loss)
    span = loss.span
    if layer is not None and layer.path in program.built:
        span = program.built[layer.path].span
    text_and_call = program.call_at(span)
    if text_and_call is not None:
        yield with_keyword(*text_and_call, "log_target=True")


def _suggest_other_loss(
    program: Program, loss: Op, name: str, kind: str
) -> Iterator[Fix]:
    """Suggest the loss that fits what is given, as a function or as a layer."""
    other = OTHER_LOSSES.get(name, {}).get(kind)
    if other is None:
        return
    layer = program.layer(loss)
    span = loss.span
    if layer is not None and layer.path in program.built:
        span = program.built[layer.path].span
    text_and_call = program.call_at(span)
    if text_and_call is None:
        return
    text, call = text_and_call
    old = get_last_name(call.func)
    new = CLASSES[other] if old == CLASSES.get(name) else other
    if old in (name, CLASSES.get(name)):
        end = text.span(call.func)
        start = Span(end.file, end.end_line, end.end_column - len(old), *_get_end(end))
        yield Fix("fits", f"`{new}` for `{old}`", (Edit(start, new),))


def suggest_logits_keyword(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `Categorical(logits=scores)` for `Categorical(scores)`, and probabilities
    for the weights of `torch.multinomial`.
    """
    if get_called_name(node) == "multinomial" and isinstance(node, ast.Call):
        owner = get_receiver(node)
        is_function = isinstance(owner, ast.Name) and owner.id == "torch"
        weights = node.args[0] if is_function and node.args else owner
        if weights is not None:
            yield append_method(text, weights, ".softmax(-1)")
        return
    scores = get_probabilities(node) if isinstance(node, ast.Call) else None
    if scores is None or not isinstance(node, ast.Call):
        return
    if get_called_name(node) in DISTRIBUTIONS:
        word = next((w for w in node.keywords if w.value is scores), None)
        place = text.span(scores)
        if word is not None:  # `probs=scores`
            start = text.column(word.lineno, word.col_offset)
            place = Span(
                text.file, word.lineno, start, place.end_line, place.end_column
            )
        new = f"logits={text.written(scores)}"
        shown = f"{text.written(node.func)}({new})"
        yield Fix("fits", f"`{join_lines(shown)}`", (Edit(place, new),))


def suggest_single_loss(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the mean of a loss of several numbers, where a backward pass starts."""
    op = program.trace.ops[failure.op]
    text_and_call = program.call_at(op.span)
    if op.name.rpartition(".")[2] != "backward" or text_and_call is None:
        return
    text, call = text_and_call
    owner = get_receiver(call)
    if owner is None or not op.inputs or not op.inputs[0].shape or call.args:
        return
    scope = text.around(call, ast.FunctionDef, ast.Module)
    values = [
        value
        for target, value in iter_assignments(scope if scope is not None else text.tree)
        if text.written(target) == text.written(owner) and value.lineno < call.lineno
    ]
    if "loss" not in text.written(owner).lower() and _is_gradient_read(text):
        yield append_method(text, owner, ".sum()")  # each entry's own derivative
        return
    for value in values[-1:]:
        product = _multiply_before_mean(text, value)
        if product is not None:
            yield product
            return
    places = [*values[-1:], owner]
    if values and _is_used_whole(text, scope, owner, values[-1].lineno):
        places.reverse()
    for place in places:
        yield append_method(text, place, ".mean()")


def _multiply_before_mean(text: SourceText, value: ast.expr) -> Fix | None:
    """Return `(errors * weights).mean()` for `errors * weights.mean()`, where a method
    reduces the last factor alone.
    """
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
        return None
    factor: ast.expr = value.right
    while isinstance(factor, ast.Call) and isinstance(factor.func, ast.Attribute):
        reduced = factor.func.value
        if factor.func.attr in ("mean", "sum") and not factor.args:
            product = text.span(value.left).until(text.span(reduced))
            end = text.span(reduced)
            new = f"({text.written(value.left)} * {text.written(reduced)})"
            rest = text.written(value.right)[len(text.written(reduced)) :]
            if product.line != end.end_line:
                return None
            return Fix("fits", f"`{join_lines(new + rest)}`", (Edit(product, new),))
        factor = reduced
    return None


def _is_gradient_read(text: SourceText) -> bool:
    """Return whether a file reads the gradients itself, and no optimizer does."""
    is_read = any(
        isinstance(node, ast.Attribute)
        and node.attr == "grad"
        and isinstance(node.ctx, ast.Load)
        for node in text.nodes
    )
    return is_read and not any(is_optimizer(node) for node in text.nodes)


def _is_used_whole(
    text: SourceText, scope: ast.AST | None, loss: ast.expr, line: int
) -> bool:
    """Return whether a function uses all numbers of a loss elsewhere: their sum."""
    for node in ast.walk(scope) if scope is not None else text.nodes:
        if not isinstance(node, ast.Name | ast.Attribute) or node.lineno <= line:
            continue
        if node is loss or text.written(node) != text.written(loss):
            continue
        parent = text.parent(node)
        if isinstance(parent, ast.Attribute) and parent.attr not in OF_ONE_NUMBER:
            return True
        if isinstance(parent, ast.Subscript | ast.BinOp):
            return True
    return False


OF_ONE_NUMBER = operators_with("leaves_graph") | {"backward"}
"""Methods of a loss that is a single number."""
