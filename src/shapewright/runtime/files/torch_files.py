"""`torch.save` and `torch.load`: what is saved has no data, so it is kept as it is.

A token stands in the file instead, in the layer where the program's files lie.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import torch

from shapewright.engine.private import step_aside
from shapewright.engine.replacement import replaced
from shapewright.runtime.files.load_arguments import Locations, must_be_allowed

if TYPE_CHECKING:
    from shapewright.runtime.files.layer import Layer

TOKEN = b"shapewright kept what was saved here: "
"""What stands in a file instead of what was saved."""


class Witness(Protocol):
    """Who wants to know what is saved and loaded, by the name of the file."""

    def saved(self, file: str) -> None: ...

    def loaded(self, file: str) -> None: ...


class Shelf:
    """What was saved, by a number that stands in the file."""

    def __init__(
        self, layer: Layer, saving: Callable[..., Any], witness: Witness | None
    ) -> None:
        self.layer = layer
        self.saving = saving  # torch's own
        self.witness = witness
        self.kept: list[Any] = []

    def save(self, thing: Any, file: Any) -> None:
        """Keep a copy, and write the token."""
        self.kept.append(copied(thing))
        token = TOKEN + str(len(self.kept) - 1).encode()
        if hasattr(file, "write"):
            file.write(token)
        else:
            with self.layer.open(self.layer.writing(file), "wb") as out:
                out.write(token)
        if self.witness is not None:
            self.witness.saved(name_of(file))

    def kept_in(self, file: Any) -> Any:
        """What was saved in this run in a file, None where it was not."""
        token = self.head_of(file)
        if not token.startswith(TOKEN):
            return None
        if self.witness is not None:
            self.witness.loaded(name_of(file))
        return copied(self.kept[int(token[len(TOKEN) :])])

    def load(
        self,
        original: Callable[..., Any],
        file: Any,
        map_location: Any,
        args: Any,
        named: Any,
    ) -> Any:
        """What was saved in this run; else the file, its numbers left on the disk."""
        token, name = self.head_of(file), name_of(file)
        if self.witness is not None:
            self.witness.loaded(name)
        if token.startswith(TOKEN):
            kept = self.kept[int(token[len(TOKEN) :])]
            must_be_allowed(self.saving, original, kept, *args, **named)
            return Locations(map_location).move(copied(kept))
        locations = Locations(map_location)
        named["map_location"] = locations
        with ExitStack() as stack:
            stack.enter_context(torch._C.DisableTorchFunction())
            for unpatched in step_aside:
                stack.enter_context(unpatched())
            if name:
                try:
                    made = original(self.layer.reading(file), mmap=True, **named)
                    return locations.claim(made)
                except (RuntimeError, ValueError, TypeError):
                    pass  # written in the old format
            return locations.claim(original(self.layer.reading(file), **named))

    def head_of(self, file: Any) -> bytes:
        """The first bytes of a file."""
        length = len(TOKEN) + 20
        if hasattr(file, "read"):
            at = file.tell()
            found: bytes = file.read(length)
            file.seek(at)
            return found
        with self.layer.open(self.layer.reading(file), "rb") as stream:
            return stream.read(length)


def copied(thing: Any) -> Any:
    """A copy that later training does not change; of what cannot be copied, itself."""
    try:
        return copy.deepcopy(thing)
    except Exception:
        return thing


def name_of(file: Any) -> str:
    """The name of a file, or nothing where it is one that is open."""
    return str(os.fspath(file)) if isinstance(file, str | os.PathLike) else ""


@contextmanager
def saves_kept(layer: Layer, witness: Witness | None = None) -> Iterator[Shelf]:
    """Nothing is pickled, but kept on the shelf; a `witness` is told of each file."""
    shelf = Shelf(layer, torch.save, witness)

    def save(original: Any) -> Any:
        def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
            shelf.save(obj, f)

        return save

    def load(original: Any) -> Any:
        def load(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
            kwargs.pop("mmap", None)
            return shelf.load(original, f, map_location, args, kwargs)

        return load

    with ExitStack() as stack:
        stack.enter_context(replaced(torch, "save", save))
        stack.enter_context(replaced(torch, "load", load))
        yield shelf
