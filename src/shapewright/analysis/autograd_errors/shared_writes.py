"""Writes that change a tensor through another name: both are views of one tensor, or
one is a view of the other.
"""

from __future__ import annotations

from shapewright.analysis.autograd_errors.history import Edge, History
from shapewright.analysis.autograd_errors.names import (
    find_name_of,
    iter_assigned_names,
)
from shapewright.record.ops import Fact, Op

MOST_VIEWS = 20
"""Views of views that are followed to the tensor that they show."""

MOST_WRITES = 4
"""Lines that write to one tensor and are told."""


def describe_shared_write(
    history: History, edge: Edge, write: Op, needed: str
) -> str | None:
    """Describe what a call writes to, where that is not the saved tensor by its own
    name: ``writes to `z2`, a view of `x`, of which `z1`, ..., is a view too``.

    `needed` is the saved tensor's name and who needs it. None where the call was given
    the saved tensor itself, or the names are not known.
    """
    name = needed.partition(", which")[0]
    if not write.inputs or not needed.startswith("`"):
        return None
    target = write.inputs[0]
    written, saved = _list_bases(history, target), _list_bases(history, edge.fact)
    if target.tensor == edge.fact.tensor or edge.user.index == edge.maker.index:
        return None
    other = find_name_of(history, target, write)
    if not other.startswith("`") or other == name:
        return None
    if edge.fact.tensor in written:
        return f"writes to {other}, a view of {needed}"
    if target.tensor in saved:
        return f"writes to {other}, of which {needed}, is a view"
    common = [tensor for tensor in saved if tensor in written]
    base = _name_base(history, common[0], name) if common else ""
    if not base or base in (name, other):
        return None
    return f"writes to {other}, a view of {base}, of which {needed}, is a view too"


def list_shared_writes(
    history: History, edge: Edge, write: Op, failing: Op
) -> list[tuple[Op, str]]:
    """Return the calls that write to the memory of a saved tensor before its backward
    pass, each with what it writes to.
    """
    lines: dict[int, tuple[Op, str]] = {}
    for op in history.writers.get(edge.fact.storage, ()):
        if write.index <= op.index < failing.index and op.span is not None:
            name = find_name_of(history, op.inputs[0], op)
            lines.setdefault(op.span.line, (op, f"{name} is written here"))
    return list(lines.values())[:MOST_WRITES]


def _list_bases(history: History, fact: Fact) -> list[int]:
    """Return the tensors that a tensor is a view of, the nearest first."""
    bases: list[int] = []
    tensor = fact.tensor
    for _ in range(MOST_VIEWS):
        maker = history.program.producers.get(tensor)
        if maker is None or maker.view_of is None or maker.view_of == tensor:
            break
        tensor = maker.view_of
        bases.append(tensor)
    return bases


def _name_base(history: History, tensor: int, saved: str) -> str:
    """Return the program's name for a tensor that two others are views of."""
    for op in history.program.trace.ops:
        for fact in op.inputs if op.view_of == tensor else ():
            if fact.tensor == tensor:
                name = find_name_of(history, fact, op)
                if name.startswith("`") and name != saved:
                    return name
    maker = history.program.producers.get(tensor)
    names = list(iter_assigned_names(history, maker)) if maker is not None else []
    return f"`{names[0]}`" if names else ""
