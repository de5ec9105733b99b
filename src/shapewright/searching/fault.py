"""Whether a search failed because of the program: it is wrong whatever comes in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from math import gcd
from typing import TYPE_CHECKING

from shapewright.inputs.finding.hypothesis import Hypothesis, Tensor
from shapewright.rules.needs.failure import Failure
from shapewright.searching.following import back
from shapewright.searching.mending import OF_RANK
from shapewright.searching.sizing import placed
from shapewright.trace.op import Op

if TYPE_CHECKING:
    from shapewright.searching.loop import Tried

Run = Callable[[Hypothesis], "Tried | None"]

MOST = 16
"""Runs at other sizes."""

OWN = re.compile(
    r"^`?(NameError|UnboundLocalError|ImportError|ModuleNotFoundError"
    r"|NotImplementedError|RecursionError|SyntaxError)\b"
    r"|object has no attribute"
    r"|missing \d+ required (?:positional|keyword-only) argument"
    r"|got an unexpected keyword argument|positional arguments? but \d+"
    r"|must be Tensor, not (?:tuple|list)|not callable"
)
"""Exceptions of Python that no size of an input takes away."""
OF_INPUT = re.compile(r"'(?:NoneType|dict|list|int|float|str|bool)' object has no")
"""But these, where an argument may be of another kind."""
RANKED = re.compile(r"conv|pool|batch_norm|instance_norm|pixel_|interpolate|upsample")
"""Calls that fix how many dims their input has."""


def is_programs_own(best: Tried, run: Run) -> bool:
    """Whether what the best inputs failed at is wrong for all inputs.

    A call that torch refused is run again at other sizes of each dim of the inputs: the
    program is wrong if its two sides stay as they are, or if what varies can never be
    what is needed. An exception of the program's own counts where it speaks of names
    and arguments; one that refuses a size or a value may be about the input.
    """
    if best.failures:
        return _is_torch_failure_own(best, best.failures[0], run)
    last = best.trace.findings[-1] if best.trace.findings else None
    if last is None or last.code == "timeout":
        return False
    if last.code == "program-exit":
        return True
    said = f"{last.message} {last.torch_message or ''}"
    return OWN.search(said) is not None and OF_INPUT.search(said) is None


def _is_torch_failure_own(best: Tried, failure: Failure, run: Run) -> bool:
    ops = tuple(best.trace.ops)
    op, unmet = ops[failure.op], failure.unmet
    way = back(best.trace, best.hypothesis)
    if failure.of_history or not any(way.ancestors(fact) for fact in op.inputs):
        return True
    if unmet is not None and unmet.code in OF_RANK:
        before = (each for fact in op.inputs for each in way.ops(fact))
        return any(RANKED.search(each.name.lower()) for each in before)
    if any(repair.kind == "dtype" for repair in failure.repairs[:1]):
        facts = [op.inputs[r.tensor] for r in failure.repairs[:4] if r.tensor >= 0]
        return all(way.carried(fact) is None for fact in facts)
    if unmet is None and any(way.input(fact) for fact in op.inputs):
        return False  # torch refused the input as it was given, and no rule says why
    sides = {_sides(failure)}
    for hypothesis in islice(_resized(best.hypothesis), MOST):
        tried = run(hypothesis)
        if tried is None or (not tried.failures and not tried.trace.complete):
            continue
        other = _failure_at(tried, op)
        if other is not None:
            sides.add(_sides(other))
        elif _has_passed(tried, op):
            return False
    return len(sides) == 1 or _never_meet(sides)


def _sides(failure: Failure) -> tuple[object, object]:
    """What a call has and what it needs; torch's words where no rule says it."""
    unmet = failure.unmet
    if unmet is None or unmet.has is None or unmet.needs is None:
        return failure.torch_message, ""
    return unmet.has, unmet.needs


def _never_meet(sides: set[tuple[object, object]]) -> bool:
    """Whether one side is fixed, and all that was seen of the other does not divide it.

    Example: 401 features are needed, and 16 channels of any size were there.
    """
    pairs = [(a, b) for a, b in sides if isinstance(a, int) and isinstance(b, int)]
    if len(pairs) != len(sides):
        return False
    for fixed, other in ((0, 1), (1, 0)):
        needs = {pair[fixed] for pair in pairs}
        unit = gcd(*(pair[other] for pair in pairs))
        if len(needs) == 1 and unit and needs.pop() % unit:
            return True
    return False


def _resized(hypothesis: Hypothesis) -> Iterator[Hypothesis]:
    """The same with another size for one dim, or for both sides of an image.

    Each input has a dim more, too: a program that takes a batch may run without one.
    """
    used = {dim for _, tensor in hypothesis.tensors() for dim in tensor.dims}
    changes: list[tuple[str, ...]] = [
        (letter,) for letter in hypothesis.sizes if letter in used
    ]
    if {"H", "W"} <= used:
        changes.insert(0, ("H", "W"))
    for letters in changes:
        for change in (_double, _next):
            sizes = {each: change(hypothesis.sizes[each]) for each in letters}
            yield hypothesis.with_sizes(sizes)
    for path, tensor in hypothesis.tensors():
        yield hypothesis.with_value(path, replace(tensor, dims=(2, *tensor.dims)))
    for path, tensor in hypothesis.tensors():
        for place, dim in enumerate(tensor.dims):
            for change in (_double, _next) if isinstance(dim, int) else ():
                assert isinstance(dim, int)
                yield hypothesis.with_value(path, _with_dim(tensor, place, change(dim)))


def _with_dim(tensor: Tensor, place: int, size: int) -> Tensor:
    return replace(tensor, dims=placed(tensor.dims, place, size))


def _double(size: int) -> int:
    return 2 * size


def _next(size: int) -> int:
    return size + 1


def _failure_at(tried: Tried, op: Op) -> Failure | None:
    """The failure of the same call, where nothing failed before it."""
    if not tried.failures:
        return None
    first = tried.failures[0]
    other = tried.trace.ops[first.op]
    return first if _place(other) == _place(op) else None


def _place(op: Op) -> tuple[object, ...]:
    """The line of a call, and the layer, which may be one of several on that line."""
    return op.span, op.module, op.name


def _has_passed(tried: Tried, op: Op) -> bool:
    """Whether the same call went well before anything failed."""
    end = tried.failures[0].op if tried.failures else len(tried.trace.ops)
    before = islice(tried.trace.ops, end)
    return any(_place(each) == _place(op) for each in before)
