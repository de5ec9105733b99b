"""Find boxes that are put together of centres and sizes, and go to an overlap, such as
`nms`, that takes them for corners. No conversion has to stand elsewhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.hazards.box_formats import (
    FARTHEST,
    OVERLAPS,
    find_box_formats,
    has_overlap,
    is_conversion,
)
from shapewright.analysis.hazards.box_overlaps import find_unlimited_overlaps
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import PRODUCTS
from shapewright.analysis.makers import iter_first_makers
from shapewright.findings.codes import BOX_FORMAT, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name
from shapewright.record.ops import Fact, Op

CENTRE = re.compile(
    r"(^|_)(p?[cb]_?[xy]|[xy]_?c(ent(er|re)s?)?|(ctr|cent(er|re)s?)(_?[xy])?|xy)s?($|_)"
)
SIZE = re.compile(r"(^|_)([pb]?[wh]|wh|widths?|heights?|sizes?)($|_)")
KEEPING = (
    operators_with("regroups_dims")
    | operators_with("is_view", "copies_if_needed")
    | operators_with("divides_elements", "limits_from_below", "keeps_elements")
    | PRODUCTS
    | {"[]", "sigmoid"}
)  # fmt: skip
"""Calls after which boxes are of the format that they had."""
MOST_FACTORS = 4
"""Numbers by which boxes are scaled: one for each column."""
PAIRS = operators_with("joins_tensors") | {"tensor", "as_tensor"}


@looks_for(BOX_FORMAT)
def find_centred_boxes(scene: HazardContext) -> Iterator[Finding]:
    """Find overlaps of boxes that were put together of centres and sizes, and those of
    boxes that another place converts.
    """
    yield from find_unlimited_overlaps(scene)
    yield from find_box_formats(scene)
    entering: dict[Span, dict[int, tuple[Op, Fact]]] = {}
    for call in scene.calls if has_overlap(scene) else ():
        span = _find_overlap(scene, call.op)
        if span is None:
            continue
        for fact in call.op.inputs:
            maker = scene.program.producers.get(fact.tensor)
            inside = maker is not None and _find_overlap(scene, maker) == span
            if not inside and fact.shape[-1:] == (4,):
                entering.setdefault(span, {}).setdefault(fact.tensor, (call.op, fact))
    for span, facts in entering.items():
        joins = {
            tensor: join
            for tensor, (_, fact) in facts.items()
            if (join := _find_join(scene, fact)) is not None
        }
        place = scene.program.call_at(span)
        if not joins or place is None:
            continue
        name = get_called_name(place[1])
        message = (
            f"`{name}` takes boxes as corners, (x1, y1, x2, y2): these are put"
            " together of centres and sizes"
        )
        places = list(dict.fromkeys(joins.values()))
        sides = min(len(joins), 2)
        related = [(join, "of centres and sizes, here") for join in places[:sides]]
        op = facts[next(iter(joins))][0]
        finding = scene.finding(BOX_FORMAT, op, message, *related)
        yield replace(finding, span=span)


def _find_overlap(scene: HazardContext, op: Op) -> Span | None:
    """Return the first call of an overlap that an op belongs to; None where boxes are
    converted within it, or the program has a function of that name that does not read
    corners.
    """
    for frame in op.frames:
        place = scene.program.call_at(frame.span)
        if place is None:
            continue
        text, call = place
        if is_conversion(call):
            return None
        name = get_called_name(call)
        own = [
            node
            for _, node in text.functions()
            if isinstance(node, ast.FunctionDef) and node.name == name
        ]
        if own and ("iou" in name or "nms" in name) and _is_read_as_corners(own[-1]):
            return frame.span
        if not own and name in OVERLAPS:
            return frame.span
    return None


def _is_read_as_corners(function: ast.FunctionDef) -> bool:
    """Return whether a function reads the smaller of the last two columns of its boxes
    as they are given, or hands them to an overlap that does.
    """
    boxes = {arg.arg for arg in function.args.args}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                names = [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]
                is_boxes = any(re.search("box|^[ab]$|pred|target", n) for n in names)
                if is_boxes and boxes & set(names):
                    return False
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        name = get_called_name(node)
        if name in OVERLAPS and name != function.name:
            return all(_get_read_name(arg) in boxes for arg in node.args[:2])
        if name in ("min", "minimum") and len(node.args) == 2:
            return all(
                _get_read_name(arg) in boxes and _is_of_far_corner(arg)
                for arg in node.args
            )
    return False


def _get_read_name(node: ast.AST) -> str:
    """Return the name of which an expression takes parts."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_of_far_corner(node: ast.AST) -> bool:
    """Return whether an expression takes the last two columns, or one of them."""
    if not isinstance(node, ast.Subscript):
        return False
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    last = ast.unparse(items[-1])
    return last in ("2:", "2:4", "2", "3", "-2:", "-1", "-2")


def _find_join(scene: HazardContext, fact: Fact) -> Op | None:
    """Return the call that puts boxes together of centres and sizes, or None."""
    storages, ends = {fact.storage}, None
    for op in iter_first_makers(scene.program, fact, FARTHEST):
        name = op.name.rpartition(".")[2]
        if name in PAIRS:
            kind = _get_kind_of_join(scene, op)
            if kind == "boxes":
                ends = op
                break
            if kind != "rows":
                return None
        elif name not in KEEPING or _is_weighted(op, name):
            return None
        storages |= {out.storage for out in op.outputs}
    if ends is None:
        return None
    storages |= {out.storage for out in ends.outputs}
    return None if any(scene.writes.get(storage) for storage in storages) else ends


def _is_weighted(op: Op, name: str) -> bool:
    """Return whether each box is multiplied by numbers of its own."""
    is_product = name in ("*", "/", "mul", "div")
    return is_product and any(part.numel > MOST_FACTORS for part in op.inputs[1:])


def _get_kind_of_join(scene: HazardContext, op: Op) -> str:
    """Return what a call joins: "boxes" of centres and sizes, "rows" of boxes, or
    something else.
    """
    out = op.outputs[0]
    if out.shape[-1:] != (4,):
        return ""
    if op.inputs and op.inputs[0].shape[-1:] == (4,):
        return "rows"
    place = scene.program.call_at(op.span)
    parts = place[1].args[0] if place is not None and place[1].args else None
    if not isinstance(parts, ast.List | ast.Tuple):
        return ""
    names = [_get_name(part) for part in parts.elts]
    if len(names) == 4:
        fits = all(map(CENTRE.search, names[:2])) and all(map(SIZE.search, names[2:]))
        return "boxes" if fits else ""
    if len(names) != 2 or not op.inputs:
        return ""
    first = CENTRE.search(names[0]) is not None
    if not first:
        maker = scene.program.producers.get(op.inputs[0].tensor)
        first = maker is not None and _is_pair_of_centres(scene, maker)
    elif names[0].endswith("xy"):
        first = SIZE.search(names[1]) is not None and bool(names[1])
    is_difference = isinstance(parts.elts[1], ast.BinOp) and isinstance(
        parts.elts[1].op, ast.Add | ast.Sub
    )
    return "boxes" if first and not is_difference else ""


def _is_pair_of_centres(scene: HazardContext, op: Op) -> bool:
    """Return whether a call joins two numbers of centres: `stack([cx, cy])`."""
    place = scene.program.call_at(op.span)
    if place is None or op.name.rpartition(".")[2] not in PAIRS or not place[1].args:
        return False
    parts = place[1].args[0]
    if not isinstance(parts, ast.List | ast.Tuple) or len(parts.elts) != 2:
        return False
    return all(CENTRE.search(_get_name(part)) is not None for part in parts.elts)


def _get_name(node: ast.AST) -> str:
    """Return the name of a value of which parts or multiples are taken; empty for sums
    and differences.
    """
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            node = node.left
        else:
            return get_dotted_name(node).rpartition(".")[2].lower()
