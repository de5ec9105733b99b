"""`torch.save` and `torch.load`: what is saved has no data, so it is kept as it is."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch

from shapewright.capture import nests
from shapewright.capture.private import step_aside
from shapewright.capture.rehearsal.steps import replaced
from shapewright.capture.rehearsal.tensor_files import tensor_files_kept
from shapewright.capture.rehearsal.unpickling import must_be_allowed

if TYPE_CHECKING:
    from shapewright.capture.rehearsal.files import Shadow
    from shapewright.capture.rehearsal.turns import Stage

TOKEN = b"shapewright kept what was saved here: "
"""What stands in a file instead of what was saved."""


class Shelf:
    """What was saved, by a number that stands in the file."""

    def __init__(
        self, stage: Stage, shadow: Shadow, saving: Callable[..., Any]
    ) -> None:
        self.stage = stage
        self.saving = saving  # torch's own
        self.shadow = shadow
        self.kept: list[Any] = []

    def save(self, thing: Any, file: Any) -> None:
        """Keep a copy, and write the token."""
        self.kept.append(copied(thing))
        token = TOKEN + str(len(self.kept) - 1).encode()
        if hasattr(file, "write"):
            file.write(token)
        else:
            with open(file, "wb") as out:
                out.write(token)
        name = os.fspath(file) if isinstance(file, str | os.PathLike) else ""
        self.stage.story.happened(self.stage.engine, "save", str(name))

    def kept_in(self, file: Any) -> Any:
        """What was saved in this run in a file, None where it was not."""
        token = head_of(file)
        if not token.startswith(TOKEN):
            return None
        self.stage.facts.weights.reading()
        self.stage.story.happened(self.stage.engine, "load", os.fspath(file))
        return copied(self.kept[int(token[len(TOKEN) :])])

    def load(
        self, original: Callable[..., Any], file: Any, args: Any, named: Any
    ) -> Any:
        """What was saved in this run; else the file, its numbers left on the disk."""
        token = head_of(file)
        self.stage.facts.weights.reading()
        name = os.fspath(file) if isinstance(file, str | os.PathLike) else ""
        self.stage.story.happened(self.stage.engine, "load", str(name))
        if token.startswith(TOKEN):
            kept = self.kept[int(token[len(TOKEN) :])]
            must_be_allowed(self.saving, original, kept, *args, **named)
            return copied(kept)
        named["map_location"] = "cpu"
        with ExitStack() as stack:
            stack.enter_context(torch._C.DisableTorchFunction())
            for unpatched in step_aside:
                stack.enter_context(unpatched())
            if name:
                try:
                    made = original(self.shadow.reading(file), mmap=True, **named)
                    return self.marked(made)
                except (RuntimeError, ValueError, TypeError):
                    pass  # written in the old format
            return self.marked(original(self.shadow.reading(file), **named))

    def marked(self, made: Any) -> Any:
        """What a file held: its whole numbers are kept, as labels are."""
        for tensor in nests.tensors(made):
            self.stage.engine.loaded[id(tensor)] = tensor
        return made


def copied(thing: Any) -> Any:
    """A copy that later training does not change; of what cannot be copied, itself."""
    try:
        return copy.deepcopy(thing)
    except Exception:
        return thing


def head_of(file: Any) -> bytes:
    """The first bytes of a file."""
    length = len(TOKEN) + 20
    if hasattr(file, "read"):
        at = file.tell()
        found: bytes = file.read(length)
        file.seek(at)
        return found
    with open(file, "rb") as stream:
        return stream.read(length)


@contextmanager
def saves_kept(stage: Stage, shadow: Shadow) -> Iterator[None]:
    """Nothing is pickled."""
    shelf = Shelf(stage, shadow, torch.save)

    def save(original: Any) -> Any:
        def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
            shelf.save(obj, f)

        return save

    def load(original: Any) -> Any:
        def load(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
            kwargs.pop("mmap", None)
            return shelf.load(original, f, args, kwargs)

        return load

    with ExitStack() as stack:
        stack.enter_context(replaced(torch, "save", save))
        stack.enter_context(replaced(torch, "load", load))
        stack.enter_context(tensor_files_kept(shelf))
        yield
