"""Find `x[:, index]` with an index for each row: (B, B) where (B,) is meant.

All pairs are right where they are used as such: negatives within a batch, a diagonal.
So the use decides: a number for each row that it meets, or a mean of everything.

An index of `scatter_add` is not stretched: of a dim in which it has size 1, the first
place alone is read and written.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import ALL_LOSSES, ARITHMETIC, HazardContext
from shapewright.analysis.hazards.loss_terms import JOINS
from shapewright.analysis.provenance.axes import Axis
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.view_axes import get_items
from shapewright.findings.codes import INDEX_OF_ALL_ROWS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with

ALONG = operators_with("computes_each_element", "leads_to_loss") | ARITHMETIC | {"sum"}
"""Calls after which an element still belongs to one pair."""
PAIRWISE = operators_with("normalizes_along_dim") | {"cross_entropy", "nll_loss"}
"""Calls that read the pairs of a row together."""
EACH = operators_with("indexes_each_element")
"""Calls whose index has an entry for each element."""
STRETCHING = operators_with("regroups_dims") | {"unsqueeze", "[]"}
"""Calls by which an index gets a dim of size 1."""
LISTED = frozenset({"parts", "made", "source"})
"""What counts rows that are put together of a list, or of an array."""
FARTHEST = 12
"""Calls after the index that are looked at."""


@looks_for(INDEX_OF_ALL_ROWS)
def find_row_indices(scene: HazardContext) -> Iterator[Finding]:
    """Find indices of columns that have one entry for each row, and are used for all
    rows, or for the first.
    """
    for call in scene.calls:
        if call.op.span is not None and _is_index_of_parts(call):
            yield from _report_parts(scene, call)
        if call.op.span is not None and _is_index_of_first_row(call):
            yield _report_first_row(scene, call)
        elif call.op.span is not None and call.name in EACH:
            yield from _report_unstretched(scene, call)
        if call.op.span is None:
            continue
        anew = _is_index_made_anew(scene, call)
        if not anew and not _is_index_of_columns(call):
            continue
        use = _find_use(scene, call, anew)
        sure = call.dims[0][0][0].data and not anew
        if use is None or (use.name == "mean" and not sure):
            continue
        names = scene.words(call.op)
        count = call.op.inputs[0].shape[0]
        message = (
            f"{names[1]} has an index for each of the {count} rows of {names[0]}, and "
            f"all are taken of every row: {(count, count)}, not {count} elements"
        )
        words = "each row meets the columns of all others here"
        yield scene.finding(INDEX_OF_ALL_ROWS, call.op, message, (use.op, words))


def _is_index_of_columns(call: OperatorCall) -> bool:
    """Return whether columns of a matrix are taken by an index that counts its rows."""
    axes = _get_axes_of_columns(call)
    if axes is None:
        return False
    rows, columns, index = axes
    same = index.root is rows.root
    same = same and (rows.data or call.op.inputs[0].requires_grad)
    return same and columns.root is not rows.root and rows.size > 1


def _get_axes_of_columns(call: OperatorCall) -> tuple[Axis, Axis, Axis] | None:
    """Return the axes of the rows and the columns of a matrix, and of the index that
    takes some of its columns; None for any other call.
    """
    if call.name == "[]":
        taken = get_items(call) == (":", "tensor")
    else:
        taken = call.name == "index_select" and call.given(1, "dim") in (1, -1)
    if not taken or len(call.op.inputs) != 2 or len(call.dims[0]) != 2:
        return None
    rows, columns = call.dims[0]
    index = call.dims[1]
    if len(index) != 1 or not len(rows) == len(columns) == len(index[0]) == 1:
        return None
    return rows[0], columns[0], index[0][0]


def _is_index_made_anew(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether columns of scores are taken by as many indices as there are rows,
    more than there are columns, of which rows and indices are made of Python's numbers
    in each step: a batch out of a replay memory.
    """
    axes = _get_axes_of_columns(call)
    if axes is None or not call.op.inputs[0].requires_grad:
        return False
    rows, columns, index = axes
    if not rows.size == index.size > columns.size > 1:
        return False
    if rows.root is index.root or not {rows.root.kind, index.root.kind} <= LISTED:
        return False
    fact = call.op.inputs[1]
    maker = scene.program.producers.get(fact.tensor)
    while maker is not None and maker.inputs and maker.inputs[0].shape == fact.shape:
        fact = maker.inputs[0]
        maker = scene.program.producers.get(fact.tensor)
    places = [user.op.span for user in scene.users.get(fact.tensor, ())]
    return maker is not None and len(places) == len(set(places))


def _is_index_of_first_row(call: OperatorCall) -> bool:
    """Return whether `gather` takes columns by a row of indices with one for each row:
    `gather(1, index.unsqueeze(0))`.
    """
    if call.name != "gather" or len(call.dims) != 2:
        return False
    if call.given(1, "dim") not in (1, -1):
        return False
    values, index = call.op.inputs
    if values.ndim != 2 or index.ndim != 2 or index.shape[0] != 1:
        return False
    rows, counted = call.dims[0][0], call.dims[1][1]
    if not len(rows) == len(counted) == 1 or rows[0].size < 2:
        return False
    same = rows[0].root is counted[0].root and rows[0].size == counted[0].size
    return same or (
        rows[0].data and index.shape[1] == values.shape[0] != values.shape[1]
    )


def _report_first_row(scene: HazardContext, call: OperatorCall) -> Finding:
    """Report a row of indices that reads nothing but the first row."""
    names, count = scene.words(call.op), call.op.inputs[0].shape[0]
    message = (
        f"{scene.operation(call.op)} reads the first of the {count} rows of {names[0]}"
        f" {call.op.inputs[0].shape} alone: the index {call.op.inputs[1].shape} has"
        " one row, with an entry for each of them"
    )
    return scene.finding(INDEX_OF_ALL_ROWS, call.op, message)


def _report_unstretched(scene: HazardContext, call: OperatorCall) -> Iterator[Finding]:
    """Report an index with size 1 in a dim in which what is read and what is written
    have more, so that they are read and written at the first place alone.
    """
    operands, reads = call.op.inputs, call.name in ("gather", "take_along_dim")
    is_method = call.op.name.startswith("Tensor.")
    if len(operands) != (2 if reads else 3) or call.name == "take_along_dim":
        return
    dim = call.given(0 if is_method else 1, "dim")
    dim = call.given(1, "dim") if type(dim) is not int else dim
    target, index, source = operands[0], operands[1], operands[-1]
    source = target if reads else source
    if type(dim) is not int or not target.ndim == index.ndim == source.ndim:
        return
    if not call.op.name.startswith(("Tensor.", "torch.")):
        return
    maker = scene.maker(index)
    if reads and (maker is None or maker.name not in STRETCHING or target.ndim < 3):
        return
    others = [at for at in range(index.ndim) if at != dim % index.ndim]
    ones = [
        at
        for at in (others[-1:] if reads else others)
        if index.shape[at] == 1 and min(target.shape[at], source.shape[at]) > 1
    ]
    if not ones:
        return
    names = scene.names(call.op)
    other = "" if reads else f" and {names[0]}"
    message = (
        f"the index {names[1]} has size 1 in dim {ones[0]}, and is not stretched to"
        f" {source.shape[ones[0]]}: of that dim of {names[0 if reads else -1]}{other},"
        f" {scene.operation(call.op)} takes the first place alone"
    )
    yield scene.finding(INDEX_OF_ALL_ROWS, call.op, message)


def _is_index_of_parts(call: OperatorCall) -> bool:
    """Return whether an index that counts the columns of stacked outputs takes rows:
    `torch.stack([head(x) for head in heads])[head_of_sample]`.
    """
    if call.name == "[]":
        taken = get_items(call) == ("tensor",)
    else:
        taken = call.name == "index_select" and call.given(1, "dim") in (0, -2)
    if not taken or len(call.op.inputs) != 2 or len(call.dims[0]) != 2:
        return False
    parts, columns = call.dims[0]
    index = call.dims[1]
    if len(index) != 1 or not len(parts) == len(columns) == len(index[0]) == 1:
        return False
    same = index[0][0].root is columns[0].root and columns[0].data
    return same and parts[0].kind == "parts" and columns[0].size > 1


def _report_parts(scene: HazardContext, call: OperatorCall) -> Iterator[Finding]:
    """Report such an index if its result meets one number for each sample."""
    use = _find_use(scene, call)
    if use is None or use.name == "mean":
        return
    names, count = scene.words(call.op), call.dims[1][0][0].size
    message = (
        f"{names[1]} chooses one of the {call.op.inputs[0].shape[0]} rows of {names[0]}"
        f" for each of {count} samples, and the whole row is taken: {(count, count)},"
        f" not {count} elements"
    )
    words = "each sample meets the outputs for all others here"
    yield scene.finding(INDEX_OF_ALL_ROWS, call.op, message, (use.op, words))


def _find_use(
    scene: HazardContext, call: OperatorCall, anew: bool = False
) -> OperatorCall | None:
    """Return the first call that takes the result for one number per row; None where
    all pairs are wanted. Rows that are made `anew` are known by their number alone.
    """
    axis = call.dims[1][0][0]
    waiting, first = [call.op.outputs[0]], None
    for _ in range(FARTHEST):
        if not waiting:
            break
        fact = waiting.pop(0)
        for user in scene.users.get(fact.tensor, ()):
            out = user.op.outputs[0]
            if user.name in JOINS:  # those of all batches
                waiting.append(out)
                continue
            if _is_met_by_rows(user, fact.tensor, axis.root) or (
                anew and _is_met_by_list(user, fact.tensor, axis.size)
            ):
                first = first or user
            elif user.name not in ALONG - PAIRWISE or out.shape not in (fact.shape, ()):
                return None
            if out.shape == fact.shape:
                waiting.append(out)
    return first


def _is_met_by_rows(user: OperatorCall, tensor: int, rows: Axis) -> bool:
    """Return whether a call combines pairs with one number per row, or takes the mean
    of all.
    """
    if user.name == "mean":
        return not user.op.outputs[0].shape
    if user.name not in ARITHMETIC | ALL_LOSSES or user.name in PAIRWISE:
        return False
    for fact, dims in zip(user.op.inputs, user.dims, strict=True):
        if fact.tensor == tensor or not dims or len(dims[0]) != 1:
            continue
        column = len(dims) == 2 and fact.shape[1] == 1
        if (len(dims) == 1 or column) and dims[0][0].root is rows:
            return True
    return False


def _is_met_by_list(user: OperatorCall, tensor: int, count: int) -> bool:
    """Return whether a call combines pairs with as many numbers as there are rows, put
    together of a list as well.
    """
    if user.name not in ARITHMETIC | ALL_LOSSES or user.name in PAIRWISE:
        return False
    return any(
        fact.tensor != tensor
        and fact.shape in ((count,), (count, 1))
        and dims[0][0].root.kind in LISTED
        for fact, dims in zip(user.op.inputs, user.dims, strict=True)
    )
