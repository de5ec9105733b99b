"""Call an op of a trace again on real tensors of its shapes, and draw it.

A run that is to be drawn afterwards gets a `Watch`. Other runs pay nothing.

The record has metadata only. Values are made up, except those that a `Watch` kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine import nests
from shapewright.engine.dispatch.results import convert_for_record, record_failure
from shapewright.engine.function_names import get_long_name
from shapewright.engine.identity import DTYPES
from shapewright.engine.memo import UNTOLD
from shapewright.index_maps.drawn_calls import Drawn, Side
from shapewright.record.ops import Fact, Op
from shapewright.runtime.operator_calls.call_context import draw_with
from shapewright.runtime.operator_calls.drawing import (
    RUNNABLE,
    Wrong,
    iter_named_tensors,
    make_typed_tensor,
    name_arguments,
)
from shapewright.runtime.operator_calls.live_tensors import (
    add_offsets,
    format_call,
    get_operator_name,
)
from shapewright.runtime.operator_calls.operator_names import (
    find_function,
    get_known_names,
)
from shapewright.runtime.operator_calls.typed_calls import iter_likely_bounds

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine, Plan


Tensor = torch.Tensor
TOO_LARGE = "too large to run and to check against torch; give smaller sizes with -i"
MOST = 8 * RUNNABLE
"""Elements, over all tensors, up to which an op of a run is called again."""


LARGEST = 1000
"""Bound of made-up numbers, so that they are easy to read."""


class _NotRebuilt(Exception):
    """Raised if the record does not suffice to call an op again."""


@dataclass(frozen=True, slots=True)
class _Replayed:
    """A drawn op. `order` names its inputs as in the drawing; `known` has the places of
    those that have the values of the run."""

    drawn: Drawn
    order: tuple[str, ...] = ()
    known: frozenset[int] = frozenset()


def replay_call(op: Op, values: Mapping[int, Any] | None = None) -> _Replayed:
    """Call `op` again and draw it; `values` holds known values by input position.

    An op that cannot be called again, or gives another shape on made-up values, is
    shown by the shapes of the run, with the reason.
    """
    try:
        func, name = _find_function(op.function or get_long_name(op.name))
        metas = {fact.tensor: _make_blank(fact) for fact in op.inputs}
        args, kwargs = _rebuild_arguments(
            op, [metas[fact.tensor] for fact in op.inputs]
        )
    except _NotRebuilt as why:
        return _Replayed(_draw_from_facts(op, str(why)), tuple(_iter_plain_names(op)))
    named = list(iter_named_tensors(name_arguments(name, args, kwargs)))
    order = tuple(_find_name(named, metas[fact.tensor]) for fact in op.inputs)
    text = format_call(_get_shown_name(op), args, kwargs)
    kept = {
        at: value
        for at, value in (values or {}).items()
        if _is_fitting(op.inputs[at], value)
    }
    if sum(fact.numel for fact in (*op.inputs, *op.outputs)) > MOST:
        drawn = _draw_from_facts(op, TOO_LARGE, text, name, order)
    else:
        drawn = _perform_call(op, func, name, text, order, kept)
        if drawn.inputs and len(drawn.inputs) == len(named):
            drawn = add_offsets(drawn, dict(named))
    unsure = {fact.unknown: None for fact in (*op.inputs, *op.outputs) if fact.unknown}
    notes = tuple(f"assumed in the run: {words}" for words in unsure)
    drawn = replace(drawn, notes=(*drawn.notes, *notes))
    return _Replayed(drawn, order, frozenset(kept))


def _find_name(named: Sequence[tuple[str, Tensor]], tensor: Tensor) -> str:
    """Return the first name that a tensor has among the arguments."""
    return next(
        (name for name, named_tensor in named if named_tensor is tensor), "input"
    )


def _get_shown_name(op: Op) -> str:
    """Return the name under which a call is written."""
    return op.function or get_long_name(op.name)


# -- the call --------------------------------------------------------------------------


def _find_function(dotted: str) -> tuple[Callable[..., Any], str]:
    """Return the torch function with a dotted name, and the name of its index map."""
    if dotted in get_known_names():
        return find_function(dotted), dotted
    function: Any = torch
    for part in dotted.split(".")[1:]:
        function = getattr(function, part, None)
    if callable(function) and dotted.startswith("torch."):
        try:
            name = get_operator_name(function)
        except TypeError:
            name = dotted
        if name in get_known_names():
            return find_function(name), name
    raise _NotRebuilt(f"`{dotted}` has no index map")


def _rebuild_arguments(
    op: Op, tensors: Sequence[Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a recorded call, with `tensors` as its inputs."""
    indexing = op.name.startswith("[")
    arguments: dict[str, Any] = {}
    for place, value in op.arguments:
        arguments[place] = _read_argument(value, place, indexing)
    places = op.places or tuple(_iter_free_places(arguments, len(tensors)))
    if len(places) != len(tensors) or UNTOLD in "".join(places):
        raise _NotRebuilt("the places of its tensors in the call are not recorded")
    for place, tensor in zip(places, tensors, strict=True):
        _put_tensor(arguments, place.split("."), tensor)
    plain = {key: _make_list(value, indexing) for key, value in arguments.items()}
    count = sum(key.isdecimal() for key in plain)
    if any(str(n) not in plain for n in range(count)):
        raise _NotRebuilt("not all of its arguments are recorded")
    args = tuple(plain[str(n)] for n in range(count))
    return args, {k: v for k, v in plain.items() if not k.isdecimal()}


def _iter_free_places(arguments: Mapping[str, Any], count: int) -> Iterator[str]:
    """Yield the first `count` positions that no recorded argument has."""
    at = 0
    while count:
        if str(at) not in arguments:
            count -= 1
            yield str(at)
        at += 1


def _put_tensor(nest: Any, way: list[str], tensor: Any) -> None:
    """Insert a tensor at its place in nested arguments."""
    key: Any = way[0] if isinstance(nest, dict) else int(way[0])
    if len(way) == 1:
        nest[key] = tensor
        return
    inner = nest.get(key) if isinstance(nest, dict) else nest[key]
    if not isinstance(inner, list | dict):
        inner = nest[key] = dict(enumerate(inner)) if isinstance(inner, tuple) else {}
    _put_tensor(_Numbered(inner) if isinstance(inner, dict) else inner, way[1:], tensor)


class _Numbered:
    """The items of a list that is still being filled, by index."""

    def __init__(self, items: dict[Any, Any]) -> None:
        self.items = items

    def __getitem__(self, at: int) -> Any:
        return self.items.get(at)

    def __setitem__(self, at: int, value: Any) -> None:
        self.items[at] = value


def _make_list(value: Any, indexing: bool) -> Any:
    """Return indexed items as a list, or as a tuple for an index in brackets."""
    if isinstance(value, dict):
        items = [_make_list(value[at], False) for at in sorted(value)]
        return tuple(items) if indexing else items
    return value


DEVICE = re.compile(r"(cpu|cuda|mps|xpu|hpu|xla|mtia|meta)(:\d+)?")
LONGEST = 100
"""Items up to which the record has a whole list."""


def _read_argument(value: Any, place: str, indexing: bool) -> Any:
    """Convert a recorded argument to a value that torch accepts."""
    if isinstance(value, str):
        return _read_text(value, place, indexing)
    if isinstance(value, tuple | list):
        if len(value) >= LONGEST:
            raise _NotRebuilt(f"only the start of its argument {place} is recorded")
        items = [_read_argument(item, place, indexing) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def _read_text(text: str, place: str, indexing: bool) -> Any:
    """Return the value that a text in the record represents."""
    if indexing and place != "2":
        if text == "...":
            return ...
        if ":" in text:
            ends = [None if not end else int(end) for end in text.split(":")]
            return slice(*ends)
        return text
    if text.startswith("<") and text.endswith(">"):
        raise _NotRebuilt(f"its argument {place} is not recorded: {text}")
    if text in DTYPES:
        return DTYPES[text]
    if DEVICE.fullmatch(text):
        return "cpu"
    if place in ("layout", "memory_format"):
        return getattr(torch, text, text)
    return text


# -- its tensors -----------------------------------------------------------------------


def _count_cells(fact: Fact) -> int:
    """Return the number of storage elements that a tensor spans."""
    if not fact.numel:
        return 0
    steps = zip(fact.shape, fact.stride or (), strict=True)
    return 1 + sum((size - 1) * step for size, step in steps)


def _make_blank(fact: Fact) -> Tensor:
    """Return a meta tensor with the recorded metadata."""
    if fact.stride is None or fact.layout != "strided":
        raise _NotRebuilt(f"a tensor of layout {fact.layout} has no strides")
    dtype = DTYPES[fact.dtype]
    room = torch.empty(
        _count_cells(fact) + fact.storage_offset, dtype=dtype, device="meta"
    )
    return room.as_strided(fact.shape, fact.stride, fact.storage_offset)


def _make_filled(fact: Fact, seed: int, high: int, value: Any) -> Tensor:
    """Return a tensor with the recorded strides and with known or made-up values."""
    assert fact.stride is not None
    if value is not None:
        room = torch.zeros(_count_cells(fact), dtype=DTYPES[fact.dtype])
        filled = room.as_strided(fact.shape, fact.stride)
        if fact.numel:
            flat = torch.tensor(value, dtype=filled.dtype)
            filled.copy_(flat.reshape(fact.shape))
        return filled
    room = make_typed_tensor((_count_cells(fact),), fact.dtype, seed, high)
    if fact.dtype in ("float32", "float64"):
        own = fact.is_leaf and fact.requires_grad
        # Of a parameter they are smaller still: sums of products stay short.
        room = room % 7 + 1 if own else room % LARGEST
    return room.as_strided(fact.shape, fact.stride)


def _is_fitting(fact: Fact, value: Any) -> bool:
    """Return whether a tensor of the recorded shape can be filled with nested lists."""
    for size in fact.shape:
        if not isinstance(value, list) or len(value) != size:
            return False
        value = value[0] if value else None
    return not isinstance(value, list) and 0 not in (fact.stride or ())


def _perform_call(
    op: Op,
    func: Callable[..., Any],
    name: str,
    text: str,
    order: tuple[str, ...],
    values: Mapping[int, Any],
) -> Drawn:
    """Run the call on the values of the run, made up where they are not known."""
    raised = not op.outputs
    drawn = None
    known = {op.inputs[at].tensor: value for at, value in values.items()}
    with torch.random.fork_rng([]):
        for high in _iter_highs(op, name):
            torch.manual_seed(0)
            tensors = {
                fact.tensor: _make_filled(
                    fact, fact.tensor, high, known.get(fact.tensor)
                )
                for fact in op.inputs
            }
            args, kwargs = _rebuild_arguments(
                op, [tensors[fact.tensor] for fact in op.inputs]
            )
            try:
                drawn = draw_with(func, name, args, kwargs, text)
            except Wrong as wrong:  # other calls of the line are drawn all the same
                reason = (
                    f"our index map differs from torch here, a bug of ours: {wrong}"
                )
                return _draw_from_facts(op, reason, text, name, order)
            if raised or not drawn.error:
                break
    assert drawn is not None
    if raised:
        return drawn
    if drawn.error:
        reason = f"torch refuses the values that were made up: {drawn.error}"
        return _draw_from_facts(op, reason, text, name, order)
    results = [(side.shape, side.dtype) for side in drawn.outputs]
    if results and results != [(fact.shape, fact.dtype) for fact in op.outputs]:
        reason = "its result depends on values, and those of the run are not known"
        return _draw_from_facts(op, reason, text, name, order)
    return (
        drawn
        if results
        else replace(drawn, outputs=_draw_facts(op.outputs, _name_outputs(op)))
    )


def _iter_highs(op: Op, name: str) -> Iterator[int]:
    """Yield upper bounds to try for made-up integers, the likeliest first."""
    dims = [value for key, value in op.arguments if type(value) is int and key != "0"]
    named = dict(op.arguments).get("dim")
    floats = [
        fact.shape
        for fact in op.inputs
        if not fact.dtype.startswith(("int", "uint", "bool")) and fact.shape
    ]
    whole = [fact.shape for fact in op.inputs if fact.shape]
    dim = named if type(named) is int else next(iter(dims), None)
    yield from iter_likely_bounds(floats or whole[:1], dim, name)


# -- shapes only -----------------------------------------------------------------------


def _draw_from_facts(
    op: Op,
    reason: str,
    text: str = "",
    name: str = "",
    order: Sequence[str] = (),
) -> Drawn:
    """Draw a call from recorded shapes alone, for the given reason."""
    names = order or tuple(_iter_plain_names(op))
    first: dict[str, Fact] = {}
    for key, fact in zip(names, op.inputs, strict=True):
        first.setdefault(key, fact)
    return Drawn(
        text or op.name,
        name or _get_shown_name(op),
        _draw_facts(first.values(), first),
        _draw_facts(op.outputs, _name_outputs(op)),
        reason=reason,
    )


def _iter_plain_names(op: Op) -> Iterator[str]:
    """Yield names for the inputs of a call whose parameters are not known."""
    for at, place in enumerate(op.places or map(str, range(len(op.inputs)))):
        untold = UNTOLD in place or place[0].isdecimal()
        yield f"input.{at}" if untold and len(op.inputs) > 1 else "input"


def _name_outputs(op: Op) -> list[str]:
    """Return names for the outputs of an op."""
    several = len(op.outputs) > 1
    return [f"out.{n}" if several else "out" for n in range(len(op.outputs))]


def _draw_facts(facts: Iterable[Fact], names: Iterable[str]) -> tuple[Side, ...]:
    """Return recorded tensors as sides of a drawing, without values."""
    return tuple(
        Side(name, fact.shape, fact.dtype, fact.stride or (), fact.storage_offset)
        for name, fact in zip(names, facts, strict=True)
    )


MOST_WATCHED = 4096
"""Elements up to which a tensor's values are kept."""
IN_ALL = 1 << 22
"""Elements that are kept of one run, at most."""


class Watch:
    """The input values of the ops of the last run, by op and input position."""

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self.values: dict[int, dict[int, Any]] = {}
        self.left = IN_ALL

    def get_known(self, op: Op, ops: Sequence[Op]) -> dict[int, Any]:
        """Return the known input values of an op if `ops` are the watched run's."""
        engine = self.engine
        if engine is None or len(engine.events) != len(ops):
            return {}
        return self.values.get(op.index, {})

    def __call__(self, plan: Plan) -> Plan:
        """Wrap the plan of a function to keep the input values of its calls."""

        def watched(engine: Engine, func: Any, args: Any, kwargs: Any) -> Any:
            if engine is not self.engine:
                self.engine, self.values, self.left = engine, {}, IN_ALL
            before = len(engine.events)
            tensors = nests.collect_tensors((args, kwargs or {}))
            known_values = (
                self.find_known_values(engine, tensors) if engine.recording else {}
            )
            try:
                return plan(engine, func, args, kwargs)
            except Exception as error:  # of the program or torch; raised again
                if error is engine.error and len(engine.events) == before:
                    infos = [engine.info(tensor) for tensor in tensors]
                    named = convert_for_record(engine, args, kwargs or {})
                    record_failure(engine, func, named, infos, error)
                raise
            finally:
                if known_values and len(engine.events) == before + 1:
                    self.values[before] = known_values
                    self.left -= sum(tensors[at].numel() for at in known_values)

        return watched

    def find_known_values(
        self, engine: Engine, tensors: list[torch.Tensor]
    ) -> dict[int, Any]:
        """Return the known values among the tensors of a call, by position."""
        known_values: dict[int, Any] = {}
        with torch._C.DisableTorchFunction():
            for at, tensor in enumerate(tensors):
                info = engine.info(tensor)
                storage = info.storage
                if (
                    not storage.known
                    or storage.assumed
                    or info.meta.layout != "strided"
                ):
                    continue
                if 0 < tensor.numel() <= min(MOST_WATCHED, self.left):
                    known_values[at] = engine.value_of(tensor).tolist()
        return known_values
