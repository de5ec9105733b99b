"""Puts `tests/` on the path, so that suites can share what stands here."""
