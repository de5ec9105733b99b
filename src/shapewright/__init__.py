"""Know every shape of a PyTorch program before you run it.

Example::

    import shapewright as sw

    trace = sw.trace(model, "f32[B=8, 3, 224, 224]")
    print(trace)
    trace.module("layer1.0.conv1").output.shape
"""

import shapewright.views  # noqa: F401  (a trace can now show itself)
from shapewright.api import Options, check, draw, explain, options, recording, trace
from shapewright.trace.record import Trace

__all__ = [
    "Options",
    "Trace",
    "check",
    "draw",
    "explain",
    "options",
    "recording",
    "trace",
]
__version__ = "0.1.0"
