"""What becomes of the files that a program under study writes, removes and renames."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shapewright.capture.files.confinement import confine
from shapewright.capture.files.layer import Layer, temporary_folder
from shapewright.capture.files.patches import files_kept
from shapewright.capture.files.torch_files import saves_kept
from shapewright.trace.record import Assumption

if TYPE_CHECKING:
    from shapewright.capture.files.torch_files import Witness
    from shapewright.trace.record import Trace


@dataclass(frozen=True, slots=True)
class ProgramFiles:
    """How a program's files are kept from harm, as in ``with ProgramFiles().kept():``.

    What it writes lies in a layer over the file system, and is gone after the block.
    With `confined_to`, the folder of a process that ends, the kernel refuses all
    writes outside of it where it can. With `allow_writes` the program writes as in a
    real run, but for what `torch.save` and its like get, which has no data to write.
    """

    allow_writes: bool = False
    confined_to: str | None = None

    @contextmanager
    def kept(self, witness: Witness | None = None) -> Iterator[Layer]:
        """The program runs in the block; a `witness` is told of what torch saves."""
        with ExitStack() as stack:
            if self.allow_writes:
                layer = Layer(stack.enter_context(temporary_folder()))
            else:
                if self.confined_to is not None:
                    confine(self.confined_to)
                layer = stack.enter_context(files_kept())
            stack.enter_context(saves_kept(layer, witness))
            yield layer


def noted(made: Trace, layer: Layer) -> Trace:
    """The trace, which says what processes the program started."""
    told = tuple(Assumption(text) for text in processes_told(layer))
    return replace(made, assumptions=(*made.assumptions, *told)) if told else made


def processes_told(layer: Layer) -> list[str]:
    """A sentence on each process that the program started, which saw the real files."""
    return [
        f"`{command}` ran as a process of its own, which can write no files "
        "(--allow-writes lets it)"
        for command in layer.started
    ]
