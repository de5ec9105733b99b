"""Functions that traverse nests (tuples, lists, dicts) of arguments and results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch.nn.utils.rnn import PackedSequence

from shapewright.engine import random_seeds
from shapewright.engine.identity import DTYPE_NAMES, Info
from shapewright.engine.tracked_sizes.numbers import KINDS
from shapewright.engine.tracked_sizes.numbers import to_plain as plain_number

Tensor = torch.Tensor
_LISTS = (tuple, list)
_NESTS = (tuple, list, dict)
"""Tuples of types: `tuple | list` would be made anew at each call."""

ATOMS = frozenset(
    {int, float, bool, complex, str, type(None), torch.dtype, torch.device}
    | {torch.layout, torch.memory_format, type(...)}
)


class _Knower(Protocol):
    """An object that knows the metadata of the tensors of a run."""

    def info(self, tensor: Tensor) -> Info: ...


class _Unhashable:
    """Replaces a value that cannot be compared, so that its key equals no other key."""

    __hash__ = None  # type: ignore[assignment]


UNHASHABLE = _Unhashable()


def append_key(engine: _Knower, value: Any, key: list[Any], infos: list[Info]) -> int:
    """Append to `key` all that a result depends on; count tensors of known values."""
    kind = type(value)
    if isinstance(value, Tensor):
        info = engine.info(value)
        infos.append(info)
        key.append(info.meta)
        if info.meta.layout != "strided":
            key.append(UNHASHABLE)
        return int(info.storage.known)
    if kind is tuple or kind is list or kind is torch.Size:
        known = 0
        key.append(len(value))
        for item in value:
            known += append_key(engine, item, key, infos)
        return known
    if kind in ATOMS:
        key.append((kind, value))
        return 0
    if kind is slice:
        key.append(slice)
        for item in (value.start, value.stop, value.step):
            append_key(engine, item, key, infos)
        return 0
    if kind is dict:
        known = 0
        for name, item in value.items():
            key.append(name)
            known += append_key(engine, item, key, infos)
        return known
    if isinstance(value, int | float | str) or callable(value):
        key.append((kind, value))
        return 0
    if isinstance(value, _LISTS):
        return sum(append_key(engine, item, key, infos) for item in value)
    key.append(UNHASHABLE)
    return 0


def swap_tensors(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """Return the nested arguments with `change` applied to every tensor."""
    if isinstance(value, Tensor):
        return change(value)
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is tuple or kind is list:
        return kind(swap_tensors(item, change) for item in value)
    if kind is dict:
        return {name: swap_tensors(item, change) for name, item in value.items()}
    if kind is slice:
        return slice(
            swap_tensors(value.start, change),
            swap_tensors(value.stop, change),
            swap_tensors(value.step, change),
        )
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*(swap_tensors(item, change) for item in value))
    if isinstance(value, PackedSequence):
        return kind(*(swap_tensors(item, change) for item in value))
    if isinstance(value, tuple) and kind is not torch.Size:
        return kind(swap_tensors(item, change) for item in value)  # structseq
    return value


def visit_tensors(value: Any, look: Callable[[Tensor], Any], depth: int = 0) -> None:
    """Call `look` with every tensor in a nested structure (tuples, lists, dicts)."""
    if isinstance(value, Tensor):
        look(value)
    elif isinstance(value, _LISTS):
        for item in value:
            visit_tensors(item, look, depth + 1)
    elif isinstance(value, dict):
        for item in value.values():
            visit_tensors(item, look, depth + 1)


def collect_tensors(value: Any) -> list[Tensor]:
    """Return all tensors in a nested structure (tuples, lists, dicts), in order."""
    tensors: list[Tensor] = []
    if isinstance(value, _NESTS):
        _add_tensors(value, tensors)
    elif isinstance(value, Tensor):
        tensors.append(value)
    return tensors


def _add_tensors(nest: Any, tensors: list[Tensor]) -> None:
    """Add the tensors of a container; most of what it holds are tensors or numbers."""
    for item in nest.values() if isinstance(nest, dict) else nest:
        if isinstance(item, Tensor):
            tensors.append(item)
        elif isinstance(item, _NESTS):
            _add_tensors(item, tensors)


def replace_devices(
    physical: tuple[tuple[Any, ...], dict[str, Any]], device: str = "meta"
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with every device replaced."""
    args, kwargs = physical
    if "device" in kwargs and kwargs["device"] is not None:
        kwargs = {**kwargs, "device": device}
    if "pin_memory" in kwargs:
        kwargs = {**kwargs, "pin_memory": False}
    generator = kwargs.get("generator")
    if generator is not None and device == "meta":
        kwargs = {**kwargs, "generator": None}
    elif generator is not None:
        random_seeds.save_generator(generator)
    if any(isinstance(value, torch.device) for value in args):
        args = tuple(
            torch.device(device) if isinstance(value, torch.device) else value
            for value in args
        )
    return args, kwargs


def to_plain(value: Any, meta_of: Callable[[Tensor], Any]) -> Any:
    """Convert arguments for a rule: tensors to metadata, torch's types to names."""
    kind = type(value)
    if kind in UNCHANGED:
        return value
    if isinstance(value, Tensor):
        return meta_of(value)
    if kind is tuple:
        return tuple([to_plain(item, meta_of) for item in value])
    if kind is list:
        return [to_plain(item, meta_of) for item in value]
    if kind is dict:
        return {name: to_plain(item, meta_of) for name, item in value.items()}
    if kind is torch.Size:
        return tuple(value)
    if kind is torch.dtype:
        return DTYPE_NAMES[value]
    if kind is torch.device:
        return str(value)
    if kind is torch.memory_format or kind is torch.layout:
        return str(value).removeprefix("torch.")
    if kind is slice:
        ends = (value.start, value.stop, value.step)
        return slice(*[to_plain(end, meta_of) for end in ends])
    if kind is PackedSequence:
        return tuple([to_plain(item, meta_of) for item in value])
    return value


UNCHANGED = frozenset({int, float, bool, str, type(None), complex})


def copy_nest(value: Any, look: Callable[[Tensor], Info], depth: int = 0) -> Any:
    """Copy a nested structure with infos for tensors, keeping no object alive."""
    if isinstance(value, Tensor):
        return look(value)
    kind = type(value)
    if kind in (int, float, bool, str, type(None), complex):
        return value if kind is not str or len(value) < 200 else value[:200] + "..."
    if depth > 6:
        return f"<{kind.__name__}>"
    if isinstance(value, dict):
        return {
            str(name): copy_nest(item, look, depth + 1)
            for name, item in _take_first(value.items())
        }
    if isinstance(value, _LISTS):
        items = [copy_nest(item, look, depth + 1) for item in _take_first(value)]
        return tuple(items) if isinstance(value, tuple) else items
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: copy_nest(getattr(value, field.name, None), look, depth + 1)
            for field in dataclasses.fields(value)
        }
    if kind in ATOMS:
        return str(value)
    if kind in KINDS:
        return plain_number(value)
    return f"<{kind.__name__}>"


def _take_first(items: Any, most: int = 1000) -> list[Any]:
    listed = list(items)
    return listed[:most]
