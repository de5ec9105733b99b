"""Transforms of images: their channels and sizes, where a tensor is made of them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from shapewright.analysis.causes import trace_dim
from shapewright.analysis.einops_errors import find_uneven_dim
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    IN_PLACE_TOO_SMALL,
    JOINED_SIZES_DIFFER,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText
from shapewright.program.spans import is_installed
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import collect_leaves

DIGITS = 4
"""Those of a mean of three numbers."""
TENSORS = ("ToTensor", "PILToTensor", "ToImage")
"""Transforms that make a tensor of an image."""


def suggest_channels(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest one mean and one deviation for images in grey, or images in colour, where
    `Normalize` has numbers for three channels.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != IN_PLACE_TOO_SMALL or not op.inputs:
        return
    call = program.call_of(op)
    own = [frame.span for frame in op.frames if not is_installed(frame.span.file)]
    text = program.text(own[-1].file) if own else None
    if text is None or call is None or call.class_name != "Normalize":
        return
    for node in text.nodes:
        if isinstance(node, ast.Call) and get_called_name(node) == "Normalize":
            yield from _suggest_single_numbers(text, node)
    colours = f"Grayscale(num_output_channels={unmet.has})"
    yield from suggest_transform(text, colours, ("Grayscale",))


def suggest_fitting_images(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest images of the size that a network gives back, where it halves and doubles
    them and rounds in between: `transforms.Resize((216, 176))` for 218 x 178.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_MAPS or len(op.inputs) != 2:
        return
    first, second = (fact.shape for fact in op.inputs)
    if len(first) != 4 or len(second) != 4 or first[-2:] == second[-2:]:
        return
    larger = tuple(map(max, first[-2:], second[-2:]))
    smaller = tuple(map(min, first[-2:], second[-2:]))
    if any(
        size < LEAST_SHARE * whole for size, whole in zip(smaller, larger, strict=True)
    ):
        return
    resize = f"Resize({smaller})"
    for file in program.trace.sources:
        text = program.text(file)
        if text is not None and not is_installed(file):
            yield from suggest_transform(text, resize, ("Resize", "CenterCrop"))


def suggest_divided_images(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest images of the size that a model had before, or of the next smaller one,
    where a map that is made of them is cut into equal parts.
    """
    uneven = find_uneven_dim(program, finding)
    if uneven is None:
        return
    fact, dim, divisor = uneven
    way = trace_dim(program, fact, dim)
    sides = _get_sides(way.fact.shape)
    if way.why != "start" or not sides or not way.steps:
        return
    step = max(1, round(way.fact.shape[way.dim] / fact.shape[dim])) * divisor
    shapes = [
        leaf.shape
        for call in program.trace.calls
        for leaf in collect_leaves(call.inputs)[:1]
    ]
    earlier: list[tuple[int, ...]] = [
        tuple(shape[2:]) for shape in shapes if len(shape) == 4 and shape[1] in CHANNELS
    ]
    sizes: list[tuple[int, ...]] = [
        shape for shape in earlier if not any(size % step for size in shape)
    ][:1]
    sizes.append(tuple(max(step, size - size % step) for size in sides))
    for file in program.trace.sources:
        text = program.text(file)
        if text is not None and not is_installed(file):
            for size in dict.fromkeys(sizes):
                yield from suggest_transform(
                    text, f"Resize({size})", ("Resize", "CenterCrop")
                )


CHANNELS = (1, 3, 4)
"""Channels of images in grey, in RGB and in RGBA."""


def _get_sides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the height and width of an image or of a batch of images."""
    if len(shape) == 4 and shape[1] in CHANNELS:
        return shape[2:]
    if len(shape) == 3:
        return shape[:2] if shape[-1] in CHANNELS else shape[1:]
    return ()


OF_MAPS = frozenset({BROADCAST_MISMATCH, TARGET_SHAPE, JOINED_SIZES_DIFFER})
"""Codes of maps that meet with other heights or widths."""
LEAST_SHARE = 0.75
"""How much of an image is left of it at least."""


def _suggest_single_numbers(text: SourceText, node: ast.Call) -> Iterator[Fix]:
    """Suggest `Normalize((0.5,), (0.5,))` for three numbers of each: the one that all
    are equal to, or their mean.
    """
    values = [*node.args[:2], *(word.value for word in node.keywords)]
    edits = []
    for value in values:
        known = find_known_value(text, value) if isinstance(value, ast.Name) else value
        if isinstance(known, ast.Tuple | ast.List) and len(known.elts) > 1:
            number = _get_mean(text, known)
            if not number:
                return
            new = f"[{number}]" if isinstance(known, ast.List) else f"({number},)"
            edits.append(Edit(text.span(value), new))
    if len(edits) != 2:
        return
    first, second = (edit.text for edit in edits)
    message = f"`{text.written(node.func)}({first}, {second})`"
    yield Fix("fits", message, tuple(edits))


def _get_mean(text: SourceText, values: ast.Tuple | ast.List) -> str:
    """Return what several numbers are all written as, or else their mean, or nothing
    where they are not known.
    """
    written = {text.written(element) for element in values.elts}
    if len(written) == 1:
        return written.pop()
    numbers = [
        element.value
        for element in values.elts
        if isinstance(element, ast.Constant) and isinstance(element.value, int | float)
    ]
    if len(numbers) != len(values.elts):
        return ""
    return str(round(sum(numbers) / len(numbers), DIGITS))


def suggest_transform(
    text: SourceText, transform: str, beside: Collection[str]
) -> Iterator[Fix]:
    """Suggest a transform in front of `ToTensor()`, in each `Compose` that has none
    whose name ends as one of `beside`.
    """
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) != "Compose":
            continue
        first = node.args[0] if node.args else None
        steps = first.elts if isinstance(first, ast.List) else []
        calls = [step for step in steps if isinstance(step, ast.Call)]
        names = [get_called_name(step) for step in calls]
        if any(name.endswith(tuple(beside)) for name in names):
            continue
        for step, name in zip(calls, names, strict=True):
            owner, dot, _ = text.written(step.func).rpartition(".")
            if name in TENSORS and dot:
                written = text.written(step)
                new = f"{owner}.{transform}"
                edit = Edit(text.span(step), f"{new}, {written}")
                yield Fix("fits", f"`{new}` in front of `{written}`", (edit,))


def suggest_channels_before_transform(
    program: Program, failure: Failure
) -> Iterator[Fix]:
    """Suggest `normalize(image.permute(2, 0, 1))` for an image whose channels are last
    still, and which is permuted behind the transform, or never.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != BROADCAST_MISMATCH or len(op.inputs) != 2:
        return
    image, numbers = (fact.shape for fact in op.inputs)
    is_of_channels = (
        len(numbers) == 3 and numbers[1:] == (1, 1) and numbers[0] in (1, 3)
    )
    if not is_of_channels or len(image) not in (3, 4) or image[-1] != numbers[0]:
        return
    for frame in reversed(op.frames):
        place = None if is_installed(frame.span.file) else program.call_at(frame.span)
        if place is None:
            continue
        text, call = place
        if not call.args:
            return
        order = "(2, 0, 1)" if len(image) == 3 else "(0, 3, 1, 2)"
        argument = text.written(call.args[0])
        new = f"{argument}.permute{order}"
        if isinstance(call.args[0], ast.BinOp | ast.IfExp):
            new = f"({argument}).permute{order}"
        edits = [Edit(text.span(call.args[0]), new)]
        behind = text.parent(call)
        outer = text.parent(behind) if isinstance(behind, ast.Attribute) else None
        if isinstance(outer, ast.Call) and get_called_name(outer) == "permute":
            end = text.span(outer).end
            edits.append(Edit(text.span(call).end.until(end), ""))
        shown = f"`{text.written(call.func)}({new})`"
        yield Fix("fits", shown, tuple(edits))
        return
