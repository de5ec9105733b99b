"""Faults of our own: a user gets the rest of the result, our tests get the fault."""

from __future__ import annotations

RAISED = False
"""Whether faults are raised all the same, as in our own tests (`tests/conftest.py`)."""


def raise_in_tests(fault: Exception) -> None:
    """Raise a fault of our own in tests; elsewhere return, so that the rest is shown.

    Call it first in each ``except Exception`` that stands around our own code.
    """
    if RAISED:
        raise fault
