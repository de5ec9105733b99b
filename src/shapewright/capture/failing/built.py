"""Where in the program each module was constructed."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from torch import nn

from shapewright.capture.failing.loading import Loads
from shapewright.capture.positions import Positions, source_of
from shapewright.capture.replacement import resemble
from shapewright.capture.sites import USER, Sites
from shapewright.rules.needs.loading import Misloaded
from shapewright.source.span import Span
from shapewright.trace.record import Source


@dataclass(frozen=True, slots=True)
class Built:
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
    """Every module that was constructed, by `id`, with the place that asked for it."""

    sites: Sites = field(default_factory=Sites)
    seen: dict[int, tuple[CodeType, int, nn.Module]] = field(default_factory=dict)
    loads: Loads = field(default_factory=Loads)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """`nn.Module.__init__` notes who called it, for the time of a load or a run."""
        original = nn.Module.__init__

        note = self.note

        def __init__(self: nn.Module, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            note(self, sys._getframe(1))

        nn.Module.__init__ = resemble(__init__, original)  # type: ignore[method-assign]
        try:
            with self.loads.watched():
                yield
        finally:
            if nn.Module.__init__ is __init__:
                nn.Module.__init__ = original  # type: ignore[method-assign]

    def note(self, module: nn.Module, frame: FrameType | None) -> None:
        """The nearest frame of the program that is no constructor of this module."""
        while frame is not None:
            code = frame.f_code
            if self.sites.kind_of(code) == USER:
                own = code.co_varnames[:1]
                if not own or frame.f_locals.get(own[0]) is not module:
                    self.seen[id(module)] = code, frame.f_lasti, module
                    return
            frame = frame.f_back

    def places(
        self, modules: dict[str, nn.Module], folder: str
    ) -> tuple[dict[str, Built], dict[str, Source], list[tuple[Span, Misloaded]]]:
        """The construction of each module by its path, the texts that it stands in,
        and the state dicts that did not fit."""
        sources: dict[str, Source] = {}
        refused = self.loads.refused
        for code, _, _ in [*self.seen.values(), *refused]:
            source = source_of(code.co_filename)
            if source is not None:
                sources[code.co_filename] = source
        positions = Positions(folder, sources)
        found = {}
        for path, module in modules.items():
            noted = self.seen.get(id(module))
            if noted is not None and noted[2] is module:
                span = positions.span(noted[0], noted[1])
                kind = type(module)
                names = arguments_of(kind)
                kept = tuple(kept_values(module, names))
                found[path] = Built(span, kind.__name__, names, kept)
        loads = [(positions.span(code, at), one) for code, at, one in refused]
        texts = {positions.relative(name): each for name, each in sources.items()}
        return found, texts, loads


def kept_values(module: nn.Module, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """What a module keeps of its arguments, as plain values."""
    for name in names:
        value = module.__dict__.get(name)
        each = value if isinstance(value, tuple) else (value,)
        if each and all(type(item) in (int, bool, float) for item in each):
            yield name, value


RECURRENT = (
    "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
    "bidirectional", "proj_size",
)  # fmt: skip
"""What `nn.LSTM`, `nn.GRU` and `nn.RNN` take: their signatures only say `*args`."""


def arguments_of(kind: type) -> tuple[str, ...]:
    """The names of a class's arguments, `self` left out."""
    if issubclass(kind, nn.RNNBase) and kind.__module__ == nn.RNNBase.__module__:
        return RECURRENT
    try:
        names = list(inspect.signature(kind.__init__).parameters)  # type: ignore[misc]
    except (TypeError, ValueError):
        return ()
    return tuple(names[1:])
