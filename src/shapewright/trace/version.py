"""Which records can be read."""

VERSION = 1
"""Raised when an old reader would misread what we write, not when a field is added."""


class UnreadableTrace(ValueError):
    """The text is not a trace that this version can read; one sentence says why."""
