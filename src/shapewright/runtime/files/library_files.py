"""Redirect to a layer the files that libraries open by themselves, in C.

The kernel holds what is not listed here, where it can (`confinement.py`): it refuses
the write, and the program gets the error. What the safetensors library writes is kept
like the arguments of `torch.save`.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine.replacement import (
    copy_attributes,
    make_resembling,
    replace_attribute,
)

if TYPE_CHECKING:
    from shapewright.runtime.files.layer import Layer
    from shapewright.runtime.files.torch_files import Shelf


LARGE = 1 << 26
"""Bytes of a file from which `numpy.memmap` changes it in memory, not in a copy."""


@dataclass(frozen=True, slots=True)
class _Opener:
    """A function or a class that opens a file; `file` names the argument with its name.

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
        """Return whether the call writes the file and whether it keeps its content."""
        if not self.mode:
            return not self.reads, self.changes
        mode = str(arguments.get(self.mode) or self.default)
        return bool(set(mode) & set("wax+cn-")), "w" not in mode and mode != "n"


OPENERS = (
    _Opener("sqlite3", "connect", "database", changes=True),
    _Opener("h5py", "File", "name", "mode"),
    _Opener("lmdb", "open", "path", changes=True),
    _Opener("lmdb", "Environment", "path", changes=True),
    _Opener("dbm.gnu", "open", "filename", "flags"),
    _Opener("dbm.ndbm", "open", "filename", "flags"),
    _Opener("cv2", "imwrite", "filename"),
    _Opener("cv2", "VideoWriter", "filename"),
    _Opener("cv2", "imread", "filename", reads=True),
    _Opener("cv2", "VideoCapture", "filename", reads=True),
    _Opener("soundfile", "SoundFile", "file", "mode"),
    _Opener("pyarrow", "OSFile", "path", "mode"),
    _Opener("pyarrow", "memory_map", "path", "mode"),
    _Opener("pyarrow.parquet", "ParquetWriter", "where"),
    _Opener("pyarrow.parquet", "read_table", "source", reads=True),
    _Opener("pyarrow.feather", "write_feather", "dest", at=1),
    _Opener("pyarrow.feather", "read_table", "source", reads=True),
    _Opener("netCDF4", "Dataset", "filename", "mode"),
    _Opener("faiss", "write_index", "fname", at=1),
    _Opener("faiss", "read_index", "fname", reads=True),
    _Opener("xgboost", "Booster.save_model", "fname"),
    _Opener("tokenizers", "Tokenizer.save", "path", at=1),
    _Opener("torch._C", "PyTorchFileWriter", "name"),
    _Opener("torch._C", "PyTorchFileReader", "name", reads=True),
    _Opener("torch.jit", "save", "f", at=1),
    _Opener("torch.jit", "load", "f", reads=True),
    _Opener("torch.jit", "ScriptModule.save", "f", at=1),
    _Opener("torch", "from_file", "filename", changes=True),
    _Opener("safetensors.numpy", "save_file", "filename", at=1),
)
"""Functions that open files without Python's `open`, by their documentation."""


@contextmanager
def redirect_library_files(layer: Layer) -> Iterator[None]:
    """Redirect the files of libraries, also of those imported later, to the layer."""
    with ExitStack() as stack:
        by_module: dict[str, list[_Opener]] = {}
        for opener in OPENERS:
            by_module.setdefault(opener.module, []).append(opener)

        def lead(module: ModuleType) -> None:
            for opener in by_module[module.__name__]:
                undo = _redirect_opener(module, opener, layer)
                if undo is not None:
                    stack.callback(undo)

        later = set()
        for name in by_module:
            module = sys.modules.get(name)
            if module is not None:
                lead(module)
            else:
                later.add(name)
        finder = _AfterImport(later, lead)
        sys.meta_path.insert(0, finder)
        stack.callback(_remove_item, sys.meta_path, finder)
        stack.enter_context(_keep_memory_maps(layer))
        yield


def _remove_item(items: list[Any], item: Any) -> None:
    if item in items:
        items.remove(item)


def _redirect_opener(
    module: ModuleType, opener: _Opener, layer: Layer
) -> Callable[[], object] | None:
    """Replace a function or a class's constructor; return a function to undo it."""
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
        led = _make_redirecting(original, opener, layer, 1)
    else:
        led = _make_redirecting(original, opener, layer, 0)
    try:
        setattr(owner, name, led)
    except TypeError:  # of a type that is written in C
        return None
    return lambda: setattr(owner, name, original)


def _make_redirecting(original: Any, opener: _Opener, layer: Layer, own: int) -> Any:
    """Return the function with its file argument redirected to the layer."""
    try:
        names = list(inspect.signature(original).parameters)
    except (TypeError, ValueError):
        names = []
    if opener.file not in names:  # written in C: the file is first, then the mode
        names = [*[""] * (opener.at + own), opener.file, opener.mode]
    at = names.index(opener.file)

    def opened(*args: Any, **kwargs: Any) -> Any:
        arguments = {**dict(zip(names, args, strict=False)), **kwargs}
        writes, keeps = opener.writes(arguments)

        def led(file: Any) -> Any:
            if isinstance(file, str) and file.startswith((":", "file:")):
                return file  # sqlite's ":memory:"
            return layer.writing(file, keeps) if writes else layer.reading(file)

        if opener.file in kwargs:
            kwargs[opener.file] = led(kwargs[opener.file])
        elif len(args) > at:
            args = (*args[:at], led(args[at]), *args[at + 1 :])
        return original(*args, **kwargs)

    return copy_attributes(opened, original)


class _AfterImport(importlib.abc.MetaPathFinder):
    """An import finder that calls a function with some modules after their import."""

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
    """A module loader that calls a function with each module that it has loaded."""

    def __init__(self, loader: Any, then: Callable[[ModuleType], None]) -> None:
        self.loader = loader
        self.then = then

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.then(module)


@contextmanager
def _keep_memory_maps(layer: Layer) -> Iterator[None]:
    """Make `numpy.memmap` change large files in memory only."""
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

    numpy.memmap.__new__ = copy_attributes(mapped, original)
    try:
        yield
    finally:
        numpy.memmap.__new__ = original


NAMES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16",
    torch.bfloat16: "BF16", torch.int64: "I64", torch.int32: "I32",
    torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip


class _Opened:
    """The result of `safe_open` for tensors that were saved in this run."""

    def __init__(self, tensors: dict[str, Any], metadata: Any) -> None:
        self.tensors, self.told = tensors, metadata

    def __enter__(self) -> _Opened:
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def keys(self) -> list[str]:
        return list(self.tensors)

    offset_keys = keys

    def metadata(self) -> Any:
        return self.told

    def get_tensor(self, name: str) -> Any:
        return self.tensors[name]

    def get_tensors(self) -> dict[str, Any]:
        return dict(self.tensors)

    def get_slice(self, name: str) -> _Slice:
        return _Slice(self.tensors[name])


class _Slice:
    """A tensor of a file, of which a part may be read."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def get_shape(self) -> list[int]:
        return list(self.tensor.shape)

    def get_dtype(self) -> str:
        return NAMES.get(self.tensor.dtype, "F32")

    def __getitem__(self, index: Any) -> Any:
        return self.tensor[index]


@contextmanager
def keep_tensor_files(shelf: Shelf) -> Iterator[None]:
    """Keep on the shelf the tensors that the program saves with `safetensors`."""
    if importlib.util.find_spec("safetensors") is None:
        yield
        return
    import safetensors  # type: ignore[import-not-found]
    import safetensors.torch  # type: ignore[import-not-found]

    with ExitStack() as stack:
        for owner, name, function in _make_replacements(shelf, safetensors):
            original = getattr(owner, name)
            stack.enter_context(_replace_everywhere(original, name, function))
        stack.enter_context(_give_storages_addresses())
        yield


def _make_replacements(shelf: Shelf, library: Any) -> list[tuple[Any, str, Any]]:
    """Return the owner, name and stand-in of each safetensors function on files."""
    inner = library.torch
    opening, check = library.safe_open, getattr(
        inner, "_evaluate_tensors_for_save", None
    )  # fmt: skip

    def refuse(tensors: Any) -> None:
        """Raise the library's errors for shared memory and non-contiguous tensors."""
        if check is not None:
            check(tensors)
        for name, tensor in tensors.items():
            if not tensor.is_contiguous():
                raise ValueError(
                    f"You are trying to save a non contiguous tensor: `{name}` which "
                    "is not allowed."
                )

    def save_file(tensors: Any, filename: Any, metadata: Any = None) -> None:
        refuse(tensors)
        shelf.save(_Opened(tensors, metadata), filename)

    def safe_open(filename: Any, *args: Any, **kwargs: Any) -> Any:
        kept = shelf.find_saved(filename)
        if isinstance(kept, _Opened):
            return kept
        return opening(os.fspath(shelf.layer.reading(filename)), *args, **kwargs)

    def load_file(filename: Any, device: Any = "cpu", **kwargs: Any) -> Any:
        with safe_open(filename, framework="pt", device="cpu") as opened:
            names = opened.keys()
            tensors = {name: opened.get_tensor(name) for name in names}
        return {name: tensor.to(device) for name, tensor in tensors.items()}

    return [
        (inner, "save_file", save_file),
        (inner, "load_file", load_file),
        (library, "safe_open", safe_open),
    ]


@contextmanager
def _replace_everywhere(original: Any, name: str, function: Any) -> Iterator[None]:
    """Replace a function in each module that refers to it, under whatever name.

    A module that is imported in the block keeps the stand-in, which therefore calls the
    original afterwards.
    """
    on = [True]

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return (function if on[0] else original)(*args, **kwargs)

    copy_attributes(stand_in, original).__name__ = name
    places = []
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if isinstance(names, dict):
            places += [(names, key) for key, it in names.items() if it is original]
    for names, key in places:
        names[key] = stand_in
    try:
        yield
    finally:
        on[0] = False
        for names, key in places:
            names[key] = original


@contextmanager
def _give_storages_addresses() -> Iterator[None]:
    """Give each tensor without data an address, equal if they share a storage."""

    def of_storage(original: Callable[[Any], int]) -> Any:
        def data_ptr(self: Any) -> int:
            with torch._C.DisableTorchFunction():
                return original(self) or (self._cdata if self.nbytes() else 0)

        return data_ptr

    def of_tensor(original: Callable[[Any], int]) -> Any:
        def data_ptr(self: Any) -> int:
            with torch._C.DisableTorchFunction():
                if not self.is_meta:
                    return original(self)
                start = self.untyped_storage().data_ptr()
                return int(start + self.storage_offset() * self.element_size())

        return data_ptr

    with ExitStack() as stack:
        for owner, make in (
            (torch.UntypedStorage, of_storage),
            (torch.Tensor, of_tensor),
        ):
            name = "data_ptr"
            if name in vars(owner):
                stack.enter_context(replace_attribute(owner, name, make))
            else:
                setattr(owner, name, make_resembling(getattr(owner, name), make))
                stack.callback(delattr, owner, name)
        yield
