"""Find indices that are drawn at random beyond the end of what they index: ids of an
embedding, classes of a loss, places of `scatter`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.target_values import CLASS_LOSSES, SAME
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.view_axes import get_items
from shapewright.findings.codes import DRAWN_INDEX, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with, values_of
from shapewright.record.data_values import DataValues
from shapewright.record.ops import Fact, Op

DRAWS = frozenset({"randint", "random_"})
CHOICE = "multinomial"
"""Draws numbers of columns."""
BUCKETS = values_of("has_limits_at")
PASSING = operators_with("joins_tensors", "rounds", "repeats_whole") | {"clone"}
"""Calls whose result has no other values than their inputs."""
PLACED = operators_with("indexes_along_dim")
JOINS = operators_with("joins_tensors")
PARTS = operators_with("splits")
DEEPEST = 12
"""Calls between a use and a join whose tensors are followed, at most."""
MOST_JOINED = 8
FARTHEST = 24
"""Calls between a draw and its use, at most."""
UNIFORM = frozenset({"rand", "rand_like"})
COMPARED = operators_with("compares_elements") | {"<", "<=", ">", ">="}
MIDDLE = (0.1, 0.9)
MANY = 256
"""Numbers of which some are on each side of one in the middle."""


@dataclass(frozen=True, slots=True)
class _Draw:
    """Values from `low` to `high`, both included, drawn by `op`; `low` is None for data
    that hold `high`.
    """

    low: int | None
    high: int
    op: Op
    is_truth: bool = False

    def scale(self, by: int, shift: int) -> _Draw:
        """Return the same draw of values that were multiplied and that a number was
        added to.
        """
        low = self.low * by + shift if self.low is not None else None
        return replace(self, low=low, high=self.high * by + shift)


@dataclass(frozen=True, slots=True)
class _Use:
    """An index of a call, and the number of rows, classes or elements that it has."""

    at: int
    size: int
    what: str
    ignored: int | None = None


@looks_for(DRAWN_INDEX)
def find_drawn_indices(scene: HazardContext) -> Iterator[Finding]:
    """Find indices that are drawn up to a number which is not there."""
    written = {
        fact.tensor: call
        for call in scene.calls
        if call.op.kind == "inplace"
        for fact in call.op.outputs
    }
    seen = set[object]()
    for call in scene.calls:
        use = _find_use(call)
        if use is None or call.op.span in seen:
            continue
        draw = _find_draw(scene, call.op.inputs[use.at], written)
        if draw is None or draw.high < use.size:
            continue
        if use.ignored is not None and draw.high == use.ignored >= use.size:
            continue
        seen.add(call.op.span)
        name = scene.words(call.op)[use.at]
        what = f"is drawn from {draw.low} to {draw.high}"
        where = "it is drawn here"
        if draw.op.name.rpartition(".")[2] in BUCKETS:
            what = f"has numbers from {draw.low} to {draw.high}"
            where = "their limits are these"
        if draw.op.name.endswith(CHOICE):
            what += f", one of {draw.op.inputs[0].shape[-1]} columns"
        if draw.is_truth:
            what, where = (
                f"is {draw.low} or {draw.high}",
                "this comparison gives 0 and 1",
            )
        if draw.low is None:
            what, where = f"has numbers up to {draw.high}", "the data are read here"
        message = (
            f"{name} {what}, and {scene.operation(call.op)} has {use.size} {use.what},"
            f" 0 to {use.size - 1}"
        )
        yield scene.finding(DRAWN_INDEX, call.op, message, (draw.op, where))


def _find_use(call: OperatorCall) -> _Use | None:
    """Return the index of a call that looks up rows, classes or elements."""
    ins = call.op.inputs
    if len(ins) < 2:
        size = call.given(1, "num_classes", default=-1)
        if call.name == "one_hot" and ins and type(size) is int and size > 0:
            return _Use(0, size, "classes")
        return None
    if call.name == "embedding":
        at = next((n for n, fact in enumerate(ins) if _is_whole(fact)), None)
        table = next((fact for fact in ins if not _is_whole(fact)), None)
        if at is None or table is None or len(table.shape) != 2:
            return None
        return _Use(at, table.shape[0], "rows")
    if call.name in CLASS_LOSSES and _is_whole(ins[1]) and ins[0].shape:
        dim = 1 if len(ins[0].shape) > 1 else 0
        ignored = call.given(4, "ignore_index", default=-100)
        size = ins[0].shape[dim]
        return _Use(1, size, "classes", ignored if type(ignored) is int else None)
    if call.name in PLACED and _is_whole(ins[1]):
        dim = call.given(1, "dim", default=None)
        shape = ins[0].shape
        if type(dim) is int and -len(shape) <= dim < len(shape):
            return _Use(1, shape[dim], f"elements in dim {dim}")
    return None


def _is_whole(fact: Fact) -> bool:
    """Return whether a tensor holds integers."""
    return fact.dtype in ("int64", "int32")


def _find_draw(
    scene: HazardContext,
    fact: Fact,
    written: Mapping[int, OperatorCall],
    of_part: bool = False,
) -> _Draw | None:
    """Follow values back to the call that drew them; None if anything else came in, or
    if only a part of known data is used.
    """
    factor, shift, taken = 1, 0, _Taken(is_part=of_part)
    for far in range(FARTHEST):
        call = written.get(fact.tensor) or scene.maker(fact)
        if call is not None and fact.tensor in written and _is_small(call, shift):
            call = scene.maker(fact)  # a number that is written changes no limit
            if call is None or call.name not in DRAWS:
                return None
        known = scene.program.data_values.get(fact.tensor)
        if known is not None and call is not None and fact.tensor not in written:
            high = taken.find_highest(known)
            drawn = _Draw(None, high, call.op) if high is not None else None
            return drawn.scale(factor, shift) if drawn is not None else None
        if call is None or (fact.tensor in written and call.name not in DRAWS):
            return None
        if call.name in BUCKETS:
            return _find_buckets(call, shift) if factor == 1 else None
        if _is_start(call, fact):
            drawn = _read_start(scene, call, fact)
            return drawn.scale(factor, shift) if drawn is not None else None
        change = _read_change(call)
        if change is None or not call.op.inputs:
            return None
        factor, shift = factor * change[0], shift + factor * change[1]
        was_part = taken.is_part
        taken.note(call)
        if call.name in JOINS and len(call.op.inputs) > 1:
            is_part = taken.column is not None or was_part  # of which is unknown
            if far >= DEEPEST:
                return None
            least = _find_least_draw(scene, call, written, is_part)
            return least.scale(factor, shift) if least is not None else None
        fact = call.op.inputs[0]
    return None


def _is_start(call: OperatorCall, fact: Fact) -> bool:
    """Return whether a call draws values, or decides whether they are true."""
    is_draw = call.name.removesuffix("_like") in DRAWS or call.name == CHOICE
    return is_draw or fact.dtype == "bool"


def _read_start(scene: HazardContext, call: OperatorCall, fact: Fact) -> _Draw | None:
    """Return the values that a call draws, as far as it says which."""
    if call.name == CHOICE:
        return _Draw(0, call.op.inputs[0].shape[-1] - 1, call.op)
    if call.name.removesuffix("_like") in DRAWS:
        limits = _find_limits(call)
        return _Draw(limits[0], limits[1] - 1, call.op) if limits is not None else None
    is_drawn = _is_drawn_comparison(scene, call)
    return _Draw(0, 1, call.op, is_truth=True) if is_drawn else None


def _read_change(call: OperatorCall) -> tuple[int, int] | None:
    """Return the number that a call multiplies values by, and the one that it adds;
    None if it makes other values of them.
    """
    if call.name in ("+", "add", "-", "sub") and len(call.op.inputs) == 1:
        number = [v for _, v in call.op.arguments if type(v) is int]
        if len(number) != 1 or "__rsub__" in call.op.function:
            return None
        return 1, number[0] if call.name in ("+", "add") else -number[0]
    if call.name in ("*", "mul") and len(call.op.inputs) == 1:
        factor = _get_factor(call)
        return (factor, 0) if factor is not None else None
    return (1, 0) if _has_same_values(call) else None


def _get_factor(call: OperatorCall) -> int | None:
    """Return the positive whole number that a call multiplies by, or None."""
    numbers = [value for _, value in call.op.arguments if type(value) in (int, float)]
    if len(numbers) != 1 or numbers[0] < 1 or numbers[0] != int(numbers[0]):
        return None
    return int(numbers[0])


def _is_drawn_comparison(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a call compares many random numbers with one of those between
    them, so that it gives both truth values.
    """
    maker = scene.maker(call.op.inputs[0]) if len(call.op.inputs) == 1 else None
    if call.name not in COMPARED or maker is None or maker.name not in UNIFORM:
        return False
    limits = [value for _, value in call.op.arguments if type(value) is float]
    return (
        len(limits) == 1
        and MIDDLE[0] <= limits[0] <= MIDDLE[1]
        and prod(call.op.inputs[0].shape) >= MANY
    )


def _find_buckets(call: OperatorCall, shift: int) -> _Draw | None:
    """Return the numbers of buckets that are counted from 1 on; of those from 0 on the
    last one may be empty, as its limit is the largest value.
    """
    edges = call.op.inputs[BUCKETS[call.name]] if len(call.op.inputs) > 1 else None
    if edges is None or not edges.shape or shift < 1:
        return None
    return _Draw(shift, edges.shape[-1] + shift, call.op)


def _is_small(call: OperatorCall, shift: int) -> bool:
    """Return whether a call writes 0 or 1 into a part of a tensor, as padding is."""
    value = call.given(2, "value")
    is_write = call.name in ("__setitem__", "[]=", "masked_fill_")
    return is_write and shift == 0 and len(call.op.inputs) <= 2 and value in (0, 1)


@dataclass(slots=True)
class _Taken:
    """Which part of data an index reads: a column, some rows."""

    column: int | None = None
    is_part: bool = False

    def note(self, call: OperatorCall) -> None:
        """Note what a call takes of its input."""
        fact = call.op.inputs[0]
        if call.name == "select" and call.given(1, "dim") in (1, -1):
            self._take_column(fact, call.given(2, "index"))
        elif call.name in ("[]", "__getitem__"):
            items = get_items(call)
            if items is None:
                self.is_part = True
                return
            rows, rest = items[:1], items[1:]
            if rows not in ((":",), ("tensor",), ("...",)):
                self.is_part = True
            if len(rest) == 1 and type(rest[0]) is int:
                self._take_column(fact, rest[0])
            elif rest:
                self.is_part = True
        elif call.name in JOINS | PARTS:
            self.is_part = True

    def _take_column(self, fact: Fact, column: object) -> None:
        if type(column) is int and fact.ndim == 2 and self.column is None:
            self.column = column
        else:
            self.is_part = True

    def find_highest(self, known: DataValues) -> int | None:
        """Return the largest number that the part holds, or None if unknown."""
        if self.is_part:
            return None
        if self.column is None:
            return known.highest
        in_table = -len(known.columns) <= self.column < len(known.columns)
        return known.columns[self.column] if in_table else None


def _find_least_draw(
    scene: HazardContext,
    call: OperatorCall,
    written: Mapping[int, OperatorCall],
    of_part: bool,
) -> _Draw | None:
    """Return the draw up to the lowest number of all tensors that were joined; None if
    one of them was not drawn.
    """
    inputs = {fact.tensor: fact for fact in call.op.inputs[:MOST_JOINED]}
    last = scene.maker(call.op.inputs[-1])
    if last is not None and last.name == CHOICE:  # a token behind those before it
        return _Draw(0, last.op.inputs[0].shape[-1] - 1, last.op)
    draws = [_find_draw(scene, fact, written, of_part) for fact in inputs.values()]
    known = [draw for draw in draws if draw is not None]
    if len(known) < len(draws):
        return None
    return min(known, key=lambda draw: draw.high)


def _has_same_values(call: OperatorCall) -> bool:
    """Return whether a call returns values that it was given, all of them or some that
    are not chosen by value.
    """
    if call.name == "interpolate":
        return bool(call.given(3, "mode", default="nearest") == "nearest")
    if call.name in ("[]", "__getitem__"):
        return all(fact.dtype != "bool" for fact in call.op.inputs[1:])
    return call.op.kind in SAME or call.name in PASSING


def _find_limits(call: OperatorCall) -> tuple[int, int] | None:
    """Return the limits of a draw, the upper one not included."""
    words = ("from", "to") if call.name == "random_" else ("low", "high")
    places = [call.arguments.get(str(n)) for n in range(3)]
    numbers = [value for value in places if type(value) is int]
    low, high = (call.arguments.get(word) for word in words)
    if high is None and numbers:
        high = numbers[-1] if low is None or len(numbers) == 1 else None
        low = numbers[0] if len(numbers) > 1 else low
    low = 0 if low is None else low
    return (low, high) if type(low) is int and type(high) is int else None
