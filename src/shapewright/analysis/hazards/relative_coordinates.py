"""Find relative coordinates whose origin was taken from another tensor of the points: a
column of features, (S, 1), that is subtracted from each of the coordinates, (S, 3).

The difference is between two points, as other indices take them; so both sides are to
be coordinates. A column is subtracted from all three of them alike.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.program_run import Program, format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import OUTER_BROADCAST
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.record.ops import Fact, Op

DIFFERENCES = operators_with("subtracts")
KEEPING = operators_with("keeps_elements", "moves_dims", "leaves_graph") | {
    "to",
    "expand",
}
READING = operators_with("reads_by_index")
COORDINATES = re.compile(
    r"(^|_)(coords?|coordinates?|xyz|xy|pos|positions?|locs?|locations?|points?)\d*$",
    re.I,
)
COUNTS = (2, 3)
FARTHEST = 8


@dataclass(frozen=True, slots=True)
class _Origin:
    """Data that an operand was read from: the indices, and the call that read it."""

    data: Fact
    indices: tuple[object, ...]
    read: Op | None


def find_relative_columns(scene: HazardContext) -> Iterator[Finding]:
    """Find differences of the coordinates of points and a column of other points."""
    seen: set[object] = set()
    for call in scene.calls:
        at = _find_column(call)
        span = call.op.span
        if at is None or span is None or span in seen:
            continue
        column = _find_origin(scene, call.op.inputs[at])
        points = _find_origin(scene, call.op.inputs[1 - at])
        if column is None or points is None or points.read is None:
            continue
        if _is_relative(scene.program, column, points):
            seen.add(span)
            yield _report_column(scene, call, at, column)


def _report_column(
    scene: HazardContext, call: OperatorCall, at: int, column: _Origin
) -> Finding:
    """Return the finding on a column that is subtracted from coordinates."""
    wide, words = call.op.inputs[1 - at], scene.names(call.op)
    source = find_source(scene.program, column.read)
    name = f"`{ast.unparse(source[1])}` " if source is not None else "a column "
    return scene.finding(
        OUTER_BROADCAST,
        call.op,
        f"{scene.operation(call.op)} of {words[0]} and {words[1]} subtracts one number"
        f" from each of the {wide.shape[-1]} coordinates: {name}"
        f"{format_shape(column.data)} is read where the coordinates of another point"
        " are meant",
        (column.read, f"{words[at]} is read here"),
    )


def _find_column(call: OperatorCall) -> int | None:
    """Return which operand of a difference has one number for each row of the other,
    which has two or three.
    """
    inputs = call.op.inputs
    if call.name not in DIFFERENCES or len(inputs) != 2:
        return None
    for at in (0, 1):
        slim, wide = inputs[at].shape, inputs[1 - at].shape
        is_column = len(slim) == len(wide) > 1 and slim[-1] == 1
        if is_column and wide[-1] in COUNTS and slim[0] == wide[0] > 1:
            return at
    return None


def _find_origin(scene: HazardContext, fact: Fact) -> _Origin | None:
    """Return the data from which rows were read by indices, or None for what was
    computed.
    """
    indices: list[object] = []
    read: Op | None = None
    for _ in range(FARTHEST):
        maker = scene.program.producers.get(fact.tensor)
        is_data = maker is None or not maker.inputs
        if is_data or maker is None or fact.tensor in scene.program.batches:
            is_plain = not fact.requires_grad and len(fact.shape) > 1
            is_state = fact.tensor in scene.program.states
            return (
                _Origin(fact, tuple(indices), read)
                if is_plain and not is_state
                else None
            )
        name, source = maker.name.rpartition(".")[2], maker.inputs[0]
        if fact.shape[-1:] != source.shape[-1:]:
            return None
        if name in READING and len(maker.inputs) > 1:
            indices += [_describe(scene, index, 0) for index in maker.inputs[1:]]
            read = read or maker
        elif name not in KEEPING and name != "[]":
            return None
        fact = source
    return None


def _describe(scene: HazardContext, fact: Fact, depth: int) -> object:
    """Return how an index was computed, equal for two that were computed alike."""
    maker = scene.program.producers.get(fact.tensor)
    if maker is None or not maker.inputs or depth > FARTHEST:
        return fact.tensor
    inputs = tuple(_describe(scene, source, depth + 1) for source in maker.inputs)
    at = [out.tensor for out in maker.outputs].index(fact.tensor)
    return maker.name, str(maker.arguments), at, inputs


def _is_relative(program: Program, column: _Origin, points: _Origin) -> bool:
    """Return whether two tensors of the same points are read at different ones, and the
    program calls the wide one, and not the column, coordinates.
    """
    if column.data.tensor == points.data.tensor or column.indices == points.indices:
        return False
    if column.data.shape[:-1] != points.data.shape[:-1]:
        return False
    place = find_source(program, points.read)
    other = find_source(program, column.read)
    is_named = place is not None and is_of_coordinates(place[1])
    return is_named and not (other is not None and is_of_coordinates(other[1]))


def find_source(
    program: Program, read: Op | None
) -> tuple[SourceText, ast.expr] | None:
    """Return `x` of `x[index]`, where it is a name or an attribute, or None."""
    place = program.node(read.span) if read is not None else None
    node = place[1] if place is not None else None
    if place is None or not isinstance(node, ast.Subscript):
        return None
    is_name = isinstance(node.value, ast.Name | ast.Attribute)
    return (place[0], node.value) if is_name else None


def is_of_coordinates(node: ast.expr) -> bool:
    """Return whether a name says that it holds coordinates."""
    return COORDINATES.search(ast.unparse(node).rpartition(".")[2]) is not None
