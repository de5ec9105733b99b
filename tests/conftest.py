"""Puts `tests/` on the path, so that suites can share what stands here.

Properties are looked for from the same seed each time, and never fail because a
machine is slow: what counts is what they find. A fault of our own is never forgiven.
"""

import signal

from hypothesis import HealthCheck, settings

from shapewright.reasoning import faults

settings.register_profile(
    "suite",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")
faults.RAISED = True

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell's background has it
    signal.signal(signal.SIGINT, signal.default_int_handler)
