"""What is patched in torch and Python for the time of a run."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from shapewright.engine.private import is_stand_in, without_dynamo
from shapewright.engine.random_seeds import seeded
from shapewright.engine.replacement import resemble
from shapewright.runtime.restore.process_state import as_before


@contextmanager
def guarded() -> Iterator[dict[str, Any]]:
    """A run's surroundings: what we patch, and afterwards all of it as it was.

    Yields what `as_before` tells.
    """
    with as_before() as did, patched():
        yield did


@contextmanager
def patched() -> Iterator[None]:
    """Our own patches, none of which a program notices."""
    with ExitStack() as stack:
        stack.enter_context(_patient_collector())
        stack.enter_context(_uncompiled())
        stack.enter_context(without_dynamo())
        stack.enter_context(seeded())
        yield


@contextmanager
def _patient_collector() -> Iterator[None]:
    """Collect cycles more rarely: the record is many small tuples and no cycles.

    With Python's own thresholds a third of a run's time goes into looking for them.
    Afterwards all that is young is called old, which is two list heads moved, where
    the next collection would look at each event of the record.
    """
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], 100_000), *before[1:])
    try:
        yield
    finally:
        if before[0] and not gc.get_freeze_count():  # else the program's are frozen
            gc.freeze()
            gc.unfreeze()
        gc.set_threshold(*before)


@contextmanager
def _uncompiled() -> Iterator[None]:
    """`torch.compile` hands back what it gets; what is compiled runs uncompiled."""
    original = torch.compile

    def uncompiled(model: Any = None, **_: Any) -> Any:
        return (lambda function: function) if model is None else model

    torch.compile = resemble(uncompiled, original)
    try:
        if "torch._dynamo" in sys.modules and not is_stand_in():
            with torch.compiler.set_stance("force_eager"):
                yield
        else:
            yield
    finally:
        if torch.compile is uncompiled:
            torch.compile = original
