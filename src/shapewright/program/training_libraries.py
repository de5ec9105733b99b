"""The registry of libraries that own the training loop.

A library's loops are rewritten to report their turns if they may run over epochs. Most
say so: "epoch" is in the head of the loop. One that says otherwise has an entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True, slots=True)
class TrainingLibrary:
    """A library, and the word in the heads of its loops over epochs.

    `package` is the name of its folder; empty for all libraries.

    Example: ``TrainingLibrary("flwr", "server_round")``.
    """

    package: str
    word: str


TRAINING_LIBRARIES: list[TrainingLibrary] = [TrainingLibrary("", "epoch")]
"""Lightning, transformers, accelerate, ignite and the like need no entry."""


def get_words(file: str) -> tuple[str, ...]:
    """Return the words that mark loops over epochs in a library's file."""
    parts = PurePath(file).parts
    return tuple(
        library.word
        for library in TRAINING_LIBRARIES
        if not library.package or library.package in parts
    )
