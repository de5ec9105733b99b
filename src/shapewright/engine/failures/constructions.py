"""Where modules were constructed, and state dicts that do not fit them."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType
from typing import Any

import torch
from torch import nn

from shapewright.engine.call_sites import (
    SITE_PACKAGES,
    TORCH,
    USER,
    Positions,
    Sites,
    get_source,
)
from shapewright.engine.replacement import copy_attributes
from shapewright.operators.failed_calls import Misloaded
from shapewright.program.spans import Span, is_installed
from shapewright.record.ops import Source

LARGEST_SHARE = 0.1
"""Of the keys that could match, the largest share that is next to nothing."""


@dataclass(slots=True)
class _Loads:
    """The state dicts that torch rejected in a run, with the lines that loaded them."""

    sites: Sites = field(default_factory=Sites)
    refused: list[tuple[CodeType, int, Misloaded]] = field(default_factory=list)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Make `nn.Module.load_state_dict` continue with the keys that fit."""
        original = nn.Module.load_state_dict
        refuse, note_loose = self.refuse, self.note_loose

        def load_state_dict(
            self: nn.Module,
            state_dict: Any,
            strict: bool = True,
            assign: bool = False,
        ) -> Any:
            try:
                incompatible = original(self, state_dict, strict, assign)
                if not strict:
                    note_loose(self, state_dict, incompatible, sys._getframe(1))
                return incompatible
            except (RuntimeError, TypeError) as error:
                kept = refuse(self, state_dict, error, sys._getframe(1))
                if kept is None:
                    raise
                return original(self, kept, False, assign)

        nn.Module.load_state_dict = copy_attributes(load_state_dict, original)  # type: ignore[method-assign]
        try:
            yield
        finally:
            if nn.Module.load_state_dict is load_state_dict:
                nn.Module.load_state_dict = original  # type: ignore[method-assign]

    def refuse(
        self, module: nn.Module, state: Any, error: Exception, frame: FrameType | None
    ) -> dict[str, Any] | None:
        """Note the keys that do not fit; return the others, None for other errors."""
        misloaded = compare_state_dict(module, state, str(error))
        frame = self.asking(frame)
        if frame is None or misloaded is None:
            return None
        self.refused.append((frame.f_code, frame.f_lasti, misloaded))
        bad = {key for key, _, _ in misloaded.resized}
        inside = _read_mapping(_follow_path(state, misloaded.path))
        return {
            key: value
            for key, value in inside.items()
            if key not in bad and isinstance(value, torch.Tensor)
        }

    def note_loose(
        self, module: nn.Module, state: Any, left: Any, frame: FrameType | None
    ) -> None:
        """Note a state dict of which `strict=False` loaded next to nothing.

        Libraries that load in parts call it too; only calls of the program count.
        """
        if not isinstance(state, Mapping) or not self.is_asked_by_program(frame):
            return
        matched = len(state) - len(left.unexpected_keys)
        fewest = min(matched + len(left.missing_keys), len(state))
        if not fewest or matched > LARGEST_SHARE * fewest:
            return
        misloaded = compare_state_dict(module, state, "")
        frame = self.asking(frame)
        if misloaded is not None and frame is not None:
            matched_load = replace(misloaded, matched=matched, given=len(state))
            self.refused.append((frame.f_code, frame.f_lasti, matched_load))

    def is_asked_by_program(self, frame: FrameType | None) -> bool:
        """Return whether the nearest frame that is neither torch's nor ours is the
        program's.
        """
        while frame is not None and self.sites.kind_of(frame.f_code) != USER:
            if frame.f_code.co_filename.startswith(TORCH):
                return False
            frame = frame.f_back
        return frame is not None and not is_installed(frame.f_code.co_filename)

    def asking(self, frame: FrameType | None) -> FrameType | None:
        """Return the innermost frame of the program itself, else that of a library."""
        first: FrameType | None = None
        while frame is not None:
            if self.sites.kind_of(frame.f_code) == USER:
                if not frame.f_code.co_filename.startswith(SITE_PACKAGES):
                    return frame
                first = first or frame
            frame = frame.f_back
        return first


def compare_state_dict(module: nn.Module, state: Any, message: str) -> Misloaded | None:
    """Return how a state dict's keys and shapes differ from a module's, or None.

    Where none of the keys is the module's, the dict that fits best may lie inside what
    was given: ``{"model": ..., "optimizer": ..., "epoch": 3}``.
    """
    try:
        ours = _read_shapes(module.state_dict())
        theirs = _read_shapes(_read_mapping(state))
    except Exception:  # the program's `state_dict`, or no dict
        return None
    path, holds = "", ""
    if isinstance(state, nn.Module) or not set(ours) & set(theirs):
        known = _count_shared(ours, theirs) if isinstance(state, Mapping) else -1
        shared, path = max(
            [
                (_count_shared(ours, inner), where)
                for where, inner in _iter_inside(state)
            ],
            default=(0, ""),
        )
        if shared <= known or (shared == 0 and not isinstance(state, nn.Module)):
            path = ""
        if not path and {"state", "param_groups"} <= set(theirs):
            holds = "optimizer"
        if path:
            theirs = _read_shapes(_read_mapping(_follow_path(state, path)))
    resized = tuple(
        (key, shape, theirs[key])
        for key, shape in ours.items()
        if theirs.get(key, shape) != shape and theirs[key] is not None
    )
    missing = tuple(key for key in ours if key not in theirs)
    unexpected = tuple(key for key in theirs if key not in ours)
    if not (resized or missing or unexpected or path):
        return None
    name = type(module).__name__
    pairs = Counter(ours[key] for key in missing) == Counter(
        theirs[key] for key in unexpected
    )
    return Misloaded(
        name, missing, unexpected, resized, len(ours), message, path, holds, pairs=pairs
    )  # fmt: skip


def _follow_path(state: Any, path: str) -> Any:
    """Return the value to which a path of a `Misloaded` leads."""
    return eval(f"state{path}", {"state": state})


def _read_mapping(state: Any) -> Mapping[str, Any]:
    """Return the state dict of a module, or what was given, as a mapping."""
    return state.state_dict() if isinstance(state, nn.Module) else dict(state)


def _read_shapes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shape of each tensor by its key, None for what is no tensor."""
    return {
        key: tuple(value.shape) if isinstance(value, torch.Tensor) else None
        for key, value in values.items()
    }


def _iter_inside(state: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the state dicts inside what was given, each with the path to it."""
    if isinstance(state, nn.Module):
        yield ".state_dict()", _read_shapes(state.state_dict())
    elif isinstance(state, Mapping):
        for key, value in state.items():
            if isinstance(value, nn.Module | Mapping) and isinstance(key, str):
                quoted = key.replace("\\", "\\\\").replace('"', '\\"')
                here = f'["{quoted}"]'
                if isinstance(value, Mapping):
                    yield here, _read_shapes(value)
                for path, inner in _iter_inside(value):
                    yield here + path, inner


def _count_shared(ours: dict[str, Any], theirs: dict[str, Any]) -> int:
    """Return how many of a model's keys end a key of a dict, or are ended by one."""
    tails = {_get_tail(key) for key, shape in theirs.items() if shape is not None}
    return sum(_get_tail(key) in tails for key in ours)


def _get_tail(key: str) -> str:
    """Return the last two parts of a key: the layer's name and its tensor's."""
    return ".".join(str(key).split(".")[-2:])


@dataclass(frozen=True, slots=True)
class ModuleConstruction:
    """The call that constructed a module.

    `arguments` are the names of the class's arguments, `values` those that the module
    keeps under the same name: whole numbers, flags, tuples of numbers.
    """

    span: Span
    class_name: str
    arguments: tuple[str, ...]
    values: tuple[tuple[str, Any], ...] = ()


@dataclass(slots=True)
class Constructions:
    """The constructed modules, by `id`, with the lines that constructed them."""

    sites: Sites = field(default_factory=Sites)
    seen: dict[int, tuple[CodeType, int, nn.Module]] = field(default_factory=dict)
    loads: _Loads = field(default_factory=_Loads)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Make `nn.Module.__init__` note its caller during a load or a run."""
        original = nn.Module.__init__

        note = self.note

        def __init__(self: nn.Module, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            note(self, sys._getframe(1))

        nn.Module.__init__ = copy_attributes(__init__, original)  # type: ignore[method-assign]
        try:
            with self.loads.watched():
                yield
        finally:
            if nn.Module.__init__ is __init__:
                nn.Module.__init__ = original  # type: ignore[method-assign]

    def note(self, module: nn.Module, frame: FrameType | None) -> None:
        """Note the nearest frame of the program outside this module's constructors."""
        while frame is not None:
            code = frame.f_code
            if self.sites.kind_of(code) == USER:
                own = code.co_varnames[:1]
                if not own or frame.f_locals.get(own[0]) is not module:
                    self.seen[id(module)] = code, frame.f_lasti, module
                    return
            frame = frame.f_back

    def places(
        self, modules: Mapping[str, nn.Module], folder: str
    ) -> tuple[
        dict[str, ModuleConstruction], dict[str, Source], list[tuple[Span, Misloaded]]
    ]:
        """Return constructions by path, their source files and rejected state dicts."""
        sources: dict[str, Source] = {}
        refused = self.loads.refused
        for code, _, _ in [*self.seen.values(), *refused]:
            source = get_source(code.co_filename)
            if source is not None:
                sources[code.co_filename] = source
        positions = Positions(folder, sources)
        constructions = {}
        for path, module in modules.items():
            noted = self.seen.get(id(module))
            if noted is not None and noted[2] is module:
                span = positions.span(noted[0], noted[1])
                kind = type(module)
                names = get_constructor_arguments(kind)
                kept = tuple(iter_kept_values(module, names))
                constructions[path] = ModuleConstruction(
                    span, kind.__name__, names, kept
                )
        loads = [
            (positions.span(code, at), misloaded) for code, at, misloaded in refused
        ]
        texts = {positions.relative(name): source for name, source in sources.items()}
        return constructions, texts, loads


def iter_kept_values(
    module: nn.Module, names: tuple[str, ...]
) -> Iterator[tuple[str, Any]]:
    """Yield the arguments that a module keeps as attributes, as plain values."""
    for name in names:
        value = module.__dict__.get(name)
        values = value if isinstance(value, tuple) else (value,)
        if values and all(type(item) in (int, bool, float) for item in values):
            yield name, value


RECURRENT = (
    "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
    "bidirectional", "proj_size",
)  # fmt: skip
"""What `nn.LSTM`, `nn.GRU` and `nn.RNN` take: their signatures only say `*args`."""


def get_constructor_arguments(kind: type) -> tuple[str, ...]:
    """Return the names of the arguments of a class's constructor, without `self`."""
    if issubclass(kind, nn.RNNBase) and kind.__module__ == nn.RNNBase.__module__:
        return RECURRENT
    try:
        names = list(inspect.signature(kind.__init__).parameters)  # type: ignore[misc]
    except (TypeError, ValueError):
        return ()
    return tuple(names[1:])
