"""Find inputs and targets that are shuffled by two different permutations.

Which rows a tensor takes is known from the run. NumPy shuffles its arrays unseen: there
two statements beside each other must draw an order each, and a later call must take
both arrays as samples and labels.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import ALL_LOSSES, HazardContext
from shapewright.analysis.hazards.loss_terms import find_ancestors, find_base
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.view_axes import get_items
from shapewright.findings.codes import SEPARATE_PERMUTATIONS, looks_for
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining, get_receiver
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    get_last_name,
)
from shapewright.record.ops import Fact

MOST = 1_000
"""Calls before a loss that are looked at."""
DRAWS = frozenset({"randperm", "permutation"})
TENSORS = operators_with("takes_program_data") | {"array"}
"""Functions that make a tensor of an array."""
LABELS = re.compile(r"(^|_)(y|labels?|targets?|masks?|classes|tags)\d*($|_)")
"""Names of what belongs to samples, row by row."""
PAIRING = frozenset({"TensorDataset", "zip", *ALL_LOSSES})
"""Functions that take samples and their labels."""


@looks_for(SEPARATE_PERMUTATIONS)
def find_separate_permutations(scene: HazardContext) -> Iterator[Finding]:
    """Find losses whose targets were put in another random order than their inputs."""
    texts = list(scene.program.own_texts())
    draws = DRAWS | {"shuffle"}
    if not any(draw in text.text for text in texts if text for draw in draws):
        return
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in ALL_LOSSES or len(call.op.inputs) < 2:
            continue
        prediction, target = call.op.inputs[:2]
        if call.op.span in seen or target.requires_grad or not prediction.requires_grad:
            continue
        seen.add(call.op.span)
        of_target = _find_orders(scene, target)
        of_inputs = _find_orders(scene, prediction) if of_target else {}
        if not of_inputs or of_target.keys() & of_inputs.keys():
            continue
        own, other = next(iter(of_target.values())), next(iter(of_inputs.values()))
        if own.op.span is None or own.op.span in seen or _count(own) != _count(other):
            continue
        seen.add(own.op.span)
        names = scene.words(other.op)[0], scene.words(own.op)[0]
        message = (
            f"{names[0]} and {names[1]} are shuffled by two different permutations: the"
            " rows of one no longer belong to the rows of the other"
        )
        yield scene.finding(
            SEPARATE_PERMUTATIONS,
            own.op,
            message,
            (other.op, f"{names[0]} is shuffled here"),
            (call.op, "the loss takes their rows together"),
        )
    trains = any(op.name.endswith("backward") for op in scene.program.trace.ops)
    for text in texts if trains else ():
        if text is not None:
            yield from _find_shuffled_arrays(scene, text)


def _count(call: OperatorCall) -> int:
    """Return the number of rows of what a call puts in another order."""
    return call.op.inputs[0].shape[0]


def _find_orders(scene: HazardContext, fact: Fact) -> dict[object, OperatorCall]:
    """Return the calls that put all rows of the data of a tensor in a random order, by
    the permutation's tensor or the call that draws it.
    """
    orders: dict[object, OperatorCall] = {}
    for call in find_ancestors(scene, fact, MOST).values():
        rows = _find_permutation(scene, call)
        if rows is not None:
            orders.setdefault(rows, call)
    return orders


def _find_permutation(scene: HazardContext, call: OperatorCall) -> object:
    """Return the tensor of the permutation by which a call chooses rows, or the call
    that draws it, or None.
    """
    if not call.op.inputs or not call.op.inputs[0].shape:
        return None
    if call.op.inputs[0].requires_grad:
        return None
    place = scene.program.node(call.op.span) if call.name == "[]" else None
    if place is not None and isinstance(place[1], ast.Subscript):
        drawn = _find_draw(place[0], place[1].slice)
        if drawn is not None and get_called_name(drawn) == "permutation":
            same = call.op.outputs[0].shape == call.op.inputs[0].shape
            return drawn if same else None
    if len(call.op.inputs) != 2:
        return None
    if call.name == "[]":
        items = get_items(call)
        if items is not None and items[:1] != ("tensor",):
            return None
    elif call.name != "index_select" or call.given(1, "dim") != 0:
        return None
    base = find_base(scene, call.op.inputs[1], {"[]"})
    maker = scene.maker(base)
    if maker is None or maker.name != "randperm":
        return None
    return base.tensor if base.shape == call.op.inputs[0].shape[:1] else None


def _find_draw(text: SourceText, index: ast.expr) -> ast.expr | None:
    """Return the only call that draws the order by which an index chooses, or None."""
    if isinstance(index, ast.Name | ast.Attribute):
        values = find_defining(text, get_last_name(index))
        index = values[0] if len(values) == 1 else index
    while get_called_name(index) in TENSORS and isinstance(index, ast.Call):
        if not index.args:
            return None
        index = index.args[0]
    return index if get_called_name(index) in DRAWS else None


def _find_shuffled_arrays(scene: HazardContext, text: SourceText) -> Iterator[Finding]:
    """Find arrays, of which a run knows no rows, that are put into an order each and
    taken as samples and labels.
    """
    known = {call.op.span for call in scene.calls if call.name == "[]"}
    shuffled: list[tuple[ast.Assign | ast.Expr, str, ast.expr]] = []
    for node in text.nodes:
        shuffle = _read_shuffle(text, node)
        value = getattr(node, "value", None)
        if shuffle is not None and value and text.span(value) not in known:
            shuffled.append(shuffle)
    for at, (first, name, drawn) in enumerate(shuffled):
        for second, other, again in shuffled[at + 1 :]:
            is_beside = text.parent(first) is text.parent(second)
            if name == other or drawn is again or not is_beside:
                continue
            if _is_seeded_between(text, first, second):
                continue
            taken = _find_pairing(text, second, name, other)
            if taken is not None:
                places = text.span(first.value), text.span(taken)
                yield Finding(
                    SEPARATE_PERMUTATIONS,
                    "warning",
                    f"`{name}` and `{other}` are shuffled by two different"
                    " permutations: the rows of one no longer belong to the rows of"
                    " the other",
                    text.span(second.value),
                    related=(
                        Related(places[0], f"`{name}` is shuffled here"),
                        Related(places[1], "their rows are taken together here"),
                    ),
                )


def _read_shuffle(
    text: SourceText, node: ast.AST
) -> tuple[ast.Assign | ast.Expr, str, ast.expr] | None:
    """Return a statement that puts an array in a random order, with the array's name
    and what draws the order: `x = x[order]`, `x = permutation(x)`, `shuffle(x)`.
    """
    if isinstance(node, ast.Expr) and get_called_name(node.value) == "shuffle":
        call = node.value
        if isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords:
            name = get_dotted_name(call.args[0])
            is_fresh = isinstance(get_receiver(call), ast.Call)
            return (node, name, call) if name and not is_fresh else None
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    value, name = node.value, get_dotted_name(node.targets[0])
    if isinstance(value, ast.Subscript):
        drawn = _find_draw(text, value.slice)
        same = name and name == get_dotted_name(value.value)
        return (node, name, drawn) if drawn is not None and same else None
    if isinstance(value, ast.Call) and get_called_name(value) == "permutation":
        own = value.args and name and name == get_dotted_name(value.args[0])
        is_fresh = isinstance(get_receiver(value), ast.Call)
        return (node, name, value) if own and not is_fresh else None
    return None


def _is_seeded_between(text: SourceText, first: ast.stmt, second: ast.stmt) -> bool:
    """Return whether a seed is set between two statements: both orders are then one."""
    return any(
        isinstance(node, ast.Call)
        and get_called_name(node) in SEEDS
        and first.lineno < node.lineno <= second.lineno
        for node in text.nodes
    )


SEEDS = frozenset({"seed", "set_state", "manual_seed", "setstate", "default_rng"})


def _find_pairing(
    text: SourceText, after: ast.stmt, name: str, other: str
) -> ast.expr | None:
    """Return a later call or tuple that has both of two arrays, each alone, as samples
    and labels.
    """
    for node in text.nodes:
        members: list[ast.expr] = []
        if isinstance(node, ast.Call) and get_called_name(node) in PAIRING:
            members = node.args[:2]
        elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
            # Two sets may be returned together, too.
            of_labels = bool(LABELS.search(name) or LABELS.search(other))
            of_labels = of_labels or _is_pair_of_parts(node)
            members = node.elts[:2] if of_labels else []
        if not members or not isinstance(node, ast.Call | ast.Tuple):
            continue
        parts = [
            {get_dotted_name(n) for n in ast.walk(part)} & {name, other}
            for part in members
        ]
        is_pair = len(parts) == 2 and all(len(part) == 1 for part in parts)
        if node.lineno > after.lineno and is_pair and parts[0] != parts[1]:
            return node
    return None


def _is_pair_of_parts(node: ast.Tuple) -> bool:
    """Return whether a tuple has the same slice of a list of tensors, and of a list of
    numbers: `stack(rows[i:j]), tensor(classes[i:j])`.
    """
    if len(node.elts) != 2:
        return False
    names = {get_called_name(part) for part in node.elts}
    slices = {
        ast.unparse(inner.slice)
        for part in node.elts
        for inner in ast.walk(part)
        if isinstance(inner, ast.Subscript)
    }
    return (
        bool(names & {"tensor", "LongTensor"})
        and "stack" in names
        and (len(slices) == 1)
    )
