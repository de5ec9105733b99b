"""Keep the files that a program writes, removes and renames in a layer.

Files that a C library opens by itself are redirected in `library_files.py`, if the
library is known.
"""

from __future__ import annotations

import builtins
import bz2
import io
import os
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from itertools import count
from typing import TYPE_CHECKING, Any

from shapewright.engine.replacement import copy_attributes
from shapewright.record.ops import Assumption
from shapewright.runtime.files.confinement import confine_writes
from shapewright.runtime.files.layer import Layer, make_temporary_folder
from shapewright.runtime.files.library_files import (
    keep_tensor_files,
    redirect_library_files,
)
from shapewright.runtime.files.os_functions import (
    Patch,
    make_attribute_patches,
    make_moving_patches,
    make_process_patches,
    make_query_patches,
    resolve_path,
)
from shapewright.runtime.files.torch_files import keep_saves

if TYPE_CHECKING:
    from shapewright.record.trace import Trace
    from shapewright.runtime.files.torch_files import Witness


WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


@contextmanager
def keep_files() -> Iterator[Layer]:
    """Redirect all writes in the block to a folder that is removed afterwards.

    Inside another such block, empty its layer for the time of this one.
    """
    current = find_layer()
    if current is not None:
        with current.emptied(), _restore_folder():
            yield current
        return
    with ExitStack() as stack:
        layer = Layer(stack.enter_context(make_temporary_folder()))
        stack.callback(setattr, layer, "over_with", True)
        stack.enter_context(_restore_folder())
        stack.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
        tempfile.tempdir = layer.temporary()
        names: Any = tempfile  # the same each time: they stand in what is told
        stack.callback(setattr, names, "_name_sequence", names._name_sequence)
        names._name_sequence = (f"{number:08}" for number in count(1))
        patches = [
            *_make_opening_patches(layer),
            *make_query_patches(layer),
            *make_moving_patches(layer),
            *make_attribute_patches(layer),
            *make_process_patches(layer),
        ]
        named: dict[Any, Any] = {}
        for owner, name, function in patches:
            if hasattr(owner, name):  # xattr is Linux's alone
                original = getattr(owner, name)
                stack.callback(setattr, owner, name, original)
                if original not in named:  # `io.open` is `open`
                    function = copy_attributes(_wrap_errors(layer, function), original)
                    named[original] = function
                setattr(owner, name, named[original])
        stack.enter_context(_claim_abilities(named))
        stack.enter_context(_patch_numpy(layer))
        stack.enter_context(redirect_library_files(layer))
        stack.callback(setattr, sys, "dont_write_bytecode", sys.dont_write_bytecode)
        sys.dont_write_bytecode = True  # Python writes it past our functions
        yield layer


@contextmanager
def _claim_abilities(functions: dict[Any, Any]) -> Iterator[None]:
    """Make `os.stat in os.supports_follow_symlinks` hold for the stand-ins."""
    claimed = [
        (ability, function)
        for ability in (
            os.supports_dir_fd, os.supports_effective_ids, os.supports_fd,
            os.supports_follow_symlinks,
        )
        for original, function in functions.items()
        if original in ability
    ]  # fmt: skip
    for ability, function in claimed:
        ability.add(function)
    try:
        yield
    finally:
        for ability, function in claimed:
            ability.discard(function)


def _wrap_errors(layer: Layer, function: Any) -> Any:
    """Wrap a function so that its errors name the files as the program knows them."""
    if isinstance(function, type):
        return function

    @wraps(function)
    def named(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except OSError as error:
            for attribute in ("filename", "filename2"):
                name = getattr(error, attribute)
                if isinstance(name, str) and name.startswith(layer.folder):
                    setattr(error, attribute, layer.path(name))
            raise

    return named


def find_layer() -> Layer | None:
    """Return the layer that `open` uses, if there is any."""
    layer: Layer | None = getattr(io.open, "layer", None)
    return layer


@contextmanager
def _restore_folder() -> Iterator[None]:
    """Restore the working directory after the block."""
    folder = os.getcwd()
    try:
        yield
    finally:
        os.chdir(folder)


@contextmanager
def _patch_numpy(layer: Layer) -> Iterator[None]:
    """Patch `np.savetxt` and others, which keep the `open` of numpy's import."""
    module = sys.modules.get("numpy.lib._datasource")
    kept = getattr(getattr(module, "_file_openers", None), "_file_openers", None)
    if not isinstance(kept, dict) or None not in kept:
        yield
        return
    before, kept[None] = kept[None], io.open
    try:
        yield
    finally:
        kept[None] = before


def _make_opening_patches(layer: Layer) -> list[Patch]:
    """Return patches for functions that open files or create folders."""
    opening, low, mkdir = layer.open, os.open, os.mkdir
    truncate = os.truncate

    def opened(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if isinstance(mode, str) and set(mode) & set("wax+"):
            file = layer.writing(file, keeps="w" not in mode)
        else:
            file = layer.reading(file)
        return opening(file, mode, *rest, **named)

    def opened_low(
        file: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None
    ) -> int:
        file = resolve_path(file, dir_fd)
        writes = flags & WRITES
        keeps = flags & (os.O_TRUNC | os.O_CREAT) != os.O_TRUNC | os.O_CREAT
        file = layer.writing(file, keeps) if writes else layer.reading(file)
        return low(file, flags, mode)

    def made(file: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        file = resolve_path(file, dir_fd)
        if layer.path(file) is not None and layer.is_there(layer.reading(file)):
            raise FileExistsError(17, "File exists", os.fspath(file))
        mkdir(layer.writing(file), mode)

    def made_special(original: Any) -> Any:
        """Stand in for `os.mkfifo` and `os.mknod`."""

        def make(
            file: Any, *rest: Any, dir_fd: int | None = None, **named: Any
        ) -> None:
            original(layer.writing(resolve_path(file, dir_fd)), *rest, **named)

        return make

    def cut(file: Any, length: int) -> None:
        """Stand in for `os.truncate`."""
        if layer.path(file) is None:  # a file that is open
            truncate(file, length)
            return
        if not layer.is_there(layer.reading(file)):
            raise layer.missing(file)
        truncate(layer.writing(file, keeps=True), length)

    class LedFileIO(io.FileIO, metaclass=_AsFileIO):
        """`io.FileIO` with its file redirected to the layer."""

        def __init__(
            self, file: Any, mode: str = "r", closefd: bool = True, opener: Any = None
        ) -> None:
            if not isinstance(file, int) and opener is None:
                writes = bool(set(mode) & set("wax+"))
                keeps = "w" not in mode
                led = layer.writing(file, keeps) if writes else layer.reading(file)
                file = led
            super().__init__(file, mode, closefd, opener)

    opened.layer = layer  # type: ignore[attr-defined]  # for `find_layer`
    return [
        (builtins, "open", opened),
        (io, "open", opened),
        (bz2, "_builtin_open", opened),  # which keep the `open` that was there
        (tarfile, "bltn_open", opened),
        (io, "FileIO", LedFileIO),
        (os, "open", opened_low),
        (os, "mkdir", made),
        (os, "mkfifo", made_special(getattr(os, "mkfifo", None))),
        (os, "mknod", made_special(getattr(os, "mknod", None))),
        (os, "truncate", cut),
    ]


class _AsFileIO(type(io.FileIO)):  # type: ignore[misc]
    """A metaclass under which raw files from `open` count as instances."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__mro__[1])


@dataclass(frozen=True, slots=True)
class ProgramFiles:
    """Protects a program's files, as in ``with ProgramFiles().kept():``.

    Its writes go to a layer over the file system, and are gone after the block. With
    `confined_to`, the folder of a process that ends, the kernel refuses all writes
    outside of it where it can. With `allow_writes` the program writes as in a real run,
    except through `torch.save` and similar functions, which have no data to write.
    """

    allow_writes: bool = False
    confined_to: str | None = None

    @contextmanager
    def kept(self, witness: Witness | None = None) -> Iterator[Layer]:
        """Keep the program's files in a layer; notify `witness` of saves and loads."""
        with ExitStack() as stack:
            if self.allow_writes:
                layer = Layer(stack.enter_context(make_temporary_folder()))
            else:
                if self.confined_to is not None:
                    confine_writes(self.confined_to)
                layer = stack.enter_context(keep_files())
            shelf = stack.enter_context(keep_saves(layer, witness))
            stack.enter_context(keep_tensor_files(shelf))
            yield layer


def add_process_notes(trace: Trace, layer: Layer) -> Trace:
    """Return the trace with a note on each process that the program started."""
    notes = tuple(Assumption(text) for text in _describe_processes(layer))
    return replace(trace, assumptions=(*trace.assumptions, *notes)) if notes else trace


def _describe_processes(layer: Layer) -> list[str]:
    """Return a sentence on each process that the program started."""
    return [
        f"`{command}` ran as a process of its own, which can write no files "
        "(--allow-writes lets it)"
        for command in layer.started
    ]
