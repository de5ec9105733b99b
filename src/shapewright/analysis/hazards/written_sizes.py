"""Find axes that a reshape moves by the sizes that are written in it: `n, c, h, w =
x.shape; x.view(-1, c)`, `k.expand(-1, heads, -1, -1).reshape(b, t, heads, d)`.

Such a size may be small, and equal another number of the program; its name tells.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axes import Axis, RegroupedDims
from shapewright.analysis.provenance.axis_flow import get_length
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import FUNCTIONS, iter_own_nodes
from shapewright.record.ops import Op

SIZED = operators_with("takes_sizes")
FARTHEST = 12


def find_axis_of_maker(
    scene: HazardContext, op: Op, block: RegroupedDims
) -> Axis | None:
    """Return an axis that a reshape puts elsewhere by the very size that an earlier
    call of the function gave it: the heads of `k.expand(-1, heads, -1, -1)`, or None.

    The reshape has the old sizes in another order, so that no dim is cut or merged.
    """
    where = scene.program.call_at(op.span)
    before = [axis.size for axis in block.axes]
    after = [get_length(dim) for dim in block.dims]
    if where is None or before == after or sorted(before) != sorted(after):
        return None
    if len({id(axis.root) for axis in block.axes}) < len(before):
        return None  # pieces of one axis, as where a diagonal is cut away
    text, call = where
    sizes = list_written_sizes(call)
    if len(sizes) != len(op.outputs[0].shape):
        return None
    for at, length in zip(range(*block.after), after, strict=True):
        axes = [axis for axis in block.axes if axis.size == length]
        if len(axes) != 1 or isinstance(sizes[at], ast.Constant | ast.UnaryOp):
            continue
        is_moved = block.axes.index(axes[0]) != at - block.after[0]
        names = _iter_names(scene, op, axes[0], text.around(call, *FUNCTIONS))
        if is_moved and ast.unparse(sizes[at]) in names:
            return axes[0]
    return None


def _iter_names(
    scene: HazardContext, op: Op, axis: Axis, function: ast.AST | None
) -> Iterator[str]:
    """Yield what a function wrote as the size of an axis, in the calls that the input
    of a reshape comes from.
    """
    fact = op.inputs[0]
    for _ in range(FARTHEST):
        maker = scene.program.producers.get(fact.tensor)
        dims = scene.flow.of(fact)
        if maker is None or not maker.inputs or (axis,) not in dims:
            return
        where = scene.program.call_at(maker.span)
        if where is not None and maker.name.rpartition(".")[2] in SIZED:
            sizes = list_written_sizes(where[1])
            is_whole = len(sizes) == len(dims)
            if is_whole and where[0].around(where[1], *FUNCTIONS) is function:
                yield ast.unparse(sizes[dims.index((axis,))])
        fact = maker.inputs[0]


def list_written_sizes(call: ast.Call) -> list[ast.expr]:
    """Return the sizes that are written in a call, one by one or as a tuple."""
    sizes = list(call.args)
    if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List):
        return sizes[0].elts
    return sizes


def find_named_axis(scene: HazardContext, op: Op, block: RegroupedDims) -> Axis | None:
    """Return an axis that a reshape of few elements moves by the name of its size, as
    by `n, c, h, w = x.shape; x.view(-1, c)`, or None.

    The size of few classes may be another number of the program, its name may not.
    """
    where = scene.program.call_at(op.span)
    receiver = get_receiver(where[1]) if where is not None else None
    if where is None or receiver is None:
        return None
    text, call = where
    sizes = list_written_sizes(call)
    if sizes and isinstance(sizes[-1], ast.Starred):
        sizes = sizes[:-1]  # `*x.shape[3:]`: the rest stays as it was
    elif len(sizes) != len(op.outputs[0].shape):
        return None
    kept = {id(axis) for dim in block.dims for axis in dim if len(dim) == 1}
    read = _collect_read_sizes(text, call, text.written(receiver))
    for at, dim in zip(range(*block.after), block.dims, strict=True):
        for axis in block.axes:
            old = find_input_dim(scene, op, axis)
            is_same = axis.size == get_length(dim) > 1 and id(axis) not in kept
            if is_same and at < len(sizes) and read.get(ast.unparse(sizes[at])) == old:
                return axis
    return None


def _collect_read_sizes(
    text: SourceText, call: ast.Call, tensor: str
) -> dict[str, int]:
    """Return the names of a function that hold sizes of a tensor, with their dims."""
    function = text.around(call, ast.FunctionDef)
    dims: dict[str, int] = {}
    nodes = iter_own_nodes(text.tree) if function is None else ast.walk(function)
    assigned = [node for node in nodes if isinstance(node, ast.Assign)]
    for node in sorted(assigned, key=lambda node: node.lineno):
        if node.lineno >= call.lineno:
            break
        if tensor in {ast.unparse(target) for target in node.targets}:
            dims.clear()  # another tensor from here on
        value = node.value
        if isinstance(value, ast.Subscript) and _is_front(value.slice):
            value = value.value  # `b, t = x.shape[:2]`
        if ast.unparse(value) not in (f"{tensor}.shape", f"{tensor}.size()"):
            continue
        for target in node.targets:
            names = target.elts if isinstance(target, ast.Tuple | ast.List) else []
            if any(isinstance(name, ast.Starred) for name in names):
                continue
            dims.update({ast.unparse(name): at for at, name in enumerate(names)})
    return dims


def _is_front(place: ast.expr) -> bool:
    """Return whether an index is a slice of the first sizes, `[:3]`."""
    is_slice = isinstance(place, ast.Slice) and place.step is None
    return is_slice and isinstance(place, ast.Slice) and place.lower is None


def find_input_dim(scene: HazardContext, op: Op, axis: Axis) -> int:
    """Return the dim of the input that holds an axis."""
    for at, dim in enumerate(scene.flow.of(op.inputs[0])):
        if any(part is axis for part in dim):
            return at
    return 0
