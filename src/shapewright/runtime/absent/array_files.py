"""Arrays of files that do not exist: `np.memmap` and `np.fromfile`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import ModuleType
from typing import Any

from shapewright.engine.replacement import copy_attributes
from shapewright.runtime.absent.late_imports import change_when_imported

Tell = Callable[[str], None]
LENGTH = 1_000_000
"""Elements of a file whose length nothing says; zeros that are never touched."""


@contextmanager
def replace_array_files(tell: Tell) -> Iterator[None]:
    """Let absent files be arrays of zeros, of the dtype that their reader names."""
    with change_when_imported("numpy", partial(_change_numpy, tell)):
        yield


def _change_numpy(tell: Tell, numpy: ModuleType, stack: ExitStack) -> None:
    """Replace the readers of numpy."""
    made: dict[Any, Any] = {}

    def make(name: str, file: Any, dtype: Any, shape: Any) -> Any:
        sizes = (shape,) if isinstance(shape, int) else tuple(shape or (LENGTH,))
        key = os.fspath(file), str(dtype), sizes
        if key not in made:
            made[key] = numpy.zeros(sizes, dtype)
        array = made[key]
        words = ", ".join(f"{size:,}" for size in sizes)
        known = "" if shape else ", a length that is assumed"
        path = os.fspath(file)
        tell(f"stood in for `{path}`: `{name}` of {array.dtype}[{words}]{known}")
        return array

    memmap, fromfile = numpy.memmap, numpy.fromfile

    class StandIn(memmap):  # type: ignore[misc, valid-type]
        def __new__(
            cls, filename: Any, dtype: Any = numpy.uint8, mode: str = "r+",
            offset: int = 0, shape: Any = None, order: str = "C",
        ) -> Any:  # fmt: skip
            if mode in ("r", "c", "r+") and _is_absent(filename):
                return make("np.memmap", filename, dtype, shape)
            return memmap(filename, dtype, mode, offset, shape, order)

    def read(file: Any, dtype: Any = float, count: int = -1, *rest: Any, **kw: Any):  # type: ignore[no-untyped-def]
        if _is_absent(file):
            return make("np.fromfile", file, dtype, count if count > 0 else None)
        return fromfile(file, dtype, count, *rest, **kw)

    StandIn.__name__, StandIn.__qualname__ = memmap.__name__, memmap.__qualname__
    numpy.memmap = StandIn  # type: ignore[attr-defined]
    stack.callback(setattr, numpy, "memmap", memmap)
    numpy.fromfile = copy_attributes(read, fromfile)  # type: ignore[attr-defined]
    stack.callback(setattr, numpy, "fromfile", fromfile)


def _is_absent(file: Any) -> bool:
    """Return whether a path names no file."""
    if not isinstance(file, str | bytes | os.PathLike):
        return False
    return not os.path.exists(file)
