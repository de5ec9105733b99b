"""Files of the safetensors library, written and read like those of `torch.save`."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine.replacement import replaced, resemble, resembling

if TYPE_CHECKING:
    from shapewright.runtime.files.torch_files import Shelf

NAMES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16",
    torch.bfloat16: "BF16", torch.int64: "I64", torch.int32: "I32",
    torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip


class Opened:
    """What `safe_open` gives, of tensors that were saved in this run."""

    def __init__(self, tensors: dict[str, Any], metadata: Any) -> None:
        self.tensors, self.told = tensors, metadata

    def __enter__(self) -> Opened:
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

    def get_slice(self, name: str) -> Slice:
        return Slice(self.tensors[name])


class Slice:
    """One tensor of a file, of which a part may be read."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def get_shape(self) -> list[int]:
        return list(self.tensor.shape)

    def get_dtype(self) -> str:
        return NAMES.get(self.tensor.dtype, "F32")

    def __getitem__(self, index: Any) -> Any:
        return self.tensor[index]


@contextmanager
def tensor_files_kept(shelf: Shelf) -> Iterator[None]:
    """`safetensors`, where it is installed, keeps what it is given on the shelf."""
    if importlib.util.find_spec("safetensors") is None:
        yield
        return
    import safetensors  # type: ignore[import-not-found]
    import safetensors.torch  # type: ignore[import-not-found]

    with ExitStack() as stack:
        for owner, name, function in replacements(shelf, safetensors):
            original = getattr(owner, name)
            stack.enter_context(everywhere(original, name, function))
        stack.enter_context(storages_have_addresses())
        yield


def replacements(shelf: Shelf, library: Any) -> list[tuple[Any, str, Any]]:
    """Owner, name and stand-in of each of its functions that touches a file."""
    inner = library.torch
    opening, check = library.safe_open, getattr(
        inner, "_evaluate_tensors_for_save", None
    )  # fmt: skip

    def refuse(tensors: Any) -> None:
        """Raise as the library does: shared memory, and tensors with gaps."""
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
        shelf.save(Opened(tensors, metadata), filename)

    def safe_open(filename: Any, *args: Any, **kwargs: Any) -> Any:
        kept = shelf.kept_in(filename)
        if isinstance(kept, Opened):
            return kept
        return opening(os.fspath(shelf.layer.reading(filename)), *args, **kwargs)

    def load_file(filename: Any, device: Any = "cpu", **kwargs: Any) -> Any:
        with safe_open(filename, framework="pt", device="cpu") as opened:
            names = opened.keys()
            found = {name: opened.get_tensor(name) for name in names}
        return {name: tensor.to(device) for name, tensor in found.items()}

    return [
        (inner, "save_file", save_file),
        (inner, "load_file", load_file),
        (library, "safe_open", safe_open),
    ]


@contextmanager
def everywhere(original: Any, name: str, function: Any) -> Iterator[None]:
    """A function, replaced in each module that has it by its name or another.

    A module that is imported in the block takes the stand-in with it, so that one
    hands on to the original afterwards.
    """
    on = [True]

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return (function if on[0] else original)(*args, **kwargs)

    resemble(stand_in, original).__name__ = name
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
def storages_have_addresses() -> Iterator[None]:
    """Tensors without data lie somewhere, too: those that share memory share that."""

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
                stack.enter_context(replaced(owner, name, make))
            else:
                setattr(owner, name, resembling(getattr(owner, name), make))
                stack.callback(delattr, owner, name)
        yield
