"""Puts `tests/` on the path, so that suites can share what stands here.

Properties are looked for from the same seed each time, and never fail because a
machine is slow: what counts is what they find. A fault of our own is never forgiven.
"""

import gc
import os
import signal
from collections.abc import Sequence

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # tests pass backward, and fork afterwards

import pytest
from hypothesis import HealthCheck, settings

from lengths import mark_long
from shapewright.findings import faults

settings.register_profile(
    "all",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("all"), max_examples=40)
settings.load_profile("quick")  # make test-all takes `all`
faults.RAISED = True

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell's background has it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark what is long, before it is selected by its marker."""
    mark_long(items)


def pytest_collection_finish() -> None:
    """What was imported stays: looking through it again and again takes minutes."""
    gc.set_threshold(50_000)
