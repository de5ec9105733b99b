"""Arrays of files that do not exist: `np.memmap`, `np.fromfile`, `np.load`, text."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import ModuleType
from typing import Any

from shapewright.engine.replacement import copy_attributes
from shapewright.runtime.absent.given_values import make_array
from shapewright.runtime.absent.known_files import find_known
from shapewright.runtime.absent.late_imports import change_when_imported
from shapewright.runtime.absent.paths import AbsentPaths
from shapewright.runtime.absent.settings import GivenTensors, PlainValue
from shapewright.runtime.absent.tellers import AbsentFile
from shapewright.runtime.absent.text_files import write_question

LENGTH = 1_000_000
"""Elements of a file whose length nothing says; zeros that are never touched."""


@contextmanager
def replace_array_files(paths: AbsentPaths) -> Iterator[None]:
    """Let absent files be arrays of zeros, of the dtype that their reader names."""
    with change_when_imported("numpy", partial(_change_numpy, paths)):
        yield


def _change_numpy(paths: AbsentPaths, numpy: ModuleType, stack: ExitStack) -> None:
    """Replace the readers of numpy."""
    arrays: dict[Any, Any] = {}

    def make(name: str, file: Any, dtype: Any, shape: Any) -> Any:
        data = paths.find(file)
        if data is not None and isinstance(data.holds, GivenTensors):
            paths.tell(f"`{os.fspath(file)}`", f"`{data.text}`", "given")
            array = make_array(data.holds)
            return array.reshape(-1) if not shape else array.reshape(shape)
        sizes = (shape,) if isinstance(shape, int) else tuple(shape or (LENGTH,))
        key = os.fspath(file), str(dtype), sizes
        if key not in arrays:
            arrays[key] = numpy.zeros(sizes, dtype)
        array = arrays[key]
        words = ", ".join(f"{size:,}" for size in sizes)
        by = f"`{name}` of {array.dtype}[{words}]"
        paths.tell(f"`{os.fspath(file)}`", by, "read" if shape else "assumed")
        return array

    memmap, fromfile, load = numpy.memmap, numpy.fromfile, numpy.load

    class StandIn(memmap):  # type: ignore[misc, valid-type]
        def __new__(
            cls, filename: Any, dtype: Any = numpy.uint8, mode: str = "r+",
            offset: int = 0, shape: Any = None, order: str = "C",
        ) -> Any:  # fmt: skip
            if mode in ("r", "c", "r+") and paths.is_absent(filename):
                return make("np.memmap", filename, dtype, shape)
            return memmap(filename, dtype, mode, offset, shape, order)

    def read(file: Any, dtype: Any = float, count: int = -1, *rest: Any, **kw: Any):  # type: ignore[no-untyped-def]
        if paths.is_absent(file) and paths.stands_in(file, sys._getframe(1)):
            return make("np.fromfile", file, dtype, count if count > 0 else None)
        return fromfile(file, dtype, count, *rest, **kw)

    def loaded(file: Any, *args: Any, **kwargs: Any) -> Any:
        if paths.is_absent(file) and paths.stands_in(file, sys._getframe(1)):
            data = paths.find(file)
            if data is None:
                raise AbsentFile(write_question(os.fspath(file)))
            paths.tell(f"`{os.fspath(file)}`", f"`{data.text}`", "given")
            if isinstance(data.holds, PlainValue):
                return data.holds.value
            return make_array(data.holds)  # type: ignore[arg-type]
        return load(file, *args, **kwargs)

    numpy.memmap = copy_attributes(StandIn, memmap)  # type: ignore[attr-defined]
    stack.callback(setattr, numpy, "memmap", memmap)
    numpy.fromfile = copy_attributes(read, fromfile)  # type: ignore[attr-defined]
    stack.callback(setattr, numpy, "fromfile", fromfile)
    numpy.load = copy_attributes(loaded, load)  # type: ignore[attr-defined]
    stack.callback(setattr, numpy, "load", load)
    for name in ("loadtxt", "genfromtxt"):
        original = vars(numpy)[name]
        setattr(numpy, name, _make_text_reader(paths, original))
        stack.callback(setattr, numpy, name, original)


def _make_text_reader(paths: AbsentPaths, original: Any) -> Any:
    """Return a reader of text whose file may be one that is known, or given."""

    def read(fname: Any, *args: Any, **kwargs: Any) -> Any:
        if not paths.is_absent(fname) or not paths.stands_in(fname, sys._getframe(1)):
            return original(fname, *args, **kwargs)
        name = os.fspath(fname)
        data, known = paths.find(name), find_known(name)
        if data is not None and isinstance(data.holds, GivenTensors):
            paths.tell(f"`{name}`", f"`{data.text}`", "given")
            return make_array(data.holds)
        if known is None:
            raise AbsentFile(write_question(name))
        paths.tell(known.get_name(name), known.says, "documented")
        return original(io.StringIO(known.write(name)), *args, **kwargs)

    return copy_attributes(read, original)
