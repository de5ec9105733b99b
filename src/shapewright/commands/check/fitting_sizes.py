"""Image sizes at which a program runs that fails at the given ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shapewright.analysis.edges import Make
from shapewright.analysis.edges.other_runs import Free, Request
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    DOES_NOT_DIVIDE,
    EINOPS_PATTERN,
    ELEMENT_COUNT_MISMATCH,
    INNER_DIM_MISMATCH,
    JOINED_SIZES_DIFFER,
    KERNEL_TOO_LARGE,
)
from shapewright.record.ops import SHORT
from shapewright.record.report import Report

if TYPE_CHECKING:
    from shapewright.commands.trace import Fed

Tensor = tuple[str, tuple[int, ...]]
"""The dtype and the shape of an input."""
OF_SIZES = frozenset({
    BROADCAST_MISMATCH, DOES_NOT_DIVIDE, EINOPS_PATTERN, ELEMENT_COUNT_MISMATCH,
    INNER_DIM_MISMATCH, JOINED_SIZES_DIFFER, KERNEL_TOO_LARGE,
})  # fmt: skip
"""Errors that another size of the images may take away."""
UNITS = (2, 4, 8, 16, 32)
SQUARES = (28, 32, 64, 96, 128, 224, 256)
"""Usual sides of images."""
LEAST = 6
"""The smallest side of what is taken for an image."""


def add_fitting_sizes(report: Report, took: Sequence[Fed], make: Make) -> Report:
    """Add to the first error of a size the inputs with which the program runs."""
    at = next(
        (n for n, candidate in enumerate(report.findings)
         if candidate.severity == "error" and candidate.code in OF_SIZES), None,
    )  # fmt: skip
    tensors = _find_tensors(took[0]) if took and at is not None else []
    if at is None or not tensors:
        return report
    requests = list(dict.fromkeys(_iter_requests(tensors)))
    for request, outcome in zip(requests, make(requests), strict=True):
        if outcome is not None and outcome.state == "runs":
            line = f"it runs with {_format_inputs(tensors, request)} (checked)"
            finding = report.findings[at]
            extended_finding = replace(finding, lines=(*finding.lines, line))
            rest = (*report.findings[:at], extended_finding, *report.findings[at + 1 :])
            return replace(report, findings=rest)
    return report


def _find_tensors(fed: Fed) -> list[Tensor]:
    """Return the tensors among the inputs of a model, or none where they cannot be
    resized.
    """
    from shapewright.runtime.input_tensors import can_resize, list_tensors

    inputs = (fed.args, fed.kwargs)
    if fed.module is None or not can_resize(inputs):
        return []
    return list_tensors(inputs)


def _iter_requests(tensors: Sequence[Tensor]) -> list[Request]:
    """Return runs with larger images, then smaller and usual ones."""
    places: dict[int, list[tuple[int, int]]] = {}
    for at, tensor in enumerate(tensors):
        dtype, shape = tensor
        if len(shape) in (4, 5) and "float" in dtype:
            for dim, size in enumerate(shape):
                if dim > 1 and size >= LEAST:
                    places.setdefault(size, []).append((at, dim))
    free = {
        size: Free("height", "", size, tuple(where)) for size, where in places.items()
    }
    changes = [{size: -(-size // unit) * unit for size in free} for unit in UNITS]
    changes += [{size: size // unit * unit for size in free} for unit in UNITS]
    changes += [dict.fromkeys(free, side) for side in SQUARES]
    return [
        Request(tuple((free[old], new) for old, new in change.items()))
        for change in changes
        if any(old != new and new >= LEAST for old, new in change.items())
    ]


def _format_inputs(tensors: Sequence[Tensor], request: Request) -> str:
    """Return the inputs of a run as options of the command line."""
    sizes = {place: size for free, size in request.sizes for place in free.places}
    parts = []
    for at, (dtype, before) in enumerate(tensors):
        shape = [sizes.get((at, dim), size) for dim, size in enumerate(before)]
        parts.append(f'-i "{SHORT.get(dtype, dtype)}[{", ".join(map(str, shape))}]"')
    return " ".join(parts)
