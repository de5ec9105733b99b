"""A layer for what goes past others, where these change the number of channels."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.fixes.layer_kinds import get_nn_name
from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.provenance.origins import find_constructor, iter_arguments
from shapewright.findings.codes import BROADCAST_MISMATCH
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_last_name,
    get_own_attribute,
)
from shapewright.record.ops import Fact, Op, collect_leaves

CONVOLUTIONS = operators_with("is_convolution")
SUMS = ("+", "+=", "add", "add_")
SHORTCUTS = frozenset({"Conv1d", "Conv2d", "Conv3d"})
"""Layers that a shortcut is made of."""
FARTHEST = 40
"""Calls between the input of a block and its output."""
NAMES = ("shortcut", "projection", "skip_layer")
"""Names that a class may not have yet."""


@dataclass(frozen=True, slots=True)
class _Layer:
    """A layer on the way: how it is built, its arguments as written and as known."""

    text: SourceText
    call: ast.Call
    written: dict[str, str]
    values: dict[str, object]


def suggest_shortcut(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest a convolution of size 1, or a linear layer, for the input of a block that
    is added to its output: `self.shortcut = nn.Conv2d(cin, cout, 1, stride)`.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code != BROADCAST_MISMATCH or len(op.inputs) != 2:
        return
    if op.name.rpartition(".")[2] not in SUMS:
        return
    call = program.call_of(op)
    text_and_node = program.node(op.span)
    if call is None or text_and_node is None:
        return
    leaves = {leaf.tensor for leaf in collect_leaves(list(call.inputs))}
    places = find_tensor_expressions(program, op)
    for at, place in enumerate(places):
        mine, other = op.inputs[at], op.inputs[1 - at]
        if mine.tensor not in leaves or place is None:
            continue
        if len(mine.shape) != len(other.shape) or len(mine.shape) < 2:
            continue
        layers = _collect_layers(program, other, mine.tensor)
        if layers:
            yield from _write_shortcut(text_and_node[0], place[0], layers, mine, other)


def suggest_built_shortcuts(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `self.skip = nn.Conv2d(64, 128, 1, stride=2)` for each `nn.Identity()`
    that a block adds to maps with other channels or fewer pixels.
    """
    first = _find_identity(program, failure)
    if first is None:
        return
    owner = program.call_of(program.trace.ops[failure.op])
    layers = {first[0].span: first}
    for other in program.failures:
        call = program.call_of(program.trace.ops[other.op])
        identity = _find_identity(program, other)
        is_own = owner is not None and call is not None and call.path == owner.path
        if identity is not None and is_own:
            layers.setdefault(identity[0].span, identity)
    edits = [edit for edit, _ in layers.values()]
    shown = " and ".join(words for _, words in layers.values())
    yield Fix("fits", shown, tuple(edits))


def describe_identity(program: Program, failure: Failure) -> Related | None:
    """Return where an `nn.Identity()` is built whose result a sum refuses."""
    identity = _find_identity(program, failure)
    if identity is None:
        return None
    edit, words = identity
    name = words.strip("`").partition(" ")[0]
    return Related(edit.span, f"`{name}` is an `nn.Identity()`, which changes no size")


def _find_identity(program: Program, failure: Failure) -> tuple[Edit, str] | None:
    """Return the edit that builds a convolution for an `nn.Identity()` whose result a
    sum refuses, and its words.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    owner = program.call_of(op)
    if unmet is None or unmet.code != BROADCAST_MISMATCH or len(op.inputs) != 2:
        return None
    if owner is None or op.name.rpartition(".")[2] not in SUMS:
        return None
    for at, place in enumerate(find_tensor_expressions(program, op)):
        node = place[0] if place is not None else None
        name = get_own_attribute(node.func) if isinstance(node, ast.Call) else ""
        built = program.built.get(f"{owner.path}.{name}".lstrip(".")) if name else None
        if built is None or built.class_name != "Identity" or built.span is None:
            continue
        mine, other = op.inputs[at].shape, op.inputs[1 - at].shape
        if len(mine) != 4 or len(other) != 4 or min(mine + other) < 1:
            continue
        steps = {size // less for size, less in zip(mine[2:], other[2:], strict=True)}
        where = program.call_at(built.span)
        if len(steps) != 1 or min(steps) < 1 or where is None:
            continue
        step = steps.pop()
        stride = f", stride={step}" if step > 1 else ""
        new = f"{get_nn_name(where[0])}.Conv2d({mine[1]}, {other[1]}, 1{stride})"
        return Edit(where[0].span(where[1]), new), f"`self.{name} = {new}`"
    return None


def suggest_shortcut_condition(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `if stride != 1 or cin != cout:` where a shortcut is only built for one
    of the two.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code != BROADCAST_MISMATCH or len(op.inputs) != 2:
        return
    first, second = op.inputs[0].shape, op.inputs[1].shape
    text_and_node = program.node(op.span)
    if op.name.rpartition(".")[2] not in SUMS or text_and_node is None:
        return
    if len(first) != len(second) or len(first) < 3:
        return
    text = text_and_node[0]
    for node in text.nodes:
        if isinstance(node, ast.If | ast.IfExp):
            yield from _write_condition(text, node, first[1] != second[1])


def _write_condition(
    text: SourceText, node: ast.If | ast.IfExp, for_channels: bool
) -> Iterator[Fix]:
    """Yield the condition under which a convolution is built, with what it leaves out:
    the channels, or the stride.
    """
    inside = node.body if isinstance(node.body, list) else [node.body]
    others = node.orelse if isinstance(node.orelse, list) else [node.orelse]
    for branch, differs in ((inside, True), (others, False)):
        layer = next(
            (
                call
                for part in branch
                for call in ast.walk(part)
                if isinstance(call, ast.Call) and get_called_name(call) in SHORTCUTS
            ),
            None,
        )
        if layer is None or len(layer.args) < 2:
            continue
        words = {word.arg: word.value for word in layer.keywords}
        stride = words.get("stride", layer.args[3] if len(layer.args) > 3 else None)
        fewer, more = (text.written(argument) for argument in layer.args[:2])
        if for_channels:
            parts = [fewer, "!=" if differs else "==", more]
            is_left_out = fewer != more
            used = collect_names(layer.args[0]) | collect_names(layer.args[1])
        else:
            step = text.written(stride) if stride is not None else ""
            parts = [step, "!=" if differs else "==", "1"]
            is_left_out = stride is not None and not _is_number(step)
            used = collect_names(stride) if stride is not None else set()
        if is_left_out and used and not used & collect_names(node.test):
            word = "or" if differs else "and"
            condition = f"{' '.join(parts)} {word} {text.written(node.test)}"
            edit = Edit(text.span(node.test), condition)
            yield Fix("fits", f"`{join_lines(condition)}`", (edit,))


def _collect_layers(program: Program, fact: Fact, start: int) -> list[_Layer]:
    """Return the convolutions and linear layers on the way from the input of a block,
    in order; empty if the way is not known.
    """
    layers: list[_Layer] = []
    for _ in range(FARTHEST):
        if fact.tensor == start:
            return layers[::-1]
        op = program.producers.get(fact.tensor)
        if op is None or not op.inputs:
            return []
        if op.name.rpartition(".")[2] in CONVOLUTIONS | {"linear"}:
            layer = _read_layer(program, op)
            if layer is None:
                return []
            layers.append(layer)
        fact = op.inputs[0]
    return []


def _read_layer(program: Program, op: Op) -> _Layer | None:
    """Return how the layer of a call is built."""
    call = program.layer(op)
    built = find_constructor(program, call.path) if call is not None else None
    if call is None or built is None:
        return None
    arguments = list(iter_arguments(program, call.path))
    written = {name: built[0].written(node) for name, node, _ in arguments}
    values = {name: _get_one(value) for name, _, value in arguments}
    return _Layer(*built, written, values)


def _get_one(value: object) -> object:
    """Return the number that a tuple holds for each dim, or the value."""
    alike = isinstance(value, tuple) and len(set(value)) == 1
    return value[0] if alike and isinstance(value, tuple) else value


def _write_shortcut(
    text: SourceText, place: ast.expr, layers: list[_Layer], mine: Fact, other: Fact
) -> Iterator[Fix]:
    """Yield the layer and its call, in the words of the layers on the way."""
    first, last = layers[0], layers[-1]
    scope = text.around(place, ast.ClassDef)
    maker = first.text.around(first.call, ast.FunctionDef)
    if scope is None or any(
        layer.text is not text
        or text.around(layer.call, ast.ClassDef) is not scope
        or text.around(layer.call, ast.FunctionDef) is not maker
        for layer in layers
    ):
        return
    is_map = "out_channels" in last.written
    own, result = ("in_channels", "out_channels") if is_map else (
        "in_features", "out_features"
    )  # fmt: skip
    if own not in first.written or result not in last.written:
        return
    strides = [
        (layer.written["stride"], layer.values.get("stride"))
        for layer in layers
        if "stride" in layer.written and layer.written["stride"] != "1"
    ]
    if len(strides) > 1:
        return
    step = strides[0][1] if strides else 1
    if not isinstance(step, int) or not _is_reached(mine, other, is_map, step):
        return
    fewer, more = first.written[own], last.written[result]
    kind = text.written(last.call.func)
    arguments = [fewer, more, *(["1"] if is_map else []), *(s for s, _ in strides)]
    layer = f"{kind}({', '.join(arguments)})"
    conditions = [f"{fewer} == {more}"]
    conditions += [f"{s} == 1" for s, _ in strides if not s.isdigit()]
    if not (_is_number(fewer) and _is_number(more)):
        owner = kind.rpartition(".")[0]
        same = f"{owner}.Identity()" if owner else ""
        if same:
            layer = f"{same} if {' and '.join(conditions)} else {layer}"
    name = next((n for n in NAMES if f"self.{n}" not in text.text), "")
    statement = text.statement_of(last.call)
    if not name or statement is None or get_last_name(last.call.func) == "":
        return
    new = f"self.{name} = {layer}"
    called = f"self.{name}({text.written(place)})"
    edits = (write_after(text, statement, new), Edit(text.span(place), called))
    yield Fix("fits", f"`{join_lines(new)}` and `{called}`", edits)


def _is_reached(mine: Fact, other: Fact, is_map: bool, step: int) -> bool:
    """Return whether a layer of size 1 with such a stride gives the shape of the sum's
    other side.
    """
    if mine.shape[0] != other.shape[0]:
        return False
    if not is_map:
        return mine.shape[:-1] == other.shape[:-1]
    pixels = tuple((size - 1) // step + 1 for size in mine.shape[2:])
    return pixels == other.shape[2:]


def _is_number(written: str) -> bool:
    """Return whether an argument is written as a number."""
    return evaluate_whole_number(ast.parse(written, mode="eval").body) is not None
