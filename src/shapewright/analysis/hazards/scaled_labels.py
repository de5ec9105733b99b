"""Find pixels and labels whose scale a transform leaves or changes: `ToDtype` without
`scale=True` in front of `Normalize`, masks of classes that `ToTensor` divides by 255.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import SCALED_LABELS, UNSCALED_PIXELS, looks_for
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_name,
    iter_assignments,
)
from shapewright.record.ops import Fact

LARGEST_MEAN = 1.0
"""What a mean of pixels between 0 and 1 is less than."""


def find_unscaled_steps(scene: HazardContext) -> Iterator[Finding]:
    """Find lists of transforms that make floats of bytes as they are, and normalize
    them by means below 1.
    """
    for text in scene.program.own_texts():
        for listed in text.nodes:
            steps = listed.elts if isinstance(listed, ast.List | ast.Tuple) else []
            names = [get_called_name(step) for step in steps]
            if not {"ToDtype", "Normalize"} <= set(names) or "ToTensor" in names:
                continue
            cast, norm = steps[names.index("ToDtype")], steps[names.index("Normalize")]
            if not isinstance(cast, ast.Call) or not _has_small_means(norm):
                continue
            words = {word.arg for word in cast.keywords}
            is_scaled = len(cast.args) > 1 or "scale" in words
            is_float = any("float" in text.written(arg) for arg in cast.args[:1])
            if is_scaled or not is_float or "ConvertImageDtype" in names:
                continue
            message = (
                f"`{text.line_of(cast)}` keeps pixels between 0 and 255, and"
                " `Normalize` takes the mean of pixels between 0 and 1 from them:"
                " `scale=True` divides by 255"
            )
            related = (Related(text.span(norm), "they are normalized here"),)
            yield Finding(
                UNSCALED_PIXELS, "warning", message, text.span(cast), related=related
            )


def _has_small_means(norm: ast.expr) -> bool:
    """Return whether a `Normalize` subtracts numbers below 1."""
    words = getattr(norm, "keywords", [])
    values = list(getattr(norm, "args", [])[:1])
    values += [word.value for word in words if word.arg == "mean"]
    numbers = [
        part.value
        for value in values
        for part in ast.walk(value)
        if isinstance(part, ast.Constant) and isinstance(part.value, float)
    ]
    return bool(numbers) and max(numbers) < LARGEST_MEAN


WHITE = 255
BLACK_AND_WHITE = (0, WHITE)
DIVISIONS = operators_with("divides_elements")
PRODUCTS = frozenset({"*", "mul", "mul_"})


def _is_division_by_white(call: OperatorCall) -> bool:
    """Return whether a call divides floats by 255."""
    is_divided = call.name in DIVISIONS
    return is_divided and len(call.op.inputs) == 1 and call.given(1) == WHITE


@looks_for(SCALED_LABELS)
def find_scaled_labels(scene: HazardContext) -> Iterator[Finding]:
    """Find masks of classes that are made a tensor by `ToTensor` and whole numbers
    afterwards: all are 0 then. The white of a mask becomes 1.
    """
    values = scene.program.data_values.values()
    if any(data.kinds == BLACK_AND_WHITE for data in values):
        return
    seen: set[object] = set()
    for text in scene.program.own_texts():
        makers = set(_iter_makers(text))
        for node in text.nodes:
            if get_called_name(node) != "long" or not isinstance(node, ast.Call):
                continue
            source = get_receiver(node)
            while isinstance(source, ast.Call) and not _is_made(source, makers):
                inner = get_receiver(source)
                source = inner if PASSING.fullmatch(get_called_name(source)) else None
            if not isinstance(source, ast.Call):
                continue
            message = (
                f"`{text.line_of(source)}` divides the numbers of the classes by 255,"
                " and `long()` makes 0 of each of them"
            )
            seen.add(text.span(node))
            yield Finding(SCALED_LABELS, "warning", message, text.span(node))
    yield from _find_scaled_casts(scene, seen)


def _find_scaled_casts(scene: HazardContext, seen: set[object]) -> Iterator[Finding]:
    """Find casts to whole numbers of what was divided by 255, in a data set's pipeline
    or behind it: `transforms.Compose([..., ToTensor()])(mask)`, then `masks.long()`.
    """
    for call in scene.calls:
        if call.name not in CASTS or call.op.span in seen or not call.op.inputs:
            continue
        fact = call.op.inputs[0]
        is_whole = call.op.outputs and call.op.outputs[0].dtype == "int64"
        if not is_whole or not fact.dtype.startswith("float"):
            continue
        for _ in range(FARTHEST):
            maker = scene.maker(fact)
            if maker is None or not maker.op.inputs:
                break
            if _is_division_by_white(maker):
                if _is_white(scene, maker.op.inputs[0]):
                    break
                seen.add(call.op.span)
                name = scene.words(call.op)[0]
                message = (
                    f"{name} holds numbers of classes that were divided by 255, and"
                    f" {scene.operation(call.op)} makes 0 of each of them"
                )
                places = _list_transforms(scene)
                finding = scene.finding(SCALED_LABELS, call.op, message)
                yield replace(finding, related=(*finding.related, *places))
                break
            if maker.name not in CARRYING:
                break
            fact = maker.op.inputs[0]


def _is_white(scene: HazardContext, fact: Fact) -> bool:
    """Return whether numbers were multiplied by 255 before."""
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return False
        if maker.name in PRODUCTS and maker.given(1) == WHITE:
            return True
        if maker.name not in CARRYING:
            return False
        fact = maker.op.inputs[0]
    return False


def _list_transforms(scene: HazardContext) -> list[Related]:
    """Return where `ToTensor` ends a list of transforms without `Normalize`, if there
    is one such list.
    """
    places = [
        Related(text.span(listed.elts[-1]), "`ToTensor` divides by 255 here")
        for text in scene.program.own_texts()
        for listed in text.nodes
        if isinstance(listed, ast.List) and listed.elts
        if get_called_name(listed.elts[-1]) == "ToTensor"
    ]
    return places if len(places) == 1 else []


CASTS = frozenset({"long", "to", "type", "int"})
CARRYING = {"[]"} | operators_with(
    "is_view", "joins_tensors", "moves_device", "shows_elements"
)
FARTHEST = 16
"""Calls between the bytes of a mask and its cast."""


PASSING = re.compile(r"(un)?squeeze|view|reshape|contiguous|to|flatten")
"""Methods between a tensor and its cast."""


def _iter_makers(text: SourceText) -> Iterator[str]:
    """Yield the names of `ToTensor` objects, and of the function."""
    yield "to_tensor"
    for target, value in iter_assignments(text.tree):
        if get_called_name(value) == "ToTensor" and get_last_name(target):
            yield get_last_name(target)


def _is_made(call: ast.Call, makers: set[str]) -> bool:
    """Return whether a call makes a tensor of a picture: `ToTensor()(mask)`."""
    if isinstance(call.func, ast.Call):
        return get_called_name(call.func) == "ToTensor"
    return get_last_name(call.func) in makers and len(call.args) == 1
