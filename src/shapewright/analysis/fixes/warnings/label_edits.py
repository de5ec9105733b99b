"""Edits for labels: how they are resized, padded and chosen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.warnings.padding_edits import (
    find_filling_name,
    suggest_ignored_border,
    suggest_ignored_lists,
)
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.provenance.origins import find_constructor
from shapewright.findings.codes import TARGET_SHAPE
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    iter_assignments,
)
from shapewright.record.ops import Fact, Op

OF_EACH_SCORE = operators_with("is_elementwise_loss")
"""Losses that compare every score with a number of its own."""


def suggest_nearest(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `mode="nearest"` for labels that are resized."""
    if not isinstance(node, ast.Call):
        return
    parts = [text.written(argument) for argument in node.args]
    for word in node.keywords:
        if word.arg not in ("mode", "align_corners", "antialias"):
            name = f"{word.arg}=" if word.arg is not None else "**"
            parts.append(f"{name}{text.written(word.value)}")
    parts.append('mode="nearest"')
    new = f"{text.written(node.func)}({', '.join(parts)})"
    yield Fix("fits", '`mode="nearest"`', (Edit(text.span(node), new),))


TOKENS = re.compile(r"\binput_ids\b")


def _suggest_masked_labels(
    program: Program, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `input_ids.masked_fill(attention_mask == 0, -100)` for labels."""
    words = node.keywords if isinstance(node, ast.Call) else []
    values = {word.arg: word.value for word in words}
    own = values.get("labels")
    if own is not None and not TOKENS.search(text.written(own)):
        own = None
    places = [(text, own)] if own is not None else []
    for where in program.own_texts() if not places else ():
        for target, value in iter_assignments(where.tree):
            written = where.written(target)
            if "labels" in written and TOKENS.search(where.written(value)):
                places.append((where, value))
    if len(places) != 1 or places[0][1] is None:
        return
    where, labels = places[0]
    tokens = where.written(labels)
    tokens = re.sub(r"\.clone\(\)$|\.copy\(\)$", "", tokens)
    mask = TOKENS.sub("attention_mask", tokens)
    passed = values.get("attention_mask")
    if where is text and passed is not None:
        mask = text.written(passed)
    new = f"{tokens}.masked_fill({mask} == 0, -100)"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(where.span(labels), new),))


def suggest_ignored_padding(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to pad with -100, which losses ignore, or to name the padding to the
    loss; to mask the labels of a causal language model.
    """
    if "the labels are the tokens with" in finding.message:
        yield from _suggest_masked_labels(program, text, node)
        return
    if "the border of the labels is filled" in finding.message:
        ignored = finding.message.partition("ignores ")[2].partition(":")[0]
        yield from suggest_ignored_border(text, node, ignored)
        return
    padding = program.call_at(finding.related[0].span) if finding.related else None
    value = finding.message.partition("padded with ")[2].partition(",")[0]
    name, written = value, None
    if padding is not None:
        where, call = padding
        words = {word.arg: word.value for word in call.keywords}
        written = words.get("padding_value") or words.get("value")
        if get_called_name(call) == "full":
            fill = call.args[1] if len(call.args) > 1 else words.get("fill_value")
            name = where.written(fill) if fill is not None else value
        if isinstance(written, ast.Name):
            name = where.written(written)
    of_lists = list(suggest_ignored_lists(program, *padding) if padding else ())
    loss = node if isinstance(node, ast.Call) else None
    built = program.built.get(finding.module)
    if built is not None:
        place = program.call_at(built.span)
        text, loss = place if place is not None else (text, None)
    filled = find_filling_name(*padding) if padding else ""
    if loss is not None and filled:  # which may be the inputs' padding as well
        yield with_keyword(text, loss, f"ignore_index={filled}")
    yield from of_lists
    kept = [program.node(place.span) for place in finding.related]
    for stored in kept:
        if loss is not None and stored and isinstance(stored[1], ast.Attribute):
            new = f"ignore_index={stored[0].written(stored[1])}"
            yield with_keyword(text, loss, new)
            return
    if loss is not None and isinstance(written, ast.Name):
        yield with_keyword(text, loss, f"ignore_index={name}")
    if padding is not None:
        where, call = padding
        if written is not None:
            yield Fix(
                "fits", "`padding_value=-100`", (Edit(where.span(written), "-100"),)
            )
        elif get_called_name(call) == "pad_sequence":
            yield with_keyword(where, call, "padding_value=-100")
    if loss is not None and not of_lists:
        yield with_keyword(text, loss, f"ignore_index={name}")


WHOLE = ("int64", "int32", "uint8")


def suggest_sign(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `(logits.squeeze(-1) > 0).long()` for `argmax` of a single logit, and
    `labels` for `argmax` of a single class number.
    """
    if not isinstance(node, ast.Call) or get_called_name(node) != "argmax":
        return
    receiver = get_receiver(node)
    is_torch = isinstance(receiver, ast.Name) and receiver.id == "torch"
    scores = (node.args[0] if node.args else None) if is_torch else receiver
    if scores is None or get_called_name(scores) in ("sigmoid", "softmax"):
        return
    new = f"({text.written(scores)}.squeeze(-1) > 0).long()"
    op = program.op_at(finding.span, finding.module)
    if op is not None and op.inputs and op.inputs[0].dtype in WHOLE:
        rows = ".squeeze(1)" if op.inputs[0].ndim else ""
        new = f"{text.written(scores)}{rows}"  # the classes themselves
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_one_hot(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest one-hot labels where scores of all classes are multiplied by labels, as
    in a dice loss: `F.one_hot(labels, 3).movedim(-1, 1)`.
    """
    op = program.trace.ops[failure.op]
    if op.name.rpartition(".")[2] not in ("*", "mul") or len(op.inputs) != 2:
        return
    scores, labels = op.inputs
    if labels.dtype != "int64" or len(scores.shape) < 3 or scores.shape[1] < 2:
        return
    if (scores.shape[0], *scores.shape[2:]) != labels.shape:
        return
    place = find_tensor_expressions(program, op)[1]
    text_and_node = program.node(op.span)
    if place is None or text_and_node is None:
        return
    text = text_and_node[0]
    new = f"{_write_one_hot(text, place[0], scores.shape[1])}.movedim(-1, 1)"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(place[0]), new),))


def _write_one_hot(text: SourceText, labels: ast.expr, classes: int) -> str:
    """Return a call that writes labels as rows of zeros with a one."""
    short = any(
        isinstance(name, ast.alias) and name.asname == "F" for name in text.nodes
    )
    function = "F.one_hot" if short else "torch.nn.functional.one_hot"
    return f"{function}({text.written(labels)}, {classes})"


def suggest_class_targets(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest one-hot targets, or a loss of classes, where a loss compares the scores
    of all classes with numbers of classes.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code != TARGET_SHAPE or len(op.inputs) != 2:
        return
    scores, labels = op.inputs
    name = op.name.rpartition(".")[2]
    cast = _find_cast_of_classes(program, labels)
    if name not in OF_EACH_SCORE or len(scores.shape) < 2:
        return
    of_float = labels.dtype != "int64" and cast is None
    if of_float and not _is_cast_before(program, labels):
        return
    if (scores.shape[0], *scores.shape[2:]) != labels.shape or scores.shape[1] < 2:
        return
    place = find_tensor_expressions(program, op)[1]
    text_and_node = program.node(op.span)
    if place is None or text_and_node is None:
        return
    text, node = text_and_node
    classes = place[0]
    if cast is not None and isinstance(classes, ast.Call):
        classes = get_receiver(classes) or classes  # `labels` of `labels.float()`
    elif cast is not None:
        return
    new = f"{_write_one_hot(text, classes, scores.shape[1])}"
    new += ".movedim(-1, 1).float()" if len(scores.shape) > 2 else ".float()"
    one_hot = Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(place[0]), new),))
    of_logits = name == "binary_cross_entropy_with_logits" and cast is None
    other = _write_class_loss(program, op, text, node) if of_logits else None
    if other is not None and of_float:
        whole = append_method(text, place[0], ".long()")
        shown = f"{other.message} and {whole.message}"
        other = Fix("fits", shown, (*other.edits, *whole.edits))
    if other is not None:
        yield other
    if not of_float:
        yield one_hot


def _is_cast_before(program: Program, labels: Fact) -> bool:
    """Return whether whole numbers were made floats where the data are made."""
    return any(
        maker.name.rpartition(".")[2] in CASTS
        and bool(maker.inputs)
        and maker.inputs[0].dtype == "int64"
        for maker in iter_first_makers(program, labels)
    )


def _find_cast_of_classes(program: Program, labels: Fact) -> Op | None:
    """Return the call that made floats of numbers of classes, or None."""
    maker = program.producers.get(labels.tensor)
    is_cast = maker is not None and maker.name.rpartition(".")[2] in CASTS
    if maker is None or not is_cast or not maker.inputs:
        return None
    return maker if maker.inputs[0].dtype == "int64" else None


CASTS = frozenset({"float", "to", "type", "double"})
"""Methods that make floats of whole numbers."""


def _write_class_loss(
    program: Program, op: Op, text: SourceText, node: ast.AST
) -> Fix | None:
    """Return the edit that computes a cross entropy of classes in place of a loss."""
    built = find_constructor(program, op.module)
    call = built[1] if built is not None else node
    text = built[0] if built is not None else text
    if not isinstance(call, ast.Call) or call.keywords:
        return None
    if built is not None and call.args:
        return None
    before = text.written(call.func)
    owner = before.rpartition(".")[0]
    after = "CrossEntropyLoss" if built is not None else "cross_entropy"
    new = f"{owner}.{after}" if owner else after
    if not owner and after not in text.text:
        return None  # it is not imported
    edit = Edit(text.span(call.func), new)
    return Fix("fits", f"`{new}` in place of `{before}`", (edit,))


def suggest_cloned_targets(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `labels = tokens.clone()` for `labels = tokens`."""
    function = text.around(node, *FUNCTIONS) or text.tree
    for target, value in iter_assignments(function):
        if isinstance(target, ast.Name) and isinstance(value, ast.Name):
            new = f"{value.id}.clone()"
            shown = f"`{target.id} = {new}`"
            yield Fix("fits", shown, (Edit(text.span(value), new),))


def suggest_unshifted_labels(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `ids[:-1]` for `ids[1:]`, the labels of a model that shifts them; all of
    `ids` for both `ids[:, :-1]` and `ids[:, 1:]`, and without `roll`.
    """
    if isinstance(node, ast.Call) and get_called_name(node) == "roll":
        owner = get_receiver(node)
        is_function = isinstance(owner, ast.Name) and owner.id == "torch"
        source = node.args[0] if is_function and node.args else owner
        if source is not None:
            new = text.written(source)
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
    if not isinstance(node, ast.Subscript):
        return
    if isinstance(node.slice, ast.Tuple):
        yield from _suggest_all_tokens(text, node, node.slice)
        return
    rows = _suggest_whole_rows(text, node)
    if rows is not None:
        yield rows
        return
    new = f"{text.written(node.value)}[:-1]"
    yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def _suggest_whole_rows(text: SourceText, node: ast.Subscript) -> Fix | None:
    """Suggest `labels[i, : len(ids)] = ids` for `labels[i, : len(ids) - 1] = ids[1:]`,
    in each statement of a function that writes such a row.
    """
    scope = text.around(node, *FUNCTIONS) or text.tree
    edits: list[Edit] = []
    shown = ""
    for target, value in iter_assignments(scope):
        if not isinstance(value, ast.Subscript) or not isinstance(
            target, ast.Subscript
        ):
            continue
        if text.written(value.slice) != text.written(node.slice):
            continue
        owner = text.written(value.value)
        index = target.slice
        last = index.elts[-1] if isinstance(index, ast.Tuple) else index
        upper = last.upper if isinstance(last, ast.Slice) else None
        if upper is None or text.written(upper) != f"len({owner}) - 1":
            continue
        edits.append(Edit(text.span(upper), f"len({owner})"))
        edits.append(Edit(text.span(value), owner))
        row = text.written(target).replace(text.written(upper), f"len({owner})")
        shown = shown or f"`{row} = {owner}`"
    return Fix("fits", shown, tuple(edits)) if edits else None


def _suggest_all_tokens(
    text: SourceText, labels: ast.Subscript, items: ast.Tuple
) -> Iterator[Fix]:
    """Suggest all tokens for the inputs and for the labels: `ids` for `ids[:, :-1]`
    and for `ids[:, 1:]`.
    """
    owner, last = text.written(labels.value), items.elts[-1]
    before = [text.written(item) for item in items.elts[:-1]]
    is_plain = isinstance(labels.value, ast.Name) and text.written(last) == "1:"
    if not is_plain or any(item != ":" for item in before):
        return
    scope = text.around(labels, *FUNCTIONS) or text.tree
    inputs = [
        part
        for part in (ast.walk(scope) if scope is not None else ())
        if isinstance(part, ast.Subscript)
        and text.written(part.value) == owner
        and isinstance(part.slice, ast.Tuple)
        and [text.written(item) for item in part.slice.elts] == [*before, ":-1"]
    ]
    if len(inputs) == 1:
        edits = tuple(Edit(text.span(part), owner) for part in (inputs[0], labels))
        yield Fix("fits", f"`{owner}` for the tokens and for the labels", edits)


def suggest_class_name(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `int(data_set.classes[index])` for `index + 1`, where the data set has a
    name in the module.
    """
    statement = text.statement_of(node) if isinstance(node, ast.expr) else None
    if not isinstance(statement, ast.Assign) or statement.value is not node:
        return
    name = statement.targets[0]
    if not isinstance(name, ast.Name) or text.around(statement, ast.FunctionDef):
        return
    for related in finding.related:
        place = program.node(related.span)
        if place is None or place[0] is not text or not isinstance(place[1], ast.BinOp):
            continue
        sides = place[1].left, place[1].right
        index = sides[1] if isinstance(sides[0], ast.Constant) else sides[0]
        new = f"int({name.id}.classes[{text.written(index)}])"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(place[1]), new),))
