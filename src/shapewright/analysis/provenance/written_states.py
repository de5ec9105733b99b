"""Parameters whose data the program wrote: `conv.weight.data = average`."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.operators.failed_calls import Failure
from shapewright.record.ops import Fact, Op


def iter_written_states(
    program: Program, failure: Failure
) -> Iterator[tuple[str, Fact, Op]]:
    """Yield the parameters that a failed call meets and whose data is a tensor that
    the program computed, each with its path and the call that gave it.

    Example: after ``conv.weight.data = w.mean(1)`` the weight is what ``mean`` gave.
    """
    for fact in program.trace.ops[failure.op].inputs:
        giver = find_giver(program, fact, failure.op)
        if giver is not None:
            yield program.states[fact.tensor], fact, giver


def find_giver(program: Program, fact: Fact, before: int) -> Op | None:
    """Return the call whose result is the data of a parameter that the program wrote,
    or None if the layer has the weight with which it was built.
    """
    path = program.states.get(fact.tensor)
    built = program.built.get(path.rpartition(".")[0]) if path else None
    if built is None:
        return None
    for earlier in reversed(program.trace.ops[:before]):
        if earlier.span is None or earlier.span == built.span:
            continue
        outs = [out for out in earlier.outputs if out.storage == fact.storage]
        if any(out.tensor == fact.tensor for out in outs):
            return None
        if any(out.shape == fact.shape for out in outs):
            return earlier
    return None
