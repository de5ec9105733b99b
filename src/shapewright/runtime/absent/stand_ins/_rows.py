"""Rows of a data set that is not here: columns come into being when they are named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shapewright.engine.absence import NotHere
from shapewright.runtime.absent.tables import FILES, NUMBERS, TEXTS

WORDS = (
    "some words of a text, of which a real one has its own number; the shapes that "
    "depend on it are those of this one"
)
PICTURES = ("image", "img", "pixel_values", "picture")
SIZE = (500, 375)
"""Width and height of a picture whose own nobody knows."""


class OpenRow(dict[str, Any]):
    """A row of unknown columns, which has each column that the program names."""

    def __init__(self, number: int, question: str, **columns: Any) -> None:
        super().__init__(columns)
        self.number, self.question = number, question

    def __missing__(self, name: str) -> Any:
        value = self[name] = make_value(name, self.number)
        return value

    def __contains__(self, name: object) -> bool:
        return True

    def get(self, name: str, default: Any = None) -> Any:
        return self[name]

    def __iter__(self) -> Iterator[str]:
        raise NotHere(self.question)

    def keys(self) -> Any:
        raise NotHere(self.question)

    values = items = keys

    def copy(self) -> OpenRow:
        return OpenRow(self.number, self.question, **dict(dict.items(self)))


class OpenColumns(list[str]):
    """The names of unknown columns: every name is one of them, and none is listed."""

    def __init__(self, question: str) -> None:
        super().__init__()
        self.question = question

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        raise NotHere(self.question)

    def __len__(self) -> int:
        raise NotHere(self.question)

    def __getitem__(self, index: Any) -> Any:
        raise NotHere(self.question)


def make_value(name: str, number: int) -> Any:
    """Return a value of a column, after what its name says."""
    low = name.lower()
    if low in PICTURES:
        return make_picture()
    if any(word == part for part in low.split("_") for word in NUMBERS):
        return number % 2
    if any(word in low for word in TEXTS) and not any(word in low for word in FILES):
        return WORDS
    if any(word in low for word in ("path", "file")):
        return f"{number:06}.jpg"
    return WORDS


def make_picture(size: tuple[int, int] = SIZE, mode: str = "RGB") -> Any:
    """Return a picture of PIL."""
    from PIL import Image

    return Image.new(mode, size)
