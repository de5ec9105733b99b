"""Edits where an operand comes from, not where it is refused: the caller's argument,
the classes of `one_hot`, the rows of an empty list, the channels of a picture.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.makers import iter_first_makers, iter_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    CHANNEL_MISMATCH,
    CTC_LENGTHS,
    ELEMENT_COUNT_MISMATCH,
    INDEX_OUT_OF_RANGE,
    TOO_MANY_INDICES,
)
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure, Unmet
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    get_last_name,
    iter_assignments,
)
from shapewright.record.ops import Op

MADE_OF_DATA = operators_with("takes_program_data")
CLASS_LOSSES = operators_with("takes_class_indices")
STRIDES = (2, 4, 3, 8)
"""Steps of the layers in front of a CTC loss, the likeliest first."""
DRAWS = ("randint", "integers", "choice")
"""What gives other numbers each time that it is written."""
PICTURE_MODES = {3: "RGB", 1: "L"}
"""What `PIL.Image.convert` calls pictures with so many channels."""


def suggest_argument_of_caller(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `self.score(users.unsqueeze(1), negatives)` where an operand that is made
    of an argument lacks a dim of the other.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != BROADCAST_MISMATCH or len(op.inputs) != 2:
        return
    ranks = [fact.ndim for fact in op.inputs]
    if ranks[0] == ranks[1] or len(op.frames) < 2:
        return
    at = ranks.index(min(ranks))
    small, large = op.inputs[at].shape, op.inputs[1 - at].shape
    place = find_tensor_expressions(program, op)[at]
    if place is None or len(large) != len(small) + 1:
        return
    node, text = place[0], program.node(op.span)
    if text is None:
        return
    function = text[0].around(node, ast.FunctionDef)
    if function is None:
        return
    parameters = [argument.arg for argument in function.args.args]
    values = [node]
    if isinstance(node, ast.Name) and node.id not in parameters:
        values = find_defining(text[0], node.id)
    names = {
        part.id
        for value in values
        for part in ast.walk(value)
        if isinstance(part, ast.Name) and part.id in parameters
    } - {"self"}
    for frame in reversed(op.frames[:-1]):
        caller = program.call_at(frame.span)
        if caller is None or get_called_name(caller[1]) not in (
            function.name,
            "self" if function.name == "forward" else function.name,
        ):
            continue
        is_method = parameters[:1] == ["self"]
        for name in sorted(names):
            argument = _get_argument(
                caller[1], name, parameters.index(name) - is_method
            )
            for dim in range(1, len(large)):
                fits = (*small[:dim], 1, *small[dim:])
                if argument is not None and _is_broadcast(fits, large):
                    yield append_method(caller[0], argument, f".unsqueeze({dim})")
        return


def _get_argument(call: ast.Call, name: str, at: int) -> ast.expr | None:
    """Return the expression that a call gives for a parameter, or None."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[at] if 0 <= at < len(call.args) else None


def _is_broadcast(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether two shapes of as many dims broadcast."""
    return all(
        1 in (size, facing) or size == facing
        for size, facing in zip(shape, other, strict=True)
    )


def suggest_number_of_classes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `F.one_hot(y, n_classes)`, which else has as many columns as the largest
    label that happens to be there says.
    """
    expected, got = find_sides(failure)
    op = program.trace.ops[failure.op]
    if expected is None or got is None:
        return
    wanted = op.inputs[expected[0]].shape[expected[1]]
    present = op.inputs[got[0]].shape[got[1]]
    for maker in iter_makers(program, op):
        place = program.call_at(maker.span)
        if maker.name.rpartition(".")[2] != "one_hot" or place is None:
            continue
        text, call = place
        if get_called_name(call) != "one_hot" or len(call.args) != 1 or call.keywords:
            continue
        classes = maker.outputs[0].shape[-1] + wanted - present
        names = list(_iter_constants(text, call, classes))
        for written in [*names, str(classes)][:3] if classes > 0 else ():
            new = f"{text.written(call.args[0])}, {written}"
            shown = f"`one_hot({join_lines(new)})`"
            yield Fix("fits", shown, (Edit(text.span(call.args[0]), new),))
        return


def _iter_constants(text: SourceText, node: ast.AST, value: int) -> Iterator[str]:
    """Yield the names of the module, and of the object, that stand for a number."""
    if text.tree is None:
        return
    for statement in text.tree.body:
        if not isinstance(statement, ast.Assign):
            continue
        for target, written in iter_assignments(statement):
            is_meant = evaluate_whole_number(written) == value
            if isinstance(target, ast.Name) and is_meant:
                yield target.id
    owner = text.around(node, ast.ClassDef)
    for target, _ in iter_assignments(owner):
        if isinstance(target, ast.Attribute) and text.written(target.value) == "self":
            known = map(evaluate_whole_number, find_defining(text, target.attr))
            if value in known:
                yield f"self.{target.attr}"


def suggest_rows_of_empty(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `torch.tensor(boxes).reshape(-1, 4)` where an empty list has no columns
    and other lists have four.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != TOO_MANY_INDICES or not op.inputs:
        return
    fact = op.inputs[0]
    maker = program.producers.get(fact.tensor)
    if fact.shape == ():
        yield from _suggest_number(program, op)
    if fact.shape != (0,) or maker is None or maker.span is None:
        return
    place = program.call_at(maker.span)
    if maker.name.rpartition(".")[2] not in MADE_OF_DATA or place is None:
        return
    for other in program.trace.ops:
        if other.span == maker.span and other.outputs and other.outputs[0].ndim > 1:
            sizes = ", ".join(map(str, (-1, *other.outputs[0].shape[1:])))
            yield append_method(*place, f".reshape({sizes})")
            return


def _suggest_number(program: Program, op: Op) -> Iterator[Fix]:
    """Suggest `loss.item()` for `loss.data[0]`, of a tensor with one number."""
    place = program.node(op.span)
    node = place[1] if place is not None else None
    if place is None or not isinstance(node, ast.Subscript):
        return
    if not isinstance(node.slice, ast.Constant) or node.slice.value != 0:
        return
    owner = node.value
    if isinstance(owner, ast.Attribute) and owner.attr == "data":
        owner = owner.value
    new = f"{place[0].written(owner)}.item()"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(place[0].span(node), new),))


def suggest_picture_mode(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `Image.open(path).convert("RGB")` for a picture with other channels."""
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    expected, got = find_sides(failure)
    pairs: list[tuple[int, int]] = []
    if expected is not None and got is not None:
        left, right = (op.inputs[at].shape[dim] for at, dim in (expected, got))
        pairs = [(left, right), (right, left)]
    elif unmet is not None and unmet.code == ELEMENT_COUNT_MISMATCH:
        pairs = list(_iter_viewed_channels(op, unmet))
    for wanted, other in pairs:
        mode = PICTURE_MODES.get(wanted)
        if mode is None or other not in (1, 2, 3, 4) or other == wanted:
            continue
        for text, call in _iter_opened_pictures(program, op):
            yield append_method(text, call, f'.convert("{mode}")')
        return


def describe_picture_channels(program: Program, failure: Failure) -> Related | None:
    """Return where a picture is opened as it is stored, with other channels than a
    layer reads.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != CHANNEL_MISMATCH:
        return None
    kind = STORED.get(unmet.has) if type(unmet.has) is int else None
    if kind is None or unmet.needs not in PICTURE_MODES:
        return None
    for text, call in _iter_opened_pictures(program, op):
        words = f"the picture is opened as it is stored, and is {kind}"
        return Related(text.span(call), words)
    return None


STORED = {
    1: "grey: 1 channel", 3: "in colours: 3 channels",
    4: "RGBA: 4 channels, of which the last is its transparency",
}  # fmt: skip
"""What a picture is, by its channels."""


def _iter_viewed_channels(op: Op, unmet: Unmet) -> Iterator[tuple[int, int]]:
    """Yield the channels that a view names and those that its input has, where nothing
    else differs: 3 and 4 of `x.view(1, 3, height, width)`.
    """
    sizes = {value for _, value in op.arguments if type(value) is int}
    if type(unmet.has) is not int or type(unmet.needs) is not int:
        return
    for wanted in sizes & PICTURE_MODES.keys():
        for other in set(op.inputs[0].shape[:3]) & {1, 3, 4}:
            if unmet.needs * other == unmet.has * wanted:
                yield wanted, other


def _iter_opened_pictures(
    program: Program, op: Op
) -> Iterator[tuple[SourceText, ast.Call]]:
    """Yield the calls of `Image.open` whose pictures are not converted."""
    files = dict.fromkeys(frame.span.file for frame in op.frames)
    for file in [*files, *program.trace.sources]:
        text = program.text(file)
        for node in text.nodes if text is not None else ():
            if not isinstance(node, ast.Call) or text is None:
                continue
            if get_last_name(node.func) != "open" or "Image" not in text.written(
                node.func
            ):
                continue
            outer = text.around(node, ast.Attribute)
            if outer is None or outer.attr != "convert":
                yield text, node


def suggest_labels_from_0(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `labels - labels.min()` where a loss reads classes from 0 on and the
    labels of the data begin with another number; `stars - 1` for the label of an item
    and `torch.tensor(labels) - 1` for a list of them, where they are 1 to the classes.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or len(op.inputs) < 2:
        return
    is_ignored = not isinstance(unmet.has, int) or unmet.has < 0
    if op.name.rpartition(".")[2] not in CLASS_LOSSES or is_ignored:
        return
    for maker in iter_first_makers(program, op.inputs[1]):
        place = program.call_at(maker.span)
        if maker.name.rpartition(".")[2] not in MADE_OF_DATA or place is None:
            continue
        text, call = place
        is_drawn = bool(call.args) and get_called_name(call.args[0]) in DRAWS
        if (
            call.args
            and isinstance(call.args[0], ast.Name | ast.Attribute | ast.Call)
            and not is_drawn
        ):
            written = text.written(call.args[0])
            new = f"{written} - {written}.min()"
            edit = Edit(text.span(call.args[0]), new)
            yield Fix("fits", f"`{join_lines(new)}`", (edit,))
        if unmet.lines:
            yield from _take_1_off(text, call, is_single=not maker.outputs[0].shape)
        return
    if unmet.lines:
        yield from _take_1_off_items(program, op)


def _take_1_off_items(program: Program, op: Op) -> Iterator[Fix]:
    """Suggest `return image, self.labels[i] - 1` for a data set whose items hold labels
    that are numbers, where a loss gets them from a loop over batches.
    """
    where, places = program.node(op.span), find_tensor_expressions(program, op)
    label = places[1][0] if len(places) > 1 and places[1] is not None else None
    loop = where[0].around(where[1], ast.For) if where is not None else None
    if not isinstance(label, ast.Name) or not isinstance(loop, ast.For):
        return
    names = loop.target.elts if isinstance(loop.target, ast.Tuple) else []
    at = [
        place
        for place, name in enumerate(names)
        if isinstance(name, ast.Name) and name.id == label.id
    ]
    items = [
        (text, node.value.elts)
        for text in program.own_texts()
        for method in text.nodes
        if isinstance(method, ast.FunctionDef) and method.name == "__getitem__"
        for node in ast.walk(method)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple)
    ]
    if len(at) != 1 or len(items) != 1 or len(items[0][1]) != len(names):
        return
    text, parts = items[0]
    part = parts[at[0]]
    if isinstance(part, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        new = f"{text.written(part)} - 1"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(part), new),))


def _take_1_off(text: SourceText, call: ast.Call, is_single: bool) -> Iterator[Fix]:
    """Suggest the labels of a call one lower: `torch.tensor(stars - 1)` for a single
    one, `torch.tensor(labels) - 1` for several.
    """
    node = call.args[0] if is_single and call.args else call
    is_tight = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    is_open = node is call and isinstance(text.parent(call), ast.Attribute | ast.BinOp)
    if is_open or isinstance(node, ast.IfExp | ast.Lambda | ast.Compare):
        return  # brackets would be needed
    if not is_tight and not isinstance(node, ast.BinOp):
        return
    new = f"{text.written(node)} - 1"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_index_for_all(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest an index for each feature where `gather` took the first one alone:
    `ids.unsqueeze(-1).expand(-1, -1, x.size(-1))`.
    """
    maker = find_narrow_gather(program, program.trace.ops[failure.op])
    if maker is None:
        return
    places = find_tensor_expressions(program, maker)
    text_and_node = program.node(maker.span)
    if places[0] is None or places[1] is None or text_and_node is None:
        return
    owner, rank = get_dotted_name(places[0][0]), maker.inputs[0].ndim
    if owner:
        sides = ", ".join(["-1"] * (rank - 1))
        method = f".expand({sides}, {owner}.size(-1))"
        yield append_method(text_and_node[0], places[1][0], method)


def find_narrow_gather(program: Program, op: Op) -> Op | None:
    """Return the `gather` behind a call whose index has one column for all, or None."""
    for maker in iter_makers(program, op):
        if maker.name.rpartition(".")[2] != "gather" or len(maker.inputs) < 2:
            continue
        data, index = maker.inputs[:2]
        is_last = data.ndim == index.ndim > 1 and index.shape[-1] == 1
        along = dict(maker.arguments).get("1", dict(maker.arguments).get("dim"))
        if is_last and data.shape[-1] > 1 and along not in (-1, data.ndim - 1):
            return maker
    return None


def suggest_divided_lengths(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `(lengths + 1) // 2` for lengths of frames, of which a layer with a
    stride of 2 leaves half.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != CTC_LENGTHS or len(op.inputs) < 3:
        return
    has, most = unmet.has, op.inputs[0].shape[0] if op.inputs[0].ndim == 3 else 0
    place = program.call_at(op.span)
    if not isinstance(has, int) or most < 1 or place is None or len(place[1].args) < 3:
        return
    text, call = place
    lengths = call.args[2]
    written = text.written(lengths)
    for stride in STRIDES:
        if (has + stride - 1) // stride <= most:
            new = f"({written} + {stride - 1}) // {stride}"
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(lengths), new),))
            return


def suggest_ones_as_outputs(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `grad_outputs=torch.ones_like(y)` for gradients of several numbers."""
    op = program.trace.ops[failure.op]
    place = program.call_at(op.span)
    if "only for scalar outputs" not in failure.torch_message or place is None:
        return
    text, call = place
    if get_called_name(call) != "grad" or not call.args:
        return
    if all(keyword.arg != "grad_outputs" for keyword in call.keywords):
        new = f"grad_outputs=torch.ones_like({text.written(call.args[0])})"
        yield with_keyword(text, call, new)
