"""A spec of another dtype, for an input that the program takes as it is to a call that
refuses its dtype."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op, collect_leaves
from shapewright.record.trace import Trace

_INTEGERS = operators_with("takes_integers")
_FLOATS = (
    operators_with("is_product") | operators_with("is_convolution") | {"linear"}
)  # fmt: skip
_TENSOR = re.compile(r"\w*\[[^\]]*\]")


def suggest_spec(trace: Trace, spec: str) -> str:
    """Return the spec with the dtype that the failed call takes, or "" if the dtype of
    an input is not what failed.

    Example: an embedding that gets the input of ``f32[2, 16]`` takes ``i64[2, 16]``.
    """
    if trace.complete or not trace.calls or not trace.ops:
        return ""
    op = trace.ops[-1]
    wanted = _find_wanted_dtype(op)
    facts = collect_leaves(trace.calls[0].inputs)
    places = [at for at, fact in enumerate(facts) if _is_taken(fact, op)]
    tensors = list(_TENSOR.finditer(spec))
    if not wanted or len(places) != 1 or len(tensors) != len(facts):
        return ""
    match = tensors[places[0]]
    sizes = match[0][match[0].index("[") :]
    return f"{spec[: match.start()]}{wanted}{sizes}{spec[match.end() :]}"


def _is_taken(fact: Fact, op: Op) -> bool:
    """Return whether the call takes this very tensor first."""
    taken = collect_leaves(op.inputs)
    return bool(taken) and fact.tensor == taken[0].tensor


def _find_wanted_dtype(op: Op) -> str:
    """Return the dtype that the first tensor of a refused call should have, or ""."""
    taken: Sequence[Fact] = collect_leaves(op.inputs)
    last = op.name.rpartition(".")[2]
    if collect_leaves(op.outputs) or not taken:
        return ""
    floating = "float" in taken[0].dtype
    if last in _INTEGERS and floating:
        return "i64"
    if last in _FLOATS and not floating and any("float" in f.dtype for f in taken[1:]):
        return "f32"
    return ""
