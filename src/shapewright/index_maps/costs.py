"""The costs of a call, counted from its index maps: in torch, and as the naive loop.

For `torch.matmul(f32[2, 3], f32[3, 4])` the loop goes through 24 steps, each of two
reads, one multiplication and one addition; in Python that is 146 calls of torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from shapewright.index_maps.drawn_calls import Drawn, Side
from shapewright.index_maps.index_map import (
    SIGNS,
    CallNumber,
    Element,
    IndexMap,
    Listed,
    Read,
)
from shapewright.record.ops import ITEMSIZE
from shapewright.sizes.expressions import Expression, Letter
from shapewright.sizes.strides import is_contiguous

ARITHMETIC = frozenset({"+", "-", "*", "/", "**", "//", "%"})
MOST_STEPS = 20_000
"""Steps of a map with conditions up to which they are counted."""
METADATA = frozenset(
    """__len__ size numel nelement dim ndimension stride storage_offset element_size
    is_contiguous is_floating_point is_complex data_ptr""".split()
)
"""Methods answered from a tensor's metadata, at any size."""
COUNTED = {"add": "additions", "sub": "subtractions", "mul": "multiplications",
           "div": "divisions", "true_divide": "divisions"}  # fmt: skip


@dataclass(slots=True)
class Costs:
    """The costs of a call, over all its outputs.

    `kind` is "view" (nothing moves), "same" (an input itself is returned), "in place",
    "new" (there are no inputs), "copy" (elements are moved unchanged) or "pass" (they
    are computed). `passes` is how often the innermost line of the loop runs, `calls`
    how many calls of torch it makes; None if that line has no plain form. `reads` and
    `arithmetic` are the work of the loop; None if values decide, or a condition has
    too many steps to count. `moved` is the bytes of inputs and outputs; of a copy,
    those that are read.
    """

    kind: str
    passes: int = 0
    calls: int | None = 0
    reads: int | None = 0
    writes: int = 0
    arithmetic: dict[str, int] | None = field(default_factory=dict)
    moved: int = 0
    copied: int | None = None
    """Bytes that `contiguous` would copy of a view; None if it copies nothing."""


def compute_costs(drawn: Drawn) -> Costs:
    """Return the costs of a drawn call."""
    costs = Costs(_get_kind(drawn))
    values = {side.name: _build_reader(side) for side in drawn.inputs}
    known = all(side.values is not None for side in drawn.inputs)
    for index_map in drawn.maps:
        for stage in index_map.stages:
            _add(costs, stage.map, None)
        _add(costs, index_map, values if known and not index_map.stages else None)
        if index_map.stages:  # written by each stage, and read again
            costs.calls = None
    if costs.kind == "in place":
        costs.moved = _count_bytes(drawn.outputs[0])
    elif costs.kind not in ("view", "same"):
        costs.moved = sum(map(_count_bytes, drawn.outputs))
        costs.moved += sum(
            _count_bytes_read(drawn, costs, side) for side in drawn.inputs
        )
    if costs.kind == "view" and not is_dense(drawn.outputs[0]):
        out = drawn.outputs[0]
        costs.copied = out.size * ITEMSIZE.get(out.dtype, 0)
    return costs


def is_dense(side: Side) -> bool:
    """Return whether `contiguous` has nothing to do."""
    return not side.size or is_contiguous(side.shape, side.stride)


def _count_bytes(side: Side) -> int:
    """Return the bytes of a tensor's elements, with shared cells counted once."""
    cells = side.size
    if side.stride and cells:
        steps = zip(side.shape, side.stride, strict=True)
        cells = min(cells, sum((size - 1) * step for size, step in steps) + 1)
        steps = zip(side.shape, side.stride, strict=True)
        cells = min(cells, prod(size for size, step in steps if step))
    return cells * ITEMSIZE.get(side.dtype, 0)


def _count_bytes_read(drawn: Drawn, costs: Costs, side: Side) -> int:
    """Return the bytes of an input that a call reads; a copy may read only some."""
    if costs.kind != "copy" or costs.reads is None:
        return _count_bytes(side)
    reads = [read for index_map in drawn.maps for read in index_map.reads]
    if any(read.when for read in reads) or side.name not in {r.tensor for r in reads}:
        return _count_bytes(side)
    return min(_count_bytes(side), costs.reads * ITEMSIZE.get(side.dtype, 0))


def _get_kind(drawn: Drawn) -> str:
    """Return the effect of a call on memory."""
    if _is_in_place(drawn):
        return "in place"
    if not drawn.inputs:
        return "new"
    outs = [side for side in drawn.outputs if side.size]
    if outs and all(side.shares for side in outs):
        inputs = {side.name: side for side in drawn.inputs}
        source = inputs[str(outs[0].shares)]
        same = [(s.shape, s.stride, s.offset, s.dtype) for s in (outs[0], source)]
        return "same" if len(outs) == 1 and same[0] == same[1] else "view"
    if any(index_map.stages for index_map in drawn.maps):
        return "pass"
    moves = all(
        index_map.term == "copy"
        and index_map.value is None
        and index_map.combine == "last"
        and not (index_map.then or index_map.gives)
        for index_map in drawn.maps
    )
    reads = any(index_map.reads for index_map in drawn.maps)
    return "copy" if moves and reads else "pass"


def _is_in_place(drawn: Drawn) -> bool:
    """Return whether a call writes to one of its inputs."""
    last = drawn.name.rpartition(".")[2]
    shared = any(side.shares for side in drawn.outputs)
    return shared and last.endswith("_") and not last.endswith("__")


# -- the loop --------------------------------------------------------------------------


def _add(costs: Costs, index_map: IndexMap, values: Mapping[str, Any] | None) -> None:
    """Add the work of the naive loop for one output to the costs."""
    elements = prod(index_map.shape)
    passes = elements * prod(loop.size for loop in index_map.loops)
    costs.passes += passes
    costs.writes += elements
    steps = _count_steps(index_map, passes, values)
    conditional = any(read.when for read in index_map.reads)
    if steps is None or costs.reads is None or costs.arithmetic is None:
        costs.reads = costs.arithmetic = None
    else:
        reads_per_step = (
            1 if index_map.term == "copy" else len(_list_tensor_reads(index_map))
        )
        starts = elements if isinstance(index_map.start, Read) else 0
        after = elements * sum(len(then.reads) for then in index_map.then)
        costs.reads += (
            steps * min(reads_per_step, len(_list_tensor_reads(index_map)))
            + starts
            + after
        )
        for name, count in _count_arithmetic(index_map, elements, steps).items():
            costs.arithmetic[name] = costs.arithmetic.get(name, 0) + count
    each_call = None if conditional else _count_step_calls(index_map)
    asking = _count_condition_calls(index_map)
    if costs.calls is None or each_call is None or asking is None or steps is None:
        costs.calls = None
    else:
        costs.calls += passes * asking + steps * each_call
        costs.calls += elements * _count_calls_around(index_map)


def _build_reader(side: Side) -> Callable[[tuple[int, ...]], Any]:
    """Return a function that reads an element of a tensor's values."""

    def element(place: tuple[int, ...]) -> Any:
        element_value = side.values
        for index in place:
            element_value = element_value[index]
        return element_value

    return element


def _list_tensor_reads(index_map: IndexMap) -> list[Read]:
    """Return the reads of a step that read tensors."""
    tables = {table.name for table in index_map.tables}
    return [
        read
        for read in index_map.reads
        if not isinstance(read, CallNumber) and read.tensor not in tables
    ]


def _count_steps(
    index_map: IndexMap, passes: int, values: Mapping[str, Any] | None
) -> int | None:
    """Return the number of steps that apply, or None if it takes too long to count."""
    conditional = any(read.when for read in index_map.reads)
    if not index_map.conditions and not conditional:
        return passes
    asked = [
        *index_map.conditions,
        *(when for read in index_map.reads for when in read.when),
    ]
    if passes > MOST_STEPS or (
        values is None and any(map(_has_value_condition, asked))
    ):
        return None
    return sum(
        1
        for index in product(*map(range, index_map.shape))
        for step in index_map.steps({**(values or {}), **index_map.named(index)})
        if not index_map.reads or any(read.applies(step) for read in index_map.reads)
    )


def _has_value_condition(condition: object) -> bool:
    """Return whether a condition depends on the values of a tensor."""
    sides = (getattr(condition, name, None) for name in ("left", "right", "expression"))
    return any("[" in str(side) for side in sides)


def _count_arithmetic(index_map: IndexMap, elements: int, steps: int) -> dict[str, int]:
    """Return the operations of the loop, by name."""
    operations: dict[str, int] = {}

    def note(name: str, count: int) -> None:
        if count:
            operations[name] = operations.get(name, 0) + count

    if index_map.term == "product":
        note("multiplications", steps * (len(index_map.reads) - 1))
    elif index_map.term != "copy":
        note(COUNTED.get(index_map.term, f"`{index_map.term}`"), steps)
    if index_map.combine == "sum":
        note("additions", steps)
        note("divisions", elements if index_map.scale is not None else 0)
    elif index_map.combine != "last":
        name = index_map.combine.partition(".")[0]
        note(f"`{name}` of {prod(loop.size for loop in index_map.loops)}", elements)
    for then in index_map.then:
        note(COUNTED.get(then.function, f"`{then.function}`"), elements)
    return operations


def _count_step_calls(index_map: IndexMap) -> int | None:
    """Return torch's calls in the innermost line, or None if it has no plain form."""
    sign = SIGNS.get(index_map.term)
    plain = index_map.term in ("copy", "product") or (
        sign in ARITHMETIC and len(index_map.reads) == 2 and not index_map.options
    )
    simple = (
        index_map.combine in ("sum", "last")
        and index_map.at is None
        and not index_map.tables
    )
    if (
        not plain
        or not simple
        or index_map.then
        or index_map.truncated
        or index_map.value is not None
    ):
        return None
    indexed = [read for read in _list_tensor_reads(index_map) if read.indices]
    deciding = [_count_index_calls(index) for read in indexed for index in read.indices]
    if None in deciding or tuple(_list_tensor_reads(index_map)) != index_map.reads:
        return None
    reads = len(indexed) + sum(filter(None, deciding))
    joined = len(index_map.reads) - 1
    summed = index_map.combine == "sum"
    written = (
        1 + 2 * bool(index_map.letters) if summed else int(bool(index_map.letters))
    )
    return reads + joined + written


def _count_condition_calls(index_map: IndexMap) -> int | None:
    """Return torch's calls in `if index[u, j] == i:`: a read, `==`, and its bool."""
    asking = [
        condition
        for condition in index_map.conditions
        if _has_value_condition(condition)
    ]
    if not asking:
        return 0
    if len(index_map.conditions) > 1 or str(asking[0]).count("[") != 1:
        return None
    return 3


def _count_calls_around(index_map: IndexMap) -> int:
    """Return torch's calls for each output element outside of the inner loops."""
    starts = index_map.combine == "sum" or index_map.start is not None
    read = isinstance(index_map.start, Read) and bool(index_map.start.indices)
    scaled = 0 if index_map.scale is None else 3 if index_map.letters else 1
    return (1 if starts and index_map.letters else 0) + int(read) + scaled


def _count_index_calls(index: Expression) -> int | None:
    """Return torch's calls in an index: 1 for `index[i, j]`, or None for a sum."""
    if "[" not in str(index):
        return 0
    parts = getattr(index, "indices", ())
    if any("[" in str(part) for part in parts):
        return None
    if isinstance(index, Listed) and len(parts) == 1:
        return 0
    return 1 if isinstance(index, Element) else None


# -- what is read again ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RepeatedReads:
    """The dims along which a tensor is reread, over which backward sums its gradient.

    `dims` are dims of the output, `loops` letters of the map's loops. `times` is how
    often each element is read, None if elements differ in that: windows overlap,
    conditions leave steps out. `chosen` is true if values decide what is read.
    """

    dims: tuple[int, ...] = ()
    loops: tuple[str, ...] = ()
    times: int | None = 1
    chosen: bool = False


def find_repeats(
    index_map: IndexMap, tensor: str, shape: tuple[int, ...]
) -> RepeatedReads:
    """Return how a tensor of this shape is reread: `other` in (3, 1) + (4,): dim 0."""
    inside = [read for read in index_map.reads if read.tensor == tensor]
    outside = [read for then in index_map.then for read in then.reads]
    outside += [index_map.start] if isinstance(index_map.start, Read) else []
    outside = [read for read in outside if read.tensor == tensor]
    reads = [*inside, *outside]
    if not reads or index_map.stages:
        return RepeatedReads(times=None)
    chosen = any("[" in str(index) for read in reads for index in read.indices)
    chosen = chosen or any(map(_has_value_condition, index_map.conditions))
    used = frozenset[str]().union(
        *(index.letters() for read in reads for index in read.indices)
    )
    sizes = zip(index_map.letters, index_map.shape, strict=True)
    again = [(dim, n) for dim, (letter, n) in enumerate(sizes) if letter not in used]
    dims = tuple(dim for dim, size in again if size > 1)
    own = [
        loop for loop in index_map.loops if loop.letter not in used and loop.size > 1
    ]
    own = own if inside else []
    loops = tuple(loop.letter for loop in own)
    even = len(reads) == 1 and _is_whole(reads[0], index_map, shape)
    even = even and not any(read.when for read in index_map.reads)
    even = even and not (inside and index_map.conditions) and not chosen
    even = even and not {loop.letter for loop in index_map.loops} & set(
        index_map.letters
    )
    times = prod(size for _, size in again) * prod(loop.size for loop in own)
    return RepeatedReads(dims, loops, times if even else None, chosen)


def _is_whole(read: Read, index_map: IndexMap, shape: tuple[int, ...]) -> bool:
    """Return whether a read covers a tensor of this shape once, letter by letter."""
    ranges = dict(zip(index_map.letters, index_map.shape, strict=True))
    ranges |= {loop.letter: loop.size for loop in index_map.loops}
    letters = [str(index) for index in read.indices if isinstance(index, Letter)]
    return len(letters) == len(set(letters)) and all(
        ranges.get(str(index)) == size
        if isinstance(index, Letter)
        else size == 1 and not index.letters()
        for index, size in zip(read.indices, shape, strict=True)
    )
