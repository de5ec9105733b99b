"""Find columns, (N, 1), that meet rows, (N,), where the program itself pairs the two
one to one at another place: `mse_loss(value.squeeze(-1), returns)` beside
`returns - value.detach()`.

No axis need be known to count the samples on both sides: that other call says it.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import ARITHMETIC, LOSSES, HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import OUTER_BROADCAST
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

KEEPING = operators_with("keeps_elements", "regroups_dims", "leaves_graph") | {
    "squeeze",
    "to",
    "[]",
}
"""Calls behind which the same elements stand in the same order."""
COLUMNS = operators_with("makes_column")
FARTHEST = 8


def find_agreeing_columns(scene: HazardContext) -> Iterator[Finding]:
    """Find calls that pair each element of a column with all of a row, where another
    call pairs the same two one to one.
    """
    partners = _collect_partners(scene)
    for call in scene.calls if partners else ():
        if call.name not in ARITHMETIC | LOSSES or call.op.span is None:
            continue
        at = _find_column(call)
        if at is None:
            continue
        column, row = call.op.inputs[at], call.op.inputs[1 - at]
        maker = _find_root(scene, column, column.shape)
        other = partners.get((_get_root(scene, column), _get_root(scene, row)))
        if other is None or maker is None or not _is_column_maker(maker):
            continue
        size, names = row.shape[0], scene.names(call.op)
        yield scene.finding(
            OUTER_BROADCAST,
            call.op,
            f"{scene.operation(call.op)} of {names[0]} and {names[1]} makes"
            f" ({size}, {size}): each of the {size} samples is combined with every"
            " other",
            (other, "here the same two are paired one to one"),
            (maker, f"{names[at]} was made here"),
        )


def _find_column(call: OperatorCall) -> int | None:
    """Return which of two operands is a column, (N, 1), that meets (N,), or None."""
    inputs = call.op.inputs
    for at in (0, 1) if len(inputs) == 2 else ():
        size = inputs[1 - at].shape
        if len(size) == 1 and size[0] > 1 and inputs[at].shape == (size[0], 1):
            return at
    return None


def _collect_partners(scene: HazardContext) -> dict[tuple[int, int], Op]:
    """Return the calls that pair the elements of a column, once it is a row, with those
    of another row, by the tensors that both come from.
    """
    partners: dict[tuple[int, int], Op] = {}
    for call in scene.calls:
        inputs = call.op.inputs
        if call.name not in ARITHMETIC | LOSSES or len(inputs) != 2:
            continue
        if len(inputs[0].shape) != 1 or inputs[0].shape != inputs[1].shape:
            continue
        if inputs[0].shape[0] < 2:
            continue
        roots = _get_root(scene, inputs[0]), _get_root(scene, inputs[1])
        if roots[0] != roots[1]:
            partners.setdefault(roots, call.op)
            partners.setdefault(roots[::-1], call.op)
    return partners


def _get_root(scene: HazardContext, fact: Fact) -> int:
    """Return the number of the tensor whose elements a tensor has, in their order."""
    for _ in range(FARTHEST):
        source = _get_source(scene, fact)
        if source is None:
            break
        fact = source
    return fact.tensor


def _find_root(scene: HazardContext, fact: Fact, shape: tuple[int, ...]) -> Op | None:
    """Return the call that made the elements of a tensor, if it made them in this
    shape, or None.
    """
    for _ in range(FARTHEST):
        source = _get_source(scene, fact)
        if source is None:
            break
        if source.shape != shape:
            return None
        fact = source
    return scene.program.producers.get(fact.tensor)


def _get_source(scene: HazardContext, fact: Fact) -> Fact | None:
    """Return the tensor whose elements a call hands on unchanged, or None."""
    maker = scene.program.producers.get(fact.tensor)
    if maker is None or len(maker.inputs) != 1 or maker.kind == "inplace":
        return None
    if maker.name.rpartition(".")[2] not in KEEPING:
        return None
    source = maker.inputs[0]
    is_whole = source.numel == fact.numel and source.tensor != fact.tensor
    return source if is_whole else None


def _is_column_maker(maker: Op) -> bool:
    """Return whether a call makes a column of its own accord, one element for each
    sample.
    """
    name = maker.name.rpartition(".")[2]
    keeps = name in ("sum", "mean") and bool(dict(maker.arguments).get("keepdim"))
    return name in COLUMNS or keeps
