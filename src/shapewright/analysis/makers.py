"""The calls that a tensor was made by, followed back.

first = next(iter_first_makers(program, op.inputs[0]), None)
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.record.ops import Fact, Op

FARTHEST = 12
"""How many calls back a tensor is followed."""


def iter_makers(program: Program, op: Op) -> Iterator[Op]:
    """Yield the calls that the operands of a call were made by, the nearest first."""
    waiting = [fact.tensor for fact in op.inputs]
    seen = set(waiting)
    for _ in range(FARTHEST):
        following: list[int] = []
        for tensor in waiting:
            maker = program.producers.get(tensor)
            if maker is None:
                continue
            yield maker
            new = [fact.tensor for fact in maker.inputs if fact.tensor not in seen]
            seen.update(new)
            following += new[:2]
        waiting = following


def iter_first_makers(
    program: Program, fact: Fact, farthest: int = FARTHEST
) -> Iterator[Op]:
    """Yield the call that made a tensor, the call that made that call's first operand,
    and so on: what a value went through, joins and products left aside.
    """
    for _ in range(farthest):
        maker = program.producers.get(fact.tensor)
        if maker is None:
            return
        yield maker
        if not maker.inputs or maker.inputs[0].tensor == fact.tensor:
            return
        fact = maker.inputs[0]


EQUAL = ("==", "!=")


def is_compared(program: Program, fact: Fact) -> bool:
    """Return whether a tensor, or another that was made of the same data, is compared
    with something, as labels are with predictions.
    """
    makers = {maker.index for maker in iter_first_makers(program, fact)}
    return any(
        other.tensor == fact.tensor
        or makers & {maker.index for maker in iter_first_makers(program, other)}
        for op in program.trace.ops
        if op.name in EQUAL or op.name.endswith((".eq", ".ne"))
        for other in op.inputs
    )
