"""Find boxes that an overlap takes for corners, and that are converted elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shapewright.analysis.hazards.context import LAYERS, HazardContext
from shapewright.analysis.makers import iter_first_makers
from shapewright.findings.codes import BOX_FORMAT
from shapewright.findings.finding import Finding
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact, Op

OVERLAPS = frozenset({
    "box_iou", "generalized_box_iou", "complete_box_iou", "distance_box_iou",
    "generalized_box_iou_loss", "complete_box_iou_loss", "distance_box_iou_loss",
    "nms", "batched_nms", "box_area",
})  # fmt: skip
"""Functions of torchvision that take boxes as (x1, y1, x2, y2)."""
CONVERSION = re.compile(r"(xywh|cxcywh)(_to_|2)xyxy")
CORNERS = "xyxy"
FARTHEST = 24
"""Calls between a layer and the boxes that it makes."""


def find_box_formats(scene: HazardContext) -> Iterator[Finding]:
    """Find overlaps of boxes of a layer that another place converts to corners."""
    overlaps: list[tuple[Op, _Named, set[object]]] = []
    converted: dict[object, Op] = {}
    for call in scene.calls if has_overlap(scene) else ():
        named = _find_named_call(scene, call.op)
        if named is None:
            continue
        origins = {_find_origin(scene, fact) for fact in call.op.inputs} - {None}
        if _is_overlap(named.call):
            overlaps.append((call.op, named, origins))
        else:
            converted.update(dict.fromkeys(origins, call.op))
    seen: set[object] = set()
    for op, named, origins in overlaps:
        both = [origin for origin in origins if origin in converted]
        if not both or named.span in seen:
            continue
        seen.add(named.span)
        name = get_called_name(named.call)
        message = (
            f"`{name}` takes boxes as corners, (x1, y1, x2, y2): these come as they are"
            " from a layer whose boxes are converted to corners elsewhere"
        )
        where = (converted[both[0]], "they are converted here")
        finding = scene.finding(BOX_FORMAT, op, message, where)
        yield replace(finding, span=named.span)


def has_overlap(scene: HazardContext) -> bool:
    """Return whether a text of the program speaks of overlaps of boxes."""
    sources = scene.program.trace.sources.values()
    return any(
        source.text is not None and ("_iou" in source.text or "nms" in source.text)
        for source in sources
    )


@dataclass(frozen=True, slots=True)
class _Named:
    """A call of an overlap or a conversion in the text of the program."""

    call: ast.Call
    span: Span


def _find_named_call(scene: HazardContext, op: Op) -> _Named | None:
    """Return the overlap or the conversion that an op belongs to, or None."""
    for frame in op.frames:
        place = scene.program.call_at(frame.span)
        if place is None:
            continue
        if _is_overlap(place[1]) or is_conversion(place[1]):
            return _Named(place[1], frame.span)
    return None


def _is_overlap(call: ast.Call) -> bool:
    return get_called_name(call) in OVERLAPS


def is_conversion(call: ast.Call) -> bool:
    """Return whether a call converts boxes of another format to corners."""
    name = get_called_name(call)
    if name == "box_convert":
        values = [*call.args[1:], *(word.value for word in call.keywords)]
        formats = [v.value for v in values if isinstance(v, ast.Constant)]
        return len(formats) == 2 and formats[1] == CORNERS != formats[0]
    return CONVERSION.search(name) is not None


def _find_origin(scene: HazardContext, fact: Fact) -> object:
    """Return the layer that boxes come from, unless they were converted; else None."""
    for op in iter_first_makers(scene.program, fact, FARTHEST):
        if _find_named_call(scene, op) is not None:
            return None
        if op.name.rpartition(".")[2] in LAYERS:
            return op.module, op.span
    return None
