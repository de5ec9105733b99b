"""`counts[labels] += 1`: of what comes to one place several times, one is added.

The sum is made of what stood there before and written once for each entry of the index,
so that the last wins. It is told where an index has more entries than there are places.

`mask.scatter_(-1, index.clamp(min=0), index >= 0)` too writes one place several times:
the entries of -1 become 0, and their False may be what stays at place 0.

The nodes at the ends of edges, of which `adjacency.nonzero()` lists each once, repeat.

`zeros.scatter(0, index, messages)` writes what it should add up where there are more
messages than rows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import REPEATED_INDEX, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with, values_of
from shapewright.program.syntax_nodes import get_last_name
from shapewright.record.ops import Fact, Op

SUMS = frozenset("+ - += -= add sub add_ sub_".split())

ONCE = operators_with("returns_distinct_indices")
"""What makes indices that are each there once, or of a number that nobody knows."""

FARTHEST = 20
"""Calls on the way from what made an index to it."""


@looks_for(REPEATED_INDEX)
def find_repeated_indices(scene: HazardContext) -> Iterator[Finding]:
    """Find sums that an index writes to fewer places than it has entries, and entries
    without a place that write to the first one.
    """
    yield from _find_clamped_writes(scene)
    yield from _find_overwritten_sums(scene)
    producers = scene.program.producers
    last: dict[int, Op] = {}  # what wrote each tensor last
    for op in scene.program.trace.ops:
        if op.name == "[]=" and op.span is not None and len(op.inputs) in (3, 4):
            target, *indices, value = op.inputs
            added = last.get(value.tensor)
            places = _count_places(op, target, len(indices))
            is_sum = added is not None and _is_new_sum(
                added, target, indices, producers
            )
            entries = max(map(_count_entries, indices))
            if added is None or not is_sum or not 0 < places < entries:
                continue
            if min(map(_count_entries, indices)) < entries:
                continue
            if any(_is_once(entry, producers) for entry in indices):
                continue
            alone = len(added.inputs) == 1 or not added.inputs[1].shape
            alone = alone and not _is_first_count(scene, target)
            names = scene.names(op)
            yield scene.finding(
                REPEATED_INDEX,
                op,
                f"{entries} entries of {' and '.join(names[1:-1])} lead to {places}"
                " places of "
                f"{names[0]}: of all that is added to one place, the last alone stays",
                (op, "`index_add_` adds them all; `bincount` counts"),
                severity="note" if alone else "warning",
            )
        for fact in op.outputs:
            last[fact.tensor] = op


ZEROS = frozenset(
    name for name, number in values_of("fills_with").items() if number == 0
)
COUNTS = re.compile(r"count|freq|hist|degree|^n_|^num_|occurrences|tally")
"""What counts how often something is there, by its name."""


def _is_first_count(scene: HazardContext, target: Fact) -> bool:
    """Return whether a sum is the first to what is still zero, by name a count: of one
    that goes on over several lists, each list may be to count once.
    """
    maker = scene.program.producers.get(target.tensor)
    if maker is None or maker.name.rpartition(".")[2] not in ZEROS:
        return False
    node = scene.program.node(maker.span)
    statement = node[0].statement_of(node[1]) if node is not None else None
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if len(targets) != 1 or not COUNTS.search(get_last_name(targets[0]).lower()):
        return False
    writes = [
        op
        for op in scene.program.trace.ops
        if op.name == "[]=" and op.inputs and op.inputs[0].tensor == target.tensor
    ]
    return len(writes) == 1


def _find_overwritten_sums(scene: HazardContext) -> Iterator[Finding]:
    """Find floats that are computed for more entries than there are places, and written
    into zeros one over the other.
    """
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name not in SCATTERS or len(call.op.inputs) != 3:
            continue
        target, index, source = call.op.inputs
        dim = call.given(0 if call.op.name.startswith("Tensor.") else 1, "dim")
        dim = call.given(1, "dim") if type(dim) is not int else dim
        if call.op.span in seen or type(dim) is not int or target.ndim != index.ndim:
            continue
        if any(name == "reduce" for name, _ in call.op.arguments):
            continue
        if not -target.ndim <= dim < target.ndim or not source.requires_grad:
            continue
        places, entries = target.shape[dim], index.shape[dim]
        maker = scene.maker(target)
        if not 1 < places < entries or maker is None or maker.name not in ZEROS:
            continue
        if _has_spare_place(scene, maker.op):
            continue
        seen.add(call.op.span)
        names = scene.names(call.op)
        message = (
            f"{entries} entries of {names[1]} lead to {places} places of {names[0]}:"
            " of all that is written to one place, the last alone stays, and"
            " `scatter_add` adds them up"
        )
        where = (maker.op, "it is zero here")
        yield scene.finding(REPEATED_INDEX, call.op, message, where)


def _has_spare_place(scene: HazardContext, maker: Op) -> bool:
    """Return whether zeros have a place more, for entries that are not to be kept."""
    node = scene.program.node(maker.span)
    return node is None or "+ 1" in node[0].line_of(node[1])


SCATTERS = frozenset({"scatter_", "scatter"})
VALID = frozenset({"!=", "ne", ">=", "ge", ">", "gt"})
CASTS = operators_with("leads_to_softmax") | {"type", "type_as"}
LIMITS = operators_with("limits_from_below")


def _find_clamped_writes(scene: HazardContext) -> Iterator[Finding]:
    """Find writes of whether entries are valid, at entries whose -1 was made 0."""
    seen: set[object] = {None}
    for call in scene.calls:
        ins = call.op.inputs
        if call.name not in SCATTERS or len(ins) != 3 or call.op.span in seen:
            continue
        if any(name == "reduce" for name, _ in call.op.arguments):
            continue
        limit = scene.maker(ins[1])
        if limit is None or limit.name not in LIMITS or ins[1].numel < 2:
            continue
        if limit.given(1, "min") != 0 and not limit.name.startswith("relu"):
            continue
        valid = ins[2]
        for _ in range(3):
            maker = scene.maker(valid)
            if maker is None or maker.name not in CASTS or len(maker.op.inputs) != 1:
                break
            valid = maker.op.inputs[0]
        test = scene.maker(valid)
        if test is None or test.name not in VALID or len(test.op.inputs) != 1:
            continue
        source = limit.op.inputs[0].tensor
        if test.op.inputs[0].tensor != source or test.given(1) not in (-1, 0):
            continue
        seen.add(call.op.span)
        names = scene.names(call.op)
        message = (
            f"entries of {names[1]} that were -1 are 0 now, and write to place 0 of"
            f" {names[0]} like those that are valid: the last alone stays, so that"
            " place 0 gets lost"
        )
        yield scene.finding(
            REPEATED_INDEX,
            call.op,
            message,
            (limit.op, "-1 becomes 0 here"),
            (test.op, "what is written says which entries are valid"),
        )


def _count_entries(fact: Fact) -> int:
    """Return the number of entries of an integer tensor; 0 for other tensors."""
    if not fact.dtype.startswith(("int", "uint")):
        return 0
    count = 1
    for size in fact.shape:
        count *= size
    return count


def _count_places(op: Op, target: Fact, count: int) -> int:
    """Return the size of the dims that an index with so many tensors selects from; 0
    if that is unclear.
    """
    written = dict(op.arguments).get("1", ("tensor",) * count if count > 1 else None)
    if written is None:
        return target.shape[0] if target.shape and not op.arguments else 0
    if not isinstance(written, tuple) or written.count("tensor") != count:
        return 0
    if count > 1:
        whole = written == ("tensor",) * count and len(target.shape) == count
        return target.numel if whole else 0
    before = written[: written.index("tensor")]
    plain = all(isinstance(index, int) or index == ":" for index in before)
    is_bool = any(isinstance(index, bool) for index in before)
    at = len(before)
    return target.shape[at] if plain and not is_bool and at < len(target.shape) else 0


def _is_new_sum(
    added: Op, target: Fact, indices: list[Fact], producers: Mapping[int, Op]
) -> bool:
    """Return whether a sum adds something new to the values read at the same index.

    A step from there to somewhere (`x[i] += 0.1 * (y - x[i])`) may be taken once.
    """
    if added.name.rpartition(".")[2] not in SUMS:
        return False
    old = [fact.tensor for fact in added.inputs if _is_read(fact, target, producers)]
    by = [fact.tensor for fact in producers[old[0]].inputs[1:]] if old else []
    if not old or by != [fact.tensor for fact in indices]:
        return False
    others = [fact for fact in added.inputs if fact.tensor not in old]
    return len(old) == 1 and not any(
        fact.tensor == target.tensor
        for other in others
        for op in _iter_makers(other, producers)
        for fact in op.inputs
    )


def _is_read(fact: Fact, target: Fact, producers: Mapping[int, Op]) -> bool:
    """Return whether a tensor was read from another by an index."""
    read = producers.get(fact.tensor)
    if read is None or read.name != "[]" or len(read.inputs) < 2:
        return False
    return read.inputs[0].tensor == target.tensor


def _is_once(index: Fact, producers: Mapping[int, Op]) -> bool:
    """Return whether an index cannot repeat a place, or comes from a mask."""
    return any(
        op.name.rpartition(".")[2] in ONCE
        or any(fact.dtype == "bool" for fact in op.inputs)
        for op in _iter_makers(index, producers, to_edges=len(index.shape) == 1)
    )


def _iter_makers(
    fact: Fact, producers: Mapping[int, Op], to_edges: bool = False
) -> Iterator[Op]:
    """Yield the calls that a tensor depends on, the nearest first; if `to_edges`, only
    as far as what lists the edges of a graph, each of whose nodes may have several.
    """
    waiting, seen = [fact.tensor], set[int]()
    while waiting and len(seen) < FARTHEST:
        number = waiting.pop(0)
        op = producers.get(number)
        if op is None or number in seen:
            continue
        seen.add(number)
        if to_edges and _is_list_of_edges(op):
            continue
        yield op
        waiting += [operand.tensor for operand in op.inputs]


def _is_list_of_edges(op: Op) -> bool:
    """Return whether a call finds the pairs of nodes of a square matrix."""
    name, operands = op.name.rpartition(".")[2], op.inputs
    if name not in FINDING and not (name == "where" and len(operands) == 1):
        return False
    shape = operands[0].shape if operands else ()
    return len(shape) == len(("row", "column")) and shape[0] == shape[-1] > 1


FINDING = operators_with("finds_nonzero")
"""What finds the places of a matrix that are not zero."""
