"""Know every shape of a PyTorch program before you run it.

Example::

    import shapewright as sw

    trace = sw.trace(model, "f32[B=8, 3, 224, 224]")
    print(trace)
    trace.module("layer1.0.conv1").output.shape
"""

from typing import Any

import shapewright.trace
import shapewright.views  # noqa: F401  (a trace can now show itself)
from shapewright.api import (
    Options,
    assert_shapes,
    check,
    draw,
    explain,
    explaining,
    formulas,
    options,
    recording,
    rehearse,
    solve,
    trace,
)
from shapewright.record.trace import Trace

__all__ = [
    "Options",
    "Trace",
    "assert_shapes",
    "check",
    "draw",
    "explain",
    "explaining",
    "formulas",
    "options",
    "recording",
    "rehearse",
    "solve",
    "trace",
]
__version__ = "0.1.0"


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext shapewright``: errors of cells are explained, see `explaining`."""
    from shapewright.integrations.ipython import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext shapewright``."""
    from shapewright.integrations.ipython import unload

    unload(shell)
