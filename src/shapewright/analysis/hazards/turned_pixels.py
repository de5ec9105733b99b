"""Find pixels whose rows and columns a transpose exchanges, `x.transpose(1, 3)` of
(samples, channels, rows, columns), and that a mask of rows and columns chooses among.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import VIEW_MIXES_DIMS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import FUNCTIONS, iter_assignments
from shapewright.record.ops import Fact

TURNING = operators_with("transposes_dims")
KEEPING = operators_with("regroups_dims", "keeps_elements", "copies_if_needed")
COMPARING = operators_with("compares_elements") | {"==", "!=", ">", "<", ">=", "<="}
FARTHEST = 12


def find_turned_pixels(scene: HazardContext) -> Iterator[Finding]:
    """Find `x.transpose(1, 3).reshape(-1, c)[mask]` of square maps, whose mask was
    resized to the rows and columns of `x` and flattened in this order.
    """
    seen: set[object] = set()
    for call in scene.calls:
        if call.name != "[]" or len(call.op.inputs) != 2:
            continue
        rows = call.op.inputs[0]
        mask = _find_mask(scene, call) if rows.ndim == 2 else None
        if mask is None:
            continue
        turned = _find_maker(scene, rows, TURNING, KEEPING)
        if turned is None or turned.op.span in seen or not _is_turned(turned, rows):
            continue
        resized = _find_maker(scene, mask, {"interpolate"}, KEEPING | COMPARING)
        if resized is None or not _is_sized_alike(scene, turned, resized):
            continue
        seen.add(turned.op.span)
        shape = tuple(turned.op.inputs[0].shape)
        message = (
            f"{scene.operation(turned.op)} of {shape} exchanges rows and columns: its"
            " pixels lie column by column, and the mask that chooses among them is"
            " flattened row by row; `permute(0, 2, 3, 1)` keeps their order"
        )
        yield scene.finding(
            VIEW_MIXES_DIMS,
            turned.op,
            message,
            (call.op, "the mask chooses pixels here"),
        )


def _find_mask(scene: HazardContext, call: OperatorCall) -> Fact | None:
    """Return the truths of each row that the text writes as the index of a call."""
    place = scene.program.node(call.op.span)
    if place is None or not isinstance(place[1], ast.Subscript):
        return None
    text, index = place[0], place[1].slice
    if isinstance(index, ast.Name):
        index = find_last_value(text, index, index.lineno) or index
    span = text.span(index)
    shape = call.op.inputs[0].shape[:1]
    return next(
        (
            other.op.outputs[0]
            for other in scene.calls
            if other.op.span == span
            and other.op.outputs[0].shape == shape
            and other.op.outputs[0].dtype == "bool"
        ),
        None,
    )


def _find_maker(
    scene: HazardContext, fact: Fact, names: set[str] | frozenset[str],
    between: frozenset[str],
) -> OperatorCall | None:  # fmt: skip
    """Return the call of one of some names behind a tensor, if only calls that keep the
    order of its elements stand between.
    """
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or len(maker.op.inputs) != 1 or maker.name in names:
            return maker if maker is not None and maker.name in names else None
        if maker.name not in between:
            return None
        fact = maker.op.inputs[0]
    return None


def _is_turned(turned: OperatorCall, rows: Fact) -> bool:
    """Return whether a call exchanges the channels of square maps with their columns,
    and what it gives is flattened to one row for each pixel.
    """
    shape = turned.op.inputs[0].shape
    dims = {turned.given(1, "dim0"), turned.given(2, "dim1")}
    is_square = len(shape) == 4 and shape[2] == shape[3]
    return is_square and dims in ({1, 3}, {1, -1}) and rows.shape[1] == shape[1]


def _is_sized_alike(
    scene: HazardContext, turned: OperatorCall, resized: OperatorCall
) -> bool:
    """Return whether the text resizes a mask to the rows and columns, in this order, of
    the maps that are turned.
    """
    mask = scene.program.call_at(resized.op.span)
    maps = scene.program.call_at(turned.op.span)
    if mask is None or maps is None or mask[0] is not maps[0]:
        return False
    text, call = mask
    owner = get_receiver(maps[1])
    words = {word.arg: word.value for word in call.keywords}
    size = words.get("size", call.args[1] if len(call.args) > 1 else None)
    scope = text.around(call, *FUNCTIONS)
    if size is None or not isinstance(owner, ast.Name):
        return False
    if scope is not text.around(maps[1], *FUNCTIONS):
        return False
    written = (f"{owner.id}.shape", f"{owner.id}.size()")
    parts = {f"{whole}[{rows}]" for whole in written for rows in ("2:", "-2:", "2:4")}
    return ast.unparse(size) in parts or _is_unpacked(text, scope, size, written)


def _is_unpacked(
    text: SourceText, scope: ast.AST | None, size: ast.expr, written: tuple[str, ...]
) -> bool:
    """Return whether a size is the last two names to which a shape is unpacked."""
    if not isinstance(size, ast.Tuple | ast.List) or len(size.elts) != 2:
        return False
    names = [ast.unparse(part) for part in size.elts]
    return any(
        isinstance(target, ast.Tuple)
        and len(target.elts) == 4
        and [ast.unparse(part) for part in target.elts[2:]] == names
        and ast.unparse(value) in written
        for target, value in iter_assignments(scope or text.tree)
    )
