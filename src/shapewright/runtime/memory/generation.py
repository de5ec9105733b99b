"""Generate tokens without data: the prompt, a few tokens, and the last one.

The model returns a cache as those of transformers do, `past_key_values`, and takes it
back with the next token. Tokens between the first few and the last allocate alike: the
cache of the last one is that of a prompt as long, which runs without being counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import torch
from torch.utils._pytree import tree_iter

from shapewright.record.memory import (
    ALLOCATE,
    CACHE,
    DECODE,
    LAST_TOKEN,
    PREFILL,
    Event,
    Generation,
)
from shapewright.runtime.memory.storage_events import StorageEvents

FEW = 3
"""Tokens after the prompt that run."""


WITHOUT = (
    "no cache comes with the output: a generation is followed for models that take "
    "`use_cache` and return `past_key_values`, as those of transformers do"
)


class NoCache(ValueError):
    """Raised for a model that cannot be asked for one token after the other."""


def run_generation(
    call: Callable[[Any], Any], fed: Any, events: StorageEvents, tokens: int
) -> Generation:
    """Run a generation of `tokens` tokens after the prompt in `fed`.

    `call` takes the arguments of the model, positional and by name. Of the tokens, the
    arithmetic of the first and of the last is counted.
    """
    (args, kwargs), (name, ids) = fed, _find_ids(fed)
    batch, length = ids.shape
    events.phase = PREFILL
    try:
        cache = _get_cache(call((args, {**kwargs, "use_cache": True})))
    except TypeError as error:
        if "'use_cache'" not in str(error):
            raise
        raise NoCache(WITHOUT) from None
    _claim_cache(events, cache)
    sizes = [_count_bytes(cache)]
    for number in range(min(FEW, tokens - 1)):
        events.phase, events.is_counting = DECODE, number == 0
        cache = _call_with_cache(call, name, ids.new_zeros(batch, 1), cache)
        _claim_cache(events, cache)
        sizes.append(_count_bytes(cache))
    if tokens - 1 > FEW:
        del cache
        events.phase = LAST_TOKEN
        cache = _make_cache(call, name, ids, length + tokens - 2, events)
        events.is_counting = True
        cache = _call_with_cache(call, name, ids.new_zeros(batch, 1), cache)
        _claim_cache(events, cache)
    steps = {after - before for before, after in pairwise(sizes)}
    last = _count_bytes(cache)
    steady = steps.pop() if len(steps) == 1 else None
    if steady is not None and sizes[0] + steady * (tokens - 1) != last:
        steady = None  # a window, for instance
    return Generation(length, tokens, sizes[0], last, steady)


def _find_ids(fed: Any) -> tuple[str, torch.Tensor]:
    """Return the token numbers of the prompt, and the name under which they are given;
    no name for the first argument.
    """
    args, kwargs = fed
    candidates = [("", args[0])] if args else list(kwargs.items())
    for name, value in sorted(candidates, key=lambda pair: pair[0] != "input_ids"):
        if (
            isinstance(value, torch.Tensor)
            and value.dim() == 2
            and not value.is_floating_point()
        ):
            return name, value
    raise NoCache('no prompt of token numbers is given, as in "i64[B=1, T=128]"')


def _get_cache(output: Any) -> Any:
    """Return the cache of a model's output."""
    is_mapping = isinstance(output, Mapping)
    cache = output.get("past_key_values") if is_mapping else None
    cache = getattr(output, "past_key_values", None) if cache is None else cache
    if cache is None:
        raise NoCache(WITHOUT)
    return cache


def _call_with_cache(
    call: Callable[[Any], Any], name: str, ids: torch.Tensor, cache: Any
) -> Any:
    """Return the cache after a call with the next tokens."""
    named = {"past_key_values": cache, "use_cache": True}
    if name:
        return _get_cache(call(((), {name: ids, **named})))
    return _get_cache(call(((ids,), named)))


def _make_cache(
    call: Callable[[Any], Any],
    name: str,
    ids: torch.Tensor,
    length: int,
    events: StorageEvents,
) -> Any:
    """Return the cache of a prompt of another length, of which nothing else counts."""
    kept, events.events = events.events, []
    try:
        prompt = ids.new_zeros(ids.shape[0], length)
        arguments: Any = ((), {name: prompt}) if name else ((prompt,), {})
        cache = _get_cache(call((arguments[0], {**arguments[1], "use_cache": True})))
        del prompt, arguments
    finally:
        events.events = kept
    for number in _list_storages(events, cache):
        size = events.sizes[number]
        kept.append(Event(ALLOCATE, number, size, events.step, events.phase))
    _claim_cache(events, cache)
    return cache


def _list_tensors(cache: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors of a cache: of nested tuples, or of objects with layers."""
    for item in tree_iter(getattr(cache, "layers", cache)):
        if isinstance(item, torch.Tensor):
            yield item
        elif hasattr(item, "__dict__"):
            values = [v for v in vars(item).values() if not isinstance(v, dict)]
            yield from (v for v in tree_iter(values) if isinstance(v, torch.Tensor))


def _list_storages(events: StorageEvents, cache: Any) -> dict[int, None]:
    """Return the numbers of the storages of a cache."""
    known = (events.live.get(t.untyped_storage()._cdata) for t in _list_tensors(cache))
    return dict.fromkeys(pair[1] for pair in known if pair is not None)


def _claim_cache(events: StorageEvents, cache: Any) -> None:
    """Say which storages are the cache."""
    for number in _list_storages(events, cache):
        events.notes[number].kind = CACHE


def _count_bytes(cache: Any) -> int:
    """Return the bytes of the tensors of a cache, each storage once."""
    storages = {
        tensor.untyped_storage()._cdata: tensor.untyped_storage()
        for tensor in _list_tensors(cache)
    }
    return sum(storage.nbytes() for storage in storages.values())
