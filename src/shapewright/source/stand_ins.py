"""Texts that stand for the program's files, while an edit is tried."""

STAND_INS: dict[str, str] = {}
"""Text by absolute path. Only a child process that tries an edit fills it."""
