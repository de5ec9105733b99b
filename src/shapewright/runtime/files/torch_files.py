"""`torch.save` and `torch.load`, which keep saved objects: they have no data to write.

The file, in the layer where the program's files lie, holds a token instead.

torch itself runs its checks, on a file that holds everything but the tensors.
"""

from __future__ import annotations

import copy
import io
import os
import pickle
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import nn

from shapewright.engine import nests
from shapewright.engine.devices import normalize_device
from shapewright.engine.dispatch.attributes import copy_results
from shapewright.engine.identity import FROM_FILE
from shapewright.engine.private import step_aside
from shapewright.engine.replacement import replace_attribute

if TYPE_CHECKING:
    from shapewright.runtime.files.layer import Layer


TENSORS = (torch.Tensor, nn.Parameter, nn.Buffer)
"""Kinds of tensors that torch always loads."""

OURS = "shapewright"


class _WithoutTensors(pickle.Pickler):
    """A pickler that writes an empty `OrderedDict` in place of each tensor."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) in TENSORS:
            return OrderedDict, ()
        return NotImplemented


class _WithoutLocals(_WithoutTensors):
    """A pickler that refuses the functions and classes which Python refuses to pickle:
    lambdas, and what a function of the program defines.
    """

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, FunctionType | type):
            is_local = "<locals>" in obj.__qualname__ or obj.__name__ == "<lambda>"
            if is_local and not _is_of_package(obj.__module__):
                raise _NotPickled(obj)
        return super().reducer_override(obj)


class _NotPickled(Exception):
    """Carries the function or class that cannot be pickled."""


def _is_of_package(module: str) -> bool:
    """Return whether a module is torch's or our own."""
    return (module or "").partition(".")[0] in ("torch", OURS)


def _check_save(thing: Any) -> None:
    """Raise the error that Python raises for an object with a lambda in it."""
    with torch._C.DisableTorchFunction():
        try:
            _WithoutLocals(io.BytesIO()).dump(thing)
        except _NotPickled as refused:
            (obj,) = refused.args
        except Exception:  # of another kind, which our own objects may cause
            return
        else:
            return
    pickle.dumps(obj)  # in Python's words


def _check_load(
    save: Callable[..., Any],
    load: Callable[..., Any],
    thing: Any,
    *args: Any,
    **named: Any,
) -> None:
    """Raise the error that `torch.load` raises for a saved object, if it raises one."""
    file = io.BytesIO()
    module = SimpleNamespace(Pickler=_WithoutTensors, __name__=__name__)
    with torch._C.DisableTorchFunction():
        try:
            save(thing, file, pickle_module=module)
        except Exception:  # nobody knows what stands in such a file
            return
        file.seek(0)
        try:
            load(file, None, *args, **named)
        except pickle.UnpicklingError as error:
            if OURS not in str(error):
                raise
        except Exception:  # a class of the program's
            return


class _Locations:
    """The devices of loaded storages, by `map_location`; the data stay on the CPU.

    Example: for a file that was saved on a GPU, ``Locations(None)`` claims `cuda:0`, as
    torch would, or raises torch's error if no GPU is claimed.
    """

    def __init__(self, map_location: Any) -> None:
        self.map_location = map_location
        self.claims: dict[int, str] = {}

    def __call__(self, storage: Any, location: str) -> Any:
        """Note the device for a storage, which itself stays on the CPU."""
        self.claims[storage._cdata] = self.device_of(storage, location)
        return storage

    def device_of(self, storage: Any, location: str) -> str:
        """Return the device to which a storage saved on `location` is loaded."""
        asked = self.map_location
        if callable(asked):
            asked = _ask_location(asked, storage, location)
        elif isinstance(asked, dict):
            asked = asked.get(location, location)
        device = normalize_device(location if asked is None else asked)
        _check_device(device)
        return device

    def claim(self, loaded: Any) -> Any:
        """Mark loaded tensors with the devices that they claim."""
        for tensor in _iter_tensors(loaded):
            with torch._C.DisableTorchFunction():
                key = None if tensor.is_sparse else tensor.untyped_storage()._cdata
            setattr(tensor, FROM_FILE, self.claims.get(key or 0, "cpu"))
        return loaded

    def move(self, kept: Any) -> Any:
        """Return an object saved in this run, on the devices to which it is loaded."""

        def moved(tensor: torch.Tensor) -> torch.Tensor:
            location = str(tensor.device)
            device = self.device_of(torch.UntypedStorage(0), location)
            if device == normalize_device(location):
                return tensor
            if isinstance(tensor, nn.Parameter):
                tensor.data = tensor.data.to(device)
                return tensor
            out = tensor.detach().to(device)
            return out.requires_grad_() if tensor.requires_grad else out

        for module in _iter_modules(kept):
            for parameter in module.parameters(recurse=False):
                moved(parameter)
            for name, buffer in list(module.named_buffers(recurse=False)):
                module._buffers[name] = moved(buffer)
        return nests.swap_tensors(kept, moved)


def _ask_location(function: Callable[..., Any], storage: Any, location: str) -> Any:
    """Return the location that the program's `map_location` function returns."""
    try:
        answer = function(storage, location)
    except (AssertionError, RuntimeError):
        if not torch.cuda.is_available():
            raise
        return "cuda"
    return None if answer is None else answer.device


def _check_device(device: str) -> None:
    """Raise torch's error if `device` is a GPU that does not exist."""
    kind, _, number = device.partition(":")
    if kind != "cuda":
        return
    if not torch.cuda.is_available():
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but "
            "torch.cuda.is_available() is False. If you are running on a CPU-only "
            "machine, please use torch.load with map_location=torch.device('cpu') to "
            "map your storages to the CPU."
        )
    if int(number) >= torch.cuda.device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {number} but "
            f"torch.cuda.device_count() is {torch.cuda.device_count()}. Please use "
            "torch.load with map_location to map your storages to an existing device."
        )


def _iter_modules(nest: Any) -> Iterator[nn.Module]:
    """Yield each module in a nested structure, with its submodules."""
    if isinstance(nest, nn.Module):
        yield from nest.modules()
    elif isinstance(nest, dict):
        for value in nest.values():
            yield from _iter_modules(value)
    elif isinstance(nest, list | tuple):
        for value in nest:
            yield from _iter_modules(value)


def _iter_tensors(nest: Any) -> Iterator[torch.Tensor]:
    """Yield each tensor in a nested structure, and those of the modules in it."""
    yield from nests.collect_tensors(nest)
    for module in _iter_modules(nest):
        yield from module.parameters(recurse=False)
        yield from module.buffers(recurse=False)


TOKEN = b"shapewright kept what was saved here: "
"""The content of a file in place of what was saved."""


class Witness(Protocol):
    """A receiver of the names of the files that are saved and loaded.

    What is allocated while it is `copying` is the content of a file, and no memory of
    the program.
    """

    def saved(self, file: str) -> None: ...

    def loaded(self, file: str) -> None: ...

    def copying(self) -> AbstractContextManager[None]: ...


class Shelf:
    """The saved objects, each under the number that is written to its file."""

    def __init__(
        self, layer: Layer, saving: Callable[..., Any], witness: Witness | None
    ) -> None:
        self.layer = layer
        self.saving = saving  # torch's own
        self.witness = witness
        self.kept: list[Any] = []

    def save(self, thing: Any, file: Any, by_pickle: bool = True) -> None:
        """Keep a copy of an object, and write its token to the file."""
        if by_pickle:
            _check_save(thing)
        with self.witness.copying() if self.witness is not None else nullcontext():
            self.kept.append(_copy_thing(thing))
        token = TOKEN + str(len(self.kept) - 1).encode()
        if hasattr(file, "write"):
            file.write(token)
        else:
            with self.layer.open(self.layer.writing(file), "wb") as out:
                out.write(token)
        if self.witness is not None:
            self.witness.saved(_get_file_name(file))

    def find_saved(self, file: Any) -> Any:
        """Return a copy of what was saved to a file in this run, or None."""
        token = self.read_head(file)
        if not token.startswith(TOKEN):
            return None
        if self.witness is not None:
            self.witness.loaded(_get_file_name(file))
        return _copy_thing(self.kept[int(token[len(TOKEN) :])])

    def load(
        self,
        original: Callable[..., Any],
        file: Any,
        map_location: Any,
        args: Any,
        named: Any,
    ) -> Any:
        """Load what was saved in this run, or the file without reading its values."""
        token, name = self.read_head(file), _get_file_name(file)
        if self.witness is not None:
            self.witness.loaded(name)
        if token.startswith(TOKEN):
            kept = self.kept[int(token[len(TOKEN) :])]
            _check_load(self.saving, original, kept, *args, **named)
            return _Locations(map_location).move(_copy_thing(kept))
        locations = _Locations(map_location)
        named["map_location"] = locations
        with ExitStack() as stack:
            stack.enter_context(torch._C.DisableTorchFunction())
            for unpatched in step_aside:
                stack.enter_context(unpatched())
            if name:
                try:
                    loaded = original(self.layer.reading(file), mmap=True, **named)
                    return locations.claim(loaded)
                except (RuntimeError, ValueError, TypeError):
                    pass  # written in the old format
            return locations.claim(original(self.layer.reading(file), **named))

    def read_head(self, file: Any) -> bytes:
        """Return the first bytes of a file."""
        length = len(TOKEN) + 20
        if hasattr(file, "read"):
            at = file.tell()
            head: bytes = file.read(length)
            file.seek(at)
            return head
        with self.layer.open(self.layer.reading(file), "rb") as stream:
            return stream.read(length)


def _copy_thing(thing: Any) -> Any:
    """Return a deep copy of an object, or the object itself if it cannot be copied."""
    try:
        with warnings.catch_warnings(), copy_results():
            warnings.simplefilter("ignore")  # of what an exported program holds
            return copy.deepcopy(thing)
    except Exception:  # a class of the program's
        return thing


def _get_file_name(file: Any) -> str:
    """Return the name of a file, or an empty string for a file object."""
    return str(os.fspath(file)) if isinstance(file, str | os.PathLike) else ""


@contextmanager
def keep_saves(layer: Layer, witness: Witness | None = None) -> Iterator[Shelf]:
    """Keep saved objects unpickled on a shelf; notify `witness` of each file."""
    shelf = Shelf(layer, torch.save, witness)

    def save(original: Any) -> Any:
        def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
            shelf.save(obj, f, not args and "pickle_module" not in kwargs)

        return save

    def load(original: Any) -> Any:
        def load(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
            kwargs.pop("mmap", None)
            return shelf.load(original, f, map_location, args, kwargs)

        return load

    with ExitStack() as stack:
        stack.enter_context(replace_attribute(torch, "save", save))
        stack.enter_context(replace_attribute(torch, "load", load))
        export = sys.modules.get("torch.export")
        if export is not None:
            for name, make in _make_export_files(shelf).items():
                stack.enter_context(replace_attribute(export, name, make))
        yield shelf


def _make_export_files(shelf: Shelf) -> dict[str, Callable[[Any], Any]]:
    """Return functions that make `torch.export.save` and `load`, which keep exported
    programs: torch would write their sizes as those of the example.
    """

    def save(original: Any) -> Any:
        def save(ep: Any, f: Any, *, extra_files: Any = None, **kwargs: Any) -> None:
            if not isinstance(ep, torch.export.ExportedProgram):
                original(ep, f)  # which refuses it
            shelf.save((ep, dict(extra_files or {})), f, by_pickle=False)

        return save

    def load(original: Any) -> Any:
        def load(f: Any, *, extra_files: Any = None, **kwargs: Any) -> Any:
            kept = shelf.find_saved(f)
            if kept is None:
                f = shelf.layer.reading(f)
                return original(f, extra_files=extra_files, **kwargs)
            program, others = kept
            if extra_files is not None:
                extra_files.update(others)
            return program

        return load

    return {"save": save, "load": load}
