"""Know every shape of a PyTorch program before you run it.

Example::

    import shapewright as sw

    trace = sw.trace(model, "f32[B=8, 3, 224, 224]")
    print(trace)
    trace.module("layer1.0.conv1").output.shape

trace           the shape of every tensor of a model or function
check           its shape errors, and what is likely wrong
solve           which sizes it accepts
rehearse        a training function, run without data
memory          what a step takes, and whether it fits
largest_batch   the largest batch of which a step fits on a GPU
explain, draw   an operator or a tensor, drawn
explaining      explanations of errors in a real run
assert_shapes   a model's inputs and outputs, in a test
formulas        every size as a formula in letters
recording       real values of chosen modules
options         time limits and views

The same from a shell: `shapewright --help`.
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
    largest_batch,
    memory,
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
    "largest_batch",
    "memory",
    "options",
    "recording",
    "rehearse",
    "solve",
    "trace",
]
__version__ = "0.1.0"


_TRACED = 'sw.trace(model, "f32[1, 1, 28, 28]")'
_HABITS = {
    "summary": _TRACED,
    "summarize": _TRACED,
    "info": _TRACED,
    "profile": _TRACED,
    "draw_graph": _TRACED,
    "lint": "sw.check(model, ...)",
    "verify": "sw.check(model, ...)",
}
"""What to write instead of a name that other tools have."""


def __getattr__(name: str) -> Any:
    from difflib import get_close_matches

    hint = _HABITS.get(name)
    close = get_close_matches(name, __all__, n=1)
    if hint is None and close:
        hint = f"sw.{close[0]}"
    raise AttributeError(
        f"module 'shapewright' has no attribute '{name}'"
        + (f"; write `{hint}`" if hint else "")
    )


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext shapewright``: errors of cells are explained, see `explaining`."""
    from shapewright.integrations.ipython import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext shapewright``."""
    from shapewright.integrations.ipython import unload

    unload(shell)
