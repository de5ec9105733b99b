"""Two branches that meet: a shortcut without the stride of its block, joins of one line
along one dim, a decoder's input with the batch first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.makers import iter_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.provenance.origins import find_constructor
from shapewright.findings.codes import BROADCAST_MISMATCH, JOINED_SIZES_DIFFER
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import SIGNED, evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact, Op

CONVOLUTIONS = operators_with("is_convolution")
JOINS = operators_with("concatenates")
STRIDE = 3
"""The position of the stride among the arguments of a convolution."""
PLAIN = ("1", "(1, 1)")


def suggest_stride_of_shortcut(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `nn.Conv2d(cin, cout, 1, stride)` for the shortcut of a block whose other
    branch has a stride.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != BROADCAST_MISMATCH or len(op.inputs) != 2:
        return
    shapes = [fact.shape for fact in op.inputs]
    if len({len(shape) for shape in shapes}) != 1 or len(shapes[0]) < 3:
        return
    if shapes[0][:2] != shapes[1][:2]:
        return
    large = 0 if shapes[0][2:] > shapes[1][2:] else 1
    single = _list_convolutions(program, op.inputs[large])
    others = _list_convolutions(program, op.inputs[1 - large])
    if len(single) != 1 or single[0] in others:
        return
    strides = [
        stride
        for path in others
        for stride in [_get_stride(program, path)]
        if stride and stride not in PLAIN
    ]
    place = find_constructor(program, single[0])
    if place is None or len(strides) != 1 or _get_stride(program, single[0]):
        return
    text, call = place
    if len(call.args) == STRIDE:
        edit = Edit(text.span(call.args[-1]).end, f", {strides[0]}")
        shown = f"`{text.written(call)[:-1]}, {strides[0]})`"
        yield Fix("fits", shown, (edit,))
    else:
        yield with_keyword(text, call, f"stride={strides[0]}")


def _list_convolutions(program: Program, fact: Fact) -> list[str]:
    """Return the convolutions of the branch that made a tensor, in its own module."""
    maker = program.producers.get(fact.tensor)
    if maker is None:
        return []
    makers = [maker, *iter_makers(program, maker)]
    home = maker.module.rpartition(".")[0].partition(".")
    paths: list[str] = []
    owner = maker.module
    while owner and program.built.get(owner) is None:
        owner = owner.rpartition(".")[0]
    block = owner.rpartition(".")[0] if home else owner
    for other in makers:
        is_own = not block or other.module.startswith(f"{block}.")
        if other.name.rpartition(".")[2] in CONVOLUTIONS and is_own:
            paths.append(other.module)
    return list(dict.fromkeys(paths))


def _get_stride(program: Program, path: str) -> str:
    """Return the stride that a convolution is built with, as written, or ''."""
    place = find_constructor(program, path)
    if place is None:
        return ""
    text, call = place
    for word in call.keywords:
        if word.arg == "stride":
            return text.written(word.value)
    return text.written(call.args[STRIDE]) if len(call.args) > STRIDE else ""


def suggest_dim_of_joins(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the one dim in which the tensors differ for all joins of a line, such as
    those of the keys and the values of a cache.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != JOINED_SIZES_DIFFER:
        return
    place = program.call_at(op.span)
    shapes = [fact.shape for fact in op.inputs]
    if place is None or len({len(shape) for shape in shapes}) != 1:
        return
    other = [
        dim for dim, sizes in enumerate(zip(*shapes, strict=True)) if len({*sizes}) > 1
    ]
    if len(other) != 1:
        return
    text, call = place
    own = _get_dim(text, call)
    calls = [
        node
        for node in text.near(call.lineno)
        if isinstance(node, ast.Call)
        and get_called_name(node) in JOINS
        and _get_dim(text, node) == own
    ]
    edits = []
    for node in calls:
        written = _find_dim(node)
        if written is None:
            return
        edits.append(Edit(text.span(written), str(other[0])))
    if len(edits) > 1:
        yield Fix("fits", f"`dim={other[0]}` of each `cat` of the line", tuple(edits))


def _find_dim(call: ast.Call) -> ast.expr | None:
    """Return the dim that a join is given."""
    words = [word.value for word in call.keywords if word.arg in ("dim", "axis")]
    return next(iter([*words, *call.args[1:2]]), None)


def _get_dim(text: SourceText, call: ast.Call) -> int | None:
    """Return the number of the dim that a join is given, 0 without one."""
    written = _find_dim(call)
    return 0 if written is None else evaluate_whole_number(written, SIGNED)


def suggest_turned_input(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `self.transformer(src, tgt.transpose(0, 1))` where one of the two has the
    time first and the other the samples.
    """
    op = program.trace.ops[failure.op]
    layer = program.layer(op)
    names = ("Transformer", "TransformerDecoder", "TransformerDecoderLayer")
    if layer is None or layer.class_name not in names or len(op.inputs) < 2:
        return
    left, right = op.inputs[0].shape, op.inputs[1].shape
    if len(left) != 3 or len(right) != 3 or left[2] != right[2]:
        return
    place = program.call_at(op.span)
    batch = 0 if _is_batch_first(program, op) else 1
    time = 1 - batch
    if place is None or left[batch] == right[batch]:
        return
    for at, (own, other) in enumerate(((left, right), (right, left))):
        expressions = find_tensor_expressions(program, op)
        node = expressions[at][0] if expressions[at] is not None else None  # type: ignore[index]
        if own[time] == other[batch] and node is not None:
            edit = Edit(place[0].span(node).end, ".transpose(0, 1)")
            shown = f"`{place[0].written(node)}.transpose(0, 1)`"
            yield Fix("fits", shown, (edit,))


def _is_batch_first(program: Program, op: Op) -> bool:
    """Return whether the transformer of a call is built with the batch first."""
    place = find_constructor(program, op.module)
    return place is not None and any(
        word.arg == "batch_first" and place[0].written(word.value) == "True"
        for word in place[1].keywords
    )
