"""Files of libraries that have a training loop, by their text."""

from __future__ import annotations

from functools import cache

from shapewright.capture.sites import SITE_PACKAGES, USER, classify
from shapewright.source.epochs import trains

INSTALLED = ("site-packages", "dist-packages")


@cache
def of_training_library(file: str) -> bool:
    """Whether a file is a library's, not torch's, and may loop over epochs."""
    installed = file.startswith(SITE_PACKAGES) or any(
        each in file for each in INSTALLED
    )
    if not installed or classify(file) != USER:
        return False
    try:
        with open(file, "rb") as stream:
            return trains(stream.read())
    except OSError:
        return False
