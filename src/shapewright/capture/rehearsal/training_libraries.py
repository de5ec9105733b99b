"""Files of libraries that have a training loop, by their text."""

from __future__ import annotations

from functools import cache

from shapewright.capture.sites import USER, classify, is_installed
from shapewright.source.epochs import trains


@cache
def of_training_library(file: str) -> bool:
    """Whether a file is a library's, not torch's, and may loop over epochs."""
    if not is_installed(file) or classify(file) != USER:
        return False
    try:
        with open(file, "rb") as stream:
            return trains(stream.read())
    except OSError:
        return False
