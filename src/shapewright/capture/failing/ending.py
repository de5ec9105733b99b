"""What names meant in the frame where the program's own Python raised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.capture.identity import Info
from shapewright.capture.sites import USER, is_installed
from shapewright.rules.needs.ending import Ending

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine
    from shapewright.capture.folding import Fold

MOST = 400
"""Names that are kept."""
LONGEST = 60
"""Characters of a text, and members of a tuple, that are kept."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """The names of a frame, before tensors have their numbers in the record."""

    error: str
    message: str
    tensors: dict[str, Info]
    values: dict[str, Any]
    library: bool

    def ending(self, fold: Fold) -> Ending:
        """The same with facts of the record, all of whose ops were read before."""
        tensors = {name: fold.fact(info) for name, info in self.tensors.items()}
        return Ending(self.error, self.message, tensors, self.values, self.library)


def frozen(engine: Engine, error: BaseException) -> Frozen | None:
    """What names meant in the innermost frame of the program."""
    frame: FrameType | None = None
    where = error.__traceback__
    while where is not None:
        if engine.sites.kind_of(where.tb_frame.f_code) == USER:
            frame = where.tb_frame
        where = where.tb_next
    if frame is None:
        return None
    tensors: dict[str, Info] = {}
    values: dict[str, Any] = {}
    for name, value in named(dict(frame.f_locals)):
        if len(tensors) + len(values) >= MOST:
            break
        if isinstance(value, torch.Tensor):
            tensors[name] = engine.info(value)
        elif is_plain(value):
            values[name] = tuple(value) if isinstance(value, torch.Size) else value
    library = is_installed(frame.f_code.co_filename)
    return Frozen(type(error).__name__, str(error), tensors, values, library)


def named(names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each name with its value; attributes and items of it by a path."""
    for name, value in names.items():
        yield name, value
        if isinstance(value, list | tuple) and not isinstance(value, torch.Size):
            for n, item in enumerate(value[:LONGEST]):
                yield f"{name}[{n}]", item
    for name, value in names.items():
        if isinstance(value, nn.Module):
            held = {**vars(value), **value._parameters, **value._buffers}
            for each, item in held.items():
                yield f"{name}.{each}", item


def is_plain(value: Any) -> bool:
    """Numbers, short texts, short tuples of numbers."""
    if isinstance(value, tuple):
        few = len(value) <= LONGEST
        return few and all(type(item) in (int, float, bool) for item in value)
    if isinstance(value, str):
        return len(value) <= LONGEST
    return type(value) in (int, float, bool)
