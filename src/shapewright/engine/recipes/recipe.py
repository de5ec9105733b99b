"""A run's calls as numbers, and as steps that can be replayed at other sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine.dispatch.answers import find_rule
from shapewright.engine.dispatch.plan_tables import find_meta_errors
from shapewright.engine.identity import Info, Meta
from shapewright.engine.memo import INPLACE, OPAQUE, Answer, get_arguments
from shapewright.engine.module_calls import RunningCall
from shapewright.engine.tracked_sizes.comparisons import (
    Comparisons,
    Sides,
    StandInType,
    WatchedCalls,
)
from shapewright.engine.tracked_sizes.numbers import KINDS, to_plain
from shapewright.operators.metadata_rules import Rule
from shapewright.record.guards import Applied, Expression, SizeRead

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


Shapes = tuple[tuple[int, ...], ...]

WHOLE = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Sample:
    """A run at given sizes of the letters.

    For each call: `keys` says which it was (function, place, module), so that calls of
    two runs can be told to be the same; `taken` and `given` are the shapes in and out,
    `steps` the strides out, `numbers` the whole numbers among its arguments, those of
    slices last. What the target returned stands last, as if a call had given it.
    """

    letters: Mapping[str, int]
    keys: tuple[Any, ...]
    taken: tuple[Shapes, ...]
    given: tuple[Shapes, ...]
    steps: tuple[Shapes, ...]
    numbers: tuple[tuple[int, ...], ...]


def make_sample(
    events: Iterable[tuple[Any, ...]],
    calls: list[RunningCall],
    letters: Mapping[str, int],
    output: Shapes | None,
) -> Sample:
    """Return the sample of a run: its numbers, without names and facts."""
    keys: list[Any] = []
    taken, returned, steps, numbers = [], [], [], []
    known: dict[int, tuple[int, ...]] = {}
    for answer, ins, outs, site, number in events:
        call = calls[number] if calls else None
        kinds = tuple([info.meta.dtype for info in outs])
        keys.append((answer.func, site, call.path if call else "", kinds))
        taken.append(get_shapes(ins))
        returned.append(get_shapes(outs))
        steps.append(tuple([info.meta.stride for info in outs]))
        whole = known.get(id(answer))
        if whole is None:
            given_to = get_arguments(answer)
            ends = find_slice_numbers(given_to) if is_index(answer.func) else ()
            whole = known[id(answer)] = (*find_whole_numbers(given_to), *ends)
        numbers.append(whole)
    if output is not None:
        keys.append(("output", len(output)))
        taken.append(())
        returned.append(output)
        steps.append(())
        numbers.append(())
    return Sample(
        dict(letters), tuple(keys), tuple(taken), tuple(returned), tuple(steps),
        tuple(numbers),
    )  # fmt: skip


def is_index(function: Any) -> bool:
    """Return whether a call indexes a tensor: `x[:, ::2]`."""
    return getattr(function, "__name__", "") in ("__getitem__", "__setitem__")


def find_slice_numbers(nest: Any) -> Iterator[int]:
    """Return the integers in slices, which the arguments contain as text."""
    if isinstance(nest, tuple | list):
        for item in nest:
            yield from find_slice_numbers(item)
    elif isinstance(nest, str):
        yield from map(int, WHOLE.findall(nest))


def get_shapes(infos: Iterable[Info]) -> Shapes:
    """Return the shapes of some tensors."""
    return tuple([info.meta.shape for info in infos])


def find_whole_numbers(nest: Any) -> Iterator[int]:
    """Return the integers in a nested structure, in order."""
    if isinstance(nest, tuple | list):
        for item in nest:
            yield from find_whole_numbers(item)
    elif isinstance(nest, int) and not isinstance(nest, bool):
        yield int(nest)


Nest = tuple[tuple[Any, ...], dict[str, Any]]


class Underivable(Exception):
    """Raised if a run's sizes cannot be computed without it; `str()` is the reason."""


class TensorPlace:
    """The place of a tensor among the arguments of a call."""

    def __repr__(self) -> str:
        return "tensor"


TENSOR = TensorPlace()


@dataclass(slots=True, eq=False)
class RecipeStep:
    """One call: its input and output tensors, and its other arguments.

    `arguments` have `TENSOR` where tensors stand and an expression where the program
    gave a size that it had read. `torchs`: they are as torch takes them; else dtypes
    and the like are names, as rules read them.
    """

    answer: Answer
    rule: Rule | None
    ins: tuple[Info, ...]
    outs: tuple[Info, ...]
    arguments: Nest
    torchs: bool
    expressions: tuple[Expression, ...]
    form: Any

    @property
    def written(self) -> Info | None:
        """Return the tensor that the call writes, whose metadata does not change."""
        if self.answer.kind != INPLACE:
            return None
        return self.ins[self.answer.written or 0] if self.ins else None


@dataclass(slots=True)
class Recipe:
    """The steps of a run, its inputs, and the comparisons before each step."""

    steps: list[RecipeStep]
    given: tuple[Info, ...]
    output: tuple[Info, ...]
    guards: list[tuple[int, Sides]]


def note_arguments(args: Any, kwargs: Any) -> Nest:
    """Return the arguments of a call without tensors, tracked sizes as expressions."""
    return _drop_tensors(tuple(args)), _drop_tensors(kwargs or {})


def _drop_tensors(value: Any) -> Any:
    """Return nested arguments without tensors and with tracked sizes as expressions."""
    kind = type(value)
    if kind in KINDS:
        return value.expression if value.seen.open else to_plain(value)
    if kind is StandInType:
        return value.stands_for
    if isinstance(value, torch.Tensor):
        return TENSOR
    if kind is tuple or kind is torch.Size:
        return tuple([_drop_tensors(item) for item in value])
    if kind is list:
        return [_drop_tensors(item) for item in value]
    if kind is dict:
        return {name: _drop_tensors(item) for name, item in value.items()}
    if kind is slice:
        return slice(
            _drop_tensors(value.start),
            _drop_tensors(value.stop),
            _drop_tensors(value.step),
        )
    return value


def _make_recipe(
    engine: Engine,
    seen: Comparisons,
    output: tuple[Info, ...],
) -> Recipe:
    """Return the recipe of a watched run, or raise `Underivable`."""
    if engine.graph:
        raise Underivable("gradients")
    if seen.full:
        raise Underivable("more comparisons than are kept")
    steps_by_answer: dict[int, RecipeStep] = {}
    steps = []
    for at, (answer, ins, outs, _, _) in enumerate(engine.events):
        steps.append(
            _make_step(answer, ins, outs, seen.arguments.get(at), steps_by_answer)
        )
    return Recipe(steps, seen.given, output, seen.order)


def collect_calls(
    engine: Engine, seen: Comparisons, output: tuple[Info, ...]
) -> WatchedCalls:
    """Return what a watched run provides in addition to its record."""
    try:
        recipe = _make_recipe(engine, seen, output)
    except Underivable:
        recipe = None
    places = {info.number: (-1, nth) for nth, info in enumerate(seen.given)}
    slices = []
    known: dict[int, tuple[int, ...]] = {}
    for at, (answer, ins, outs, _, _) in enumerate(engine.events):
        for nth, info in enumerate(outs):
            places.setdefault(info.number, (at, nth))
        if is_index(answer.func) and ins:
            ends = known.get(id(answer))
            if ends is None:
                arguments = get_arguments(answer)
                found_numbers = {
                    *find_whole_numbers(arguments),
                    *find_slice_numbers(arguments),
                }
                ends = known[id(answer)] = tuple(
                    sorted(n for n in found_numbers if n > 1)
                )
            if ends:
                slices.append((at, ins[0].number, ends))
    returned = [places.get(info.number, (-1, -1)) for info in output]
    return WatchedCalls(recipe, places, slices, returned)


def _make_step(
    answer: Answer,
    ins: Any,
    outs: Any,
    note: Nest | None,
    steps_by_answer: dict[int, RecipeStep],
) -> RecipeStep:
    """Convert a call to a step."""
    if answer.kind == OPAQUE or answer.notes or answer.raised is not None:
        raise Underivable("a call that is recorded as a whole")
    before = steps_by_answer.get(id(answer)) if note is None else None
    if before is not None:
        return RecipeStep(
            answer, before.rule, tuple(ins), tuple(outs), before.arguments,
            before.torchs, (), before.form,
        )  # fmt: skip
    rule = find_rule(answer.func)
    if rule is None and find_meta_errors(answer.func):
        raise Underivable("a kernel that may be wrong without data")
    arguments = _remove_metas(answer.arguments) if note is None else note
    if sum(1 for leaf in _iter_leaves(arguments) if leaf is TENSOR) != len(ins):
        raise Underivable("a call whose tensors are not told apart")
    expressions = tuple(
        e for e in _iter_leaves(arguments) if isinstance(e, SizeRead | Applied)
    )
    step = RecipeStep(
        answer, rule, tuple(ins), tuple(outs), arguments, note is not None,
        expressions, _make_form(arguments),
    )  # fmt: skip
    if note is None:
        steps_by_answer[id(answer)] = step
    return step


def change_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a nested structure with `change` applied to its leaves, in order."""
    kind = type(value)
    if kind is tuple:
        return tuple([change_leaves(item, change) for item in value])
    if kind is list:
        return [change_leaves(item, change) for item in value]
    if kind is dict:
        return {name: change_leaves(item, change) for name, item in value.items()}
    if kind is slice:
        ends = (value.start, value.stop, value.step)
        return slice(*[change_leaves(end, change) for end in ends])
    return change(value)


def _remove_metas(value: Any) -> Any:
    """Return recorded arguments with `TENSOR` in place of metadata."""
    return change_leaves(value, lambda leaf: TENSOR if isinstance(leaf, Meta) else leaf)


def _iter_leaves(value: Any) -> Iterator[Any]:
    """Yield the leaves of a nested structure, in order."""
    if isinstance(value, tuple | list):
        for item in value:
            yield from _iter_leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _iter_leaves(item)
    elif isinstance(value, slice):
        yield from _iter_leaves((value.start, value.stop, value.step))
    else:
        yield value


def _make_form(value: Any) -> Any:
    """Return a hashable form of nested arguments, without their expressions."""
    kind = type(value)
    if kind is tuple or kind is list:
        return (kind, *[_make_form(item) for item in value])
    if kind is dict:
        return (kind, *[(name, _make_form(item)) for name, item in value.items()])
    if kind is slice:
        return (kind, *map(_make_form, (value.start, value.stop, value.step)))
    if kind is SizeRead or kind is Applied:
        return SizeRead
    try:
        hash(value)
    except TypeError:
        return (kind, id(value))
    return (kind, value)
