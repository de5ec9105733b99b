"""Libraries that open files by themselves, in C: their files are led to a layer.

What is not listed here is held by the kernel where it can be (`confinement.py`): its
write is refused, and the program is told so.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shapewright.engine.replacement import resemble

if TYPE_CHECKING:
    from shapewright.runtime.files.layer import Layer

LARGE = 1 << 26
"""Bytes of a file that `numpy.memmap` changes in memory only, and not in a copy."""


@dataclass(frozen=True, slots=True)
class Opener:
    """A function, or a class, that opens the file named by its argument `file`.

    `mode` is the argument that says how, as for `open`; without one the function
    writes, or `reads`, or may read as well as write what is there (`changes`).
    """

    module: str
    name: str
    file: str
    mode: str = ""
    changes: bool = False
    reads: bool = False
    at: int = 0  # the file's place, where the function tells no signature
    default: str = "r"

    def writes(self, arguments: dict[str, Any]) -> tuple[bool, bool]:
        """Whether it writes, and whether what the file holds is kept."""
        if not self.mode:
            return not self.reads, self.changes
        mode = str(arguments.get(self.mode) or self.default)
        return bool(set(mode) & set("wax+cn-")), "w" not in mode and mode != "n"


OPENERS = (
    Opener("sqlite3", "connect", "database", changes=True),
    Opener("h5py", "File", "name", "mode"),
    Opener("lmdb", "open", "path", changes=True),
    Opener("lmdb", "Environment", "path", changes=True),
    Opener("dbm.gnu", "open", "filename", "flags"),
    Opener("dbm.ndbm", "open", "filename", "flags"),
    Opener("cv2", "imwrite", "filename"),
    Opener("cv2", "VideoWriter", "filename"),
    Opener("cv2", "imread", "filename", reads=True),
    Opener("cv2", "VideoCapture", "filename", reads=True),
    Opener("soundfile", "SoundFile", "file", "mode"),
    Opener("pyarrow", "OSFile", "path", "mode"),
    Opener("pyarrow", "memory_map", "path", "mode"),
    Opener("pyarrow.parquet", "ParquetWriter", "where"),
    Opener("pyarrow.parquet", "read_table", "source", reads=True),
    Opener("pyarrow.feather", "write_feather", "dest", at=1),
    Opener("pyarrow.feather", "read_table", "source", reads=True),
    Opener("netCDF4", "Dataset", "filename", "mode"),
    Opener("faiss", "write_index", "fname", at=1),
    Opener("faiss", "read_index", "fname", reads=True),
    Opener("xgboost", "Booster.save_model", "fname"),
    Opener("tokenizers", "Tokenizer.save", "path", at=1),
    Opener("torch._C", "PyTorchFileWriter", "name"),
    Opener("torch._C", "PyTorchFileReader", "name", reads=True),
    Opener("torch.jit", "save", "f", at=1),
    Opener("torch.jit", "load", "f", reads=True),
    Opener("torch.jit", "ScriptModule.save", "f", at=1),
    Opener("torch", "from_file", "filename", changes=True),
    Opener("safetensors.numpy", "save_file", "filename", at=1),
)
"""What opens files past Python's `open`, by its documentation."""


@contextmanager
def library_files_kept(layer: Layer) -> Iterator[None]:
    """Lead what libraries open to the layer: those that are there, and come later."""
    with ExitStack() as stack:
        by_module: dict[str, list[Opener]] = {}
        for opener in OPENERS:
            by_module.setdefault(opener.module, []).append(opener)

        def lead(module: ModuleType) -> None:
            for opener in by_module[module.__name__]:
                undo = _led(module, opener, layer)
                if undo is not None:
                    stack.callback(undo)

        later = set()
        for name in by_module:
            module = sys.modules.get(name)
            if module is not None:
                lead(module)
            else:
                later.add(name)
        finder = AfterImport(later, lead)
        sys.meta_path.insert(0, finder)
        stack.callback(_removed, sys.meta_path, finder)
        stack.enter_context(_memory_maps_kept(layer))
        yield


def _removed(items: list[Any], item: Any) -> None:
    if item in items:
        items.remove(item)


def _led(
    module: ModuleType, opener: Opener, layer: Layer
) -> Callable[[], object] | None:
    """Replace one function, or a class's beginning; returns how to undo it."""
    owner: Any = module
    *path, name = opener.name.split(".")
    for part in path:
        owner = getattr(owner, part, None)
    original = getattr(owner, name, None)
    if original is None:
        return None
    if isinstance(original, type) and "__init__" in vars(original):
        owner, name = original, "__init__"
        original = vars(owner)[name]
        led = _leading(original, opener, layer, 1)
    else:
        led = _leading(original, opener, layer, 0)
    try:
        setattr(owner, name, led)
    except TypeError:  # of a type that is written in C
        return None
    return lambda: setattr(owner, name, original)


def _leading(original: Any, opener: Opener, layer: Layer, own: int) -> Any:
    """The function with the name of its file led to the layer."""
    try:
        names = list(inspect.signature(original).parameters)
    except (TypeError, ValueError):
        names = []
    if opener.file not in names:  # written in C: the file is first, then the mode
        names = [*[""] * (opener.at + own), opener.file, opener.mode]
    at = names.index(opener.file)

    def opened(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        writes, keeps = opener.writes(given)

        def led(file: Any) -> Any:
            if isinstance(file, str) and file.startswith((":", "file:")):
                return file  # sqlite's ":memory:"
            return layer.writing(file, keeps) if writes else layer.reading(file)

        if opener.file in kwargs:
            kwargs[opener.file] = led(kwargs[opener.file])
        elif len(args) > at:
            args = (*args[:at], led(args[at]), *args[at + 1 :])
        return original(*args, **kwargs)

    return resemble(opened, original)


class AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function with a module of these names once it has been imported."""

    def __init__(self, names: set[str], then: Callable[[ModuleType], None]) -> None:
        self.names = names
        self.then = then

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname not in self.names:
            return None
        self.names.discard(fullname)  # so that the next line finds the others
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Loading(spec.loader, self.then)
        return spec


class _Loading(importlib.abc.Loader):
    """A loader, and what is called after it."""

    def __init__(self, loader: Any, then: Callable[[ModuleType], None]) -> None:
        self.loader = loader
        self.then = then

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self.loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.then(module)


@contextmanager
def _memory_maps_kept(layer: Layer) -> Iterator[None]:
    """A large file that `numpy.memmap` would change is changed in memory only."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        yield
        return
    original = numpy.memmap.__new__

    def mapped(
        kind: Any, filename: Any, dtype: Any = numpy.uint8, mode: str = "r+",
        *rest: Any, **named: Any,
    ) -> Any:  # fmt: skip
        if mode in ("r+", "readwrite") and layer.path(filename) is not None:
            read = layer.reading(filename)
            if layer.is_there(read) and layer.stat(read).st_size > LARGE:
                mode = "c"
        return original(kind, filename, dtype, mode, *rest, **named)

    numpy.memmap.__new__ = resemble(mapped, original)
    try:
        yield
    finally:
        numpy.memmap.__new__ = original
