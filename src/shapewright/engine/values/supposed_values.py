"""Assumed values of unknown tensors, consistent with the calls that produced them.

A read of unknown data gets a representative: ones, or half true. Results of calls that
promise something (a softmax sums to one, a mask counts what it keeps) are computed from
the representative of their operands, so that promises hold and no two answers
contradict each other. Other results, of a matrix product or a loss, get their own.

All of this happens when a value is read, from the events of the run, not earlier.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine import nests
from shapewright.engine.dispatch.plan_tables import RANDOM
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import DTYPES, Info, Meta, count_elements
from shapewright.engine.memo import INPLACE, Answer
from shapewright.engine.suppositions import KEPT, Event, Guess, Key
from shapewright.engine.values.value_ranges import (
    ANY,
    BOTH,
    CARRIED,
    COMPARED,
    COUNTED,
    PROMISED,
    REPEATED,
    SEEN,
    find_bounds,
    is_ranged,
    make_constant,
    make_half_true,
    make_ones_within,
)
from shapewright.operators.facts import operators_with

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

FINITE = operators_with("tests_finiteness")
Tensor = torch.Tensor
LARGEST = 1 << 18
"""Largest number of elements computed with to answer a read."""
MOST_TRUTHS = 1 << 22
"""Maximum number of elements for booleans and for numbers computed from them."""
DEEPEST = 24
"""Largest number of calls traced back."""


def guess_value(engine: Engine, info: Info) -> Guess:
    """Return the assumed value of an unknown tensor, which is the same each time."""
    with torch._C.DisableTorchFunction(), torch.no_grad():
        engine.supposed.look(engine.events)
        return _Asking(engine).of(info, len(engine.events), 0)


def guess_truth(engine: Engine, info: Info) -> Guess:
    """Return the guess of a truth value; a check of all elements is assumed to hold."""
    with torch._C.DisableTorchFunction(), torch.no_grad():
        engine.supposed.look(engine.events)
        asking = _Asking(engine)
        asking.suppose_all(info, len(engine.events), 0)
        return asking.of(info, len(engine.events), 0)


def find_range(engine: Engine, info: Info) -> tuple[float, float]:
    """Return the smallest and largest value that a tensor's call can return."""
    engine.supposed.look(engine.events)
    asking, before = _Asking(engine), len(engine.events)
    for _ in range(DEEPEST):
        call = asking.maker(info, before)
        if call is None:
            break
        before, (answer, ins, _, _, _) = call
        name = get_plain_name(answer.func).strip("_")
        if name in SEEN and len(ins) == 1 and ins[0].meta.dtype == info.meta.dtype:
            info = ins[0]
            continue
        args, kwargs = answer.arguments
        return find_bounds(name, args, kwargs, info.meta)
    return ANY


def fix_value(engine: Engine, info: Info, value: Any) -> None:
    """Fix the value that is returned from now on for a tensor of one element."""
    with torch._C.DisableTorchFunction(), torch.no_grad():
        engine.supposed.look(engine.events)
        fixed = torch.full(info.meta.shape, value, dtype=info.meta.torch_dtype)
        _Asking(engine).pin(info, len(engine.events), Guess(fixed, told=True))


def guess_count(engine: Engine, info: Info) -> int:
    """Return the assumed number of nonzero elements, which is the same each time."""
    total = count_elements(info.meta.shape)
    if not total:
        return 0
    with torch._C.DisableTorchFunction(), torch.no_grad():
        engine.supposed.look(engine.events)
        asking = _Asking(engine)
        key = asking.key(info, len(engine.events))
        if info.meta.dtype != "bool":
            kept = engine.supposed.kept.get(("count", *key))
            if kept is None:
                half = torch.tensor(max(1, total // 2))
                kept = engine.supposed.keep(("count", *key), Guess(half, told=True))
            return int(kept.value)
        if key not in engine.supposed.kept and total > MOST_TRUTHS:
            return max(1, total // 2)
        before = asking.find_pinned(info, len(engine.events))
        guess = asking.of(info, len(engine.events), 0)
        count = int(guess.value.count_nonzero())
        event = asking.maker(info, len(engine.events))
        name = "" if event is None else get_plain_name(event[1][0].func).strip("_")
        if (
            before is None
            and name in COMPARED
            and count in (0, total)
            and not guess.sure
        ):
            guess = Guess(make_half_true(info.meta.shape))
            count = max(1, total // 2)
        asking.pin(info, len(engine.events), replace(guess, told=True))
        return count


class _Asking:
    """A single read, which traces the calls that produced a tensor while they help."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.state = engine.supposed

    def maker(self, info: Info, before: int) -> tuple[int, Event] | None:
        """Return the call that last wrote a tensor before `before`; None if unknown."""
        place = self.state.made.get(info.number)
        if place is None or place >= before:
            return None
        wrote = self.state.wrote.get(info.storage.number, -1)
        event = self.engine.events[place]
        if place < wrote < before:
            return None  # through another view
        return place, event

    def key(self, info: Info, before: int) -> Key:
        """Return the key of a tensor in its state before a call."""
        wrote = self.state.wrote.get(info.storage.number, -1)
        return info.number, wrote if wrote < before else -1

    def of(self, info: Info, before: int, depth: int, keep: bool = True) -> Guess:
        """Return the guess of a tensor as it was before a call."""
        key = self.key(info, before)
        kept = self.state.kept.get(key)
        if kept is not None:
            return kept
        call = self.maker(info, before)
        if info.meta.layout != "strided":
            return _expand_number(None, info.meta)
        guess: Guess | None = None
        named: Key | None = None
        if call is not None and depth < DEEPEST:
            place, event = call
            named = self.written(place, event, info)
            guess = self.state.kept.get(named) or self.compute_call(
                place, event, info, depth, keep
            )
        truths = info.meta.dtype == "bool"
        limit = MOST_TRUTHS if truths else LARGEST
        if guess is None and count_elements(info.meta.shape) > limit:
            return _expand_number(self.large(info, call), info.meta)
        if guess is None:
            within = None if call is None else call[1][0]
            ranged = within is not None and is_ranged(within, info.meta)
            guess = Guess(_make_representative(info.meta, within), told=ranged)
        if keep:
            for guess_key in (key, named):
                if guess_key is not None:
                    self.state.keep(guess_key, guess)
        return guess

    def find_pinned(self, info: Info, before: int) -> Guess | None:
        """Return the earlier result for a tensor, or for an equal computation."""
        kept = self.state.kept.get(self.key(info, before))
        call = self.maker(info, before)
        if kept is None and call is not None:
            kept = self.state.kept.get(self.written(*call, info))
        return kept

    def pin(self, info: Info, before: int, guess: Guess) -> None:
        """Keep a result for a tensor and for equal computations."""
        self.state.keep(self.key(info, before), guess)
        call = self.maker(info, before)
        if call is not None:
            self.state.keep(self.written(*call, info), guess)

    def written(self, place: int, event: Event, info: Info) -> Key:
        """Return a key that is equal for equal calls on the same tensors."""
        answer, ins, outs, _, _ = event
        which = next(i for i, out in enumerate(outs) if out.number == info.number)
        if answer.kind == INPLACE:
            return "written", place, which
        keys = tuple(self.key(operand, place) for operand in ins)
        return get_plain_name(answer.func), repr(answer.arguments), which, keys

    def compute_call(
        self, place: int, event: Event, info: Info, depth: int, keep: bool
    ) -> Guess | None:
        """Compute a call on representatives; None if nothing follows from them."""
        answer, ins, outs, _, _ = event
        name = get_plain_name(answer.func).strip("_")
        value = self.find_sure_value(info, place + 1, 0)
        if value is not None:
            return Guess(value, told=True, sure=True)
        if name in FINITE:
            value = torch.full(info.meta.shape, name == "isfinite")
            return Guess(value, told=True)
        always = name in PROMISED or name in REPEATED or name in SEEN
        if not always and name not in CARRIED:
            return None
        counts = name in COUNTED and bool(ins) and ins[0].meta.dtype == "bool"
        limit = MOST_TRUTHS if counts else LARGEST
        largest = max(
            (count_elements(operand.meta.shape) for operand in (*ins, info)), default=0
        )
        if largest > limit and name not in SEEN:
            return None
        if any(operand.storage.known for operand in ins):
            return None  # their values may have changed since
        guesses = [self.of(operand, place, depth + 1, keep) for operand in ins]
        is_told = any(guess.told for guess in guesses)
        if not (is_told or counts or always):
            return None
        value = _repeat_call(answer, [guess.value for guess in guesses], info, outs)
        if value is None:
            return None
        is_told = is_told or counts or name in PROMISED
        return Guess(
            value, is_told, bool(guesses) and all(guess.sure for guess in guesses)
        )

    def find_sure_value(self, info: Info, before: int, depth: int) -> Tensor | None:
        """Return the value that follows from constants alone, or None."""
        key = self.key(info, before)
        kept = self.state.kept.get(key)
        if kept is not None:
            return kept.value if kept.sure else None
        call = self.maker(info, before)
        if key in self.state.unsure or call is None or depth > DEEPEST:
            return None
        place, (answer, ins, outs, _, _) = call
        name = get_plain_name(answer.func)
        if count_elements(info.meta.shape) > KEPT:
            return None
        value = make_constant(name.strip("_"), answer.arguments, info.meta)
        if value is not None:
            return value
        values: list[Tensor] = []
        fits = all(
            count_elements(operand.meta.shape) <= LARGEST for operand in (*ins, info)
        )
        if ins and fits and name not in RANDOM:
            for operand in ins:
                sure_value = self.find_sure_value(operand, place, depth + 1)
                if sure_value is None:
                    break
                values.append(sure_value)
            else:
                return _repeat_call(answer, values, info, outs)
        self.state.unsure.add(key)
        return None

    def suppose_all(self, info: Info, before: int, depth: int) -> None:
        """Assume that a truth value not read before is true, as are its operands."""
        total = count_elements(info.meta.shape)
        if (
            info.meta.dtype != "bool"
            or depth > DEEPEST
            or self.find_pinned(info, before)
        ):
            return
        call = self.maker(info, before)
        name = "" if call is None else get_plain_name(call[1][0].func).strip("_")
        if call is not None and name in BOTH:
            for operand in call[1][1]:
                self.suppose_all(operand, call[0], depth + 1)
        if not 0 < total <= MOST_TRUTHS or self.of(info, before, 0, False).told:
            return
        true = torch.ones(info.meta.shape, dtype=torch.bool)
        self.pin(info, before, Guess(true, told=True))

    def large(self, info: Info, call: tuple[int, Event] | None) -> Tensor | None:
        """Return one value for all elements of a tensor too large to compute."""
        if call is None:
            return None
        answer = call[1][0]
        name, (args, kwargs) = get_plain_name(answer.func), answer.arguments
        if name in ("softmax", "log_softmax"):
            dim = kwargs.get("dim", args[1] if len(args) > 1 else -1)
            share = torch.tensor(1 / info.meta.shape[dim])
            return share.log() if name == "log_softmax" else share
        return make_ones_within((1,), answer, info.meta)


def _expand_number(value: Tensor | None, meta: Meta) -> Guess:
    """Return a single number expanded to the tensor's shape without using memory."""
    if value is None:
        value = torch.ones(1, dtype=meta.torch_dtype)
    value = value.to(meta.torch_dtype).reshape((1,) * len(meta.shape))
    return Guess(value.expand(meta.shape), told=bool(value.ne(1).any()))


def _make_representative(meta: Meta, answer: Answer | None) -> Tensor:
    """Return the representative of data of which only the range is known."""
    if meta.torch_dtype == torch.bool:
        return make_half_true(meta.shape)
    return make_ones_within(meta.shape, answer, meta)


def _repeat_call(
    answer: Answer, values: list[Tensor], info: Info, outs: tuple[Info, ...]
) -> Tensor | None:
    """Repeat a call on representative values; return None if that is not possible."""
    if answer.kind == INPLACE:
        values = [value.clone() for value in values]
    waiting = iter(values)

    def place(item: Any) -> Any:
        if isinstance(item, Meta):
            return next(waiting)
        if type(item) in (tuple, list):
            return type(item)([place(inner) for inner in item])
        if type(item) is dict:
            return {name: place(inner) for name, inner in item.items()}
        return DTYPES.get(item, item) if type(item) is str else item

    args, kwargs = answer.arguments
    kwargs = {name: item for name, item in kwargs.items() if name not in DROPPED}
    try:
        output = answer.func(*place(args), **place(kwargs))
    except Exception:  # torch refuses; no value is known
        return None
    which = next(i for i, out in enumerate(outs) if out.number == info.number)
    tensors = nests.collect_tensors(output)
    if which >= len(tensors) or tuple(tensors[which].shape) != info.meta.shape:
        return None
    value: Tensor = tensors[which].to(info.meta.torch_dtype)
    finite = value.numel() > LARGEST or bool(value.isfinite().all())
    return value if finite else None


DROPPED = frozenset({"device", "pin_memory", "generator", "out", "non_blocking"})
