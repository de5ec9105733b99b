"""Files of libraries that have a training loop, by their text."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from shapewright.capture.sites import USER, classify, is_installed
from shapewright.source.epochs import trains
from shapewright.source.periods import counts


def is_own_package(file: str) -> bool:
    """Whether a file is neither installed nor Python's: the user's, elsewhere."""
    return file.endswith(".py") and not is_installed(file) and classify(file) == USER


def of_training_library(file: str) -> bool:
    """Whether a file is a library's, not torch's, and may loop over epochs."""
    return has(file, trains)


def of_counting_library(file: str) -> bool:
    """Whether it is a library's, and may have conditions on what it counts."""
    return has(file, counts)


@cache
def has(file: str, what: Callable[[bytes], bool]) -> bool:
    """Whether a file is a library's, not torch's, with such a text."""
    if not is_installed(file) or classify(file) != USER:
        return False
    try:
        with open(file, "rb") as stream:
            return what(stream.read())
    except OSError:
        return False
