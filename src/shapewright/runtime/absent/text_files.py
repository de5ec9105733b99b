"""Text that a program opens for reading and that does not exist."""

from __future__ import annotations

import builtins
import io
import os
import string
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from shapewright.engine.replacement import replace_attribute

Tell = Callable[[str], None]
LETTERS = string.ascii_letters + "\n !$&',-.3:;?"
"""65 characters, as many as those of the text that character models begin with."""
LENGTH = 200_000
ENDINGS = (".txt", ".text", ".md")


@contextmanager
def replace_text_files(tell: Tell, holds: Callable[[str], bool]) -> Iterator[None]:
    """Let absent text files be text of letters, where the program itself opens them."""

    def replace(original: Any) -> Any:
        def open(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            try:
                return original(file, mode, *args, **kwargs)
            except FileNotFoundError:
                if not _is_text(file, mode):
                    raise
                if not holds(sys._getframe(1).f_code.co_filename):
                    raise
            words = f"{LENGTH:,} characters, {len(LETTERS)} of them distinct"
            tell(f"stood in for `{os.fspath(file)}`: {words}, which is assumed")
            return io.StringIO(_make_text())

        return open

    with replace_attribute(builtins, "open", replace):
        yield


def _is_text(file: Any, mode: str) -> bool:
    """Return whether a file is opened to read text, and its folder may be named so."""
    if not isinstance(file, str | os.PathLike) or set(mode) - set("rtU"):
        return False
    return os.fspath(file).endswith(ENDINGS)


def _make_text() -> str:
    """Return lines of words in which every letter occurs."""
    whole = LETTERS * (LENGTH // len(LETTERS) + 1)
    return whole[:LENGTH]
