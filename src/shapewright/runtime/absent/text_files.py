"""Files that a program opens for reading and that do not exist."""

from __future__ import annotations

import builtins
import gzip
import io
import json
import os
import pickle
import string
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from shapewright.engine.replacement import replace_attribute
from shapewright.runtime.absent.known_files import BYTES, find_known
from shapewright.runtime.absent.paths import AbsentPaths
from shapewright.runtime.absent.settings import (
    PlainValue,
    TableContent,
    TextContent,
)
from shapewright.runtime.absent.tellers import AbsentFile
from shapewright.runtime.absent.vocabularies import (
    WORDS,
    find_vocabulary,
    is_word_list,
    make_stream,
    replace_json_load,
    write_words,
)

LETTERS = string.ascii_letters + "\n !$&',-.3:;?"
"""65 characters, as many as those of the text that character models begin with."""
LENGTH = 200_000
ENDINGS = (".txt", ".text", ".md")
VALUES = (".json", ".pkl", ".pickle", ".yaml", ".yml", ".toml")
"""Endings of files that hold one value."""


@contextmanager
def replace_text_files(paths: AbsentPaths) -> Iterator[None]:
    """Let absent files be what is known of them, where the program opens them."""

    def replace(original: Any) -> Any:
        def open(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            try:
                return original(file, mode, *args, **kwargs)
            except FileNotFoundError:
                if not _is_reading(file, mode):
                    raise
                if not paths.stands_in(file, sys._getframe(1)):
                    raise
            return _make_open_file(paths, file, mode)

        return open

    def replace_gzip(original: Any) -> Any:
        def open(filename: Any, mode: str = "rb", *args: Any, **kwargs: Any) -> Any:
            if not _is_reading(filename, mode) or not paths.stands_in(
                filename, sys._getframe(1)
            ):
                return original(filename, mode, *args, **kwargs)
            inner = os.fsdecode(filename).removesuffix(".gz")
            return _make_open_file(paths, inner, mode if "t" in mode else "rb")

        return open

    with ExitStack() as stack:
        stack.enter_context(replace_attribute(builtins, "open", replace))
        stack.enter_context(replace_attribute(io, "open", replace))  # of `Path` too
        stack.enter_context(replace_attribute(gzip, "open", replace_gzip))
        stack.enter_context(replace_json_load())
        yield


def _is_reading(file: Any, mode: str) -> bool:
    """Return whether a path is opened to be read."""
    return isinstance(file, str | os.PathLike) and not set(mode) - set("rbtU")


def _make_open_file(paths: AbsentPaths, file: Any, mode: str) -> Any:
    """Return a stream of what stands for a file, or raise what to give for it."""
    name = os.fspath(file)
    length = BYTES.get(os.path.splitext(os.path.basename(name))[0])
    if length is not None and "b" in mode:
        paths.tell(f"`{name}`", f"{length:,} bytes", "documented")
        return _Zeros(length)
    content = _find_content(paths, name, "b" in mode)
    if isinstance(content, bytes):
        return io.BytesIO(content)
    if content is not None:
        return io.BytesIO(content.encode()) if "b" in mode else io.StringIO(content)
    vocabulary = find_vocabulary(name)
    if vocabulary is not None:
        paths.tell(f"`{name}`", f"a vocabulary of {len(vocabulary):,}", "assumed")
        return make_stream(vocabulary, "b" in mode)
    if is_word_list(name) and "b" not in mode:
        paths.tell(f"`{name}`", f"{WORDS:,} words, one a line", "assumed")
        return io.StringIO(write_words())
    if name.endswith(ENDINGS) and "b" not in mode:
        words = f"{LENGTH:,} characters, {len(LETTERS)} of them distinct"
        paths.tell(f"`{name}`", words, "assumed")
        return io.StringIO(_make_text(LENGTH, LETTERS))
    raise AbsentFile(write_question(name))


def write_question(name: str) -> str:
    """Return the sentence that asks for a file."""
    ending = os.path.splitext(name)[1].lower()
    example = "text[1000000, 65]"
    if ending in VALUES:
        example = "{...}"
    elif ending in (".csv", ".tsv"):
        example = "table[1000](name: f32, ...)"
    elif ending in (".npy", ".npz", ".h5", ".hdf5", ".mat", ".bin", ".pt"):
        example = "f32[1000, 64]"
    return (
        f"`{name}` is not on this machine, and what follows depends on what it holds: "
        f'give `--data "{name}={example}"`'
    )


def _find_content(paths: AbsentPaths, name: str, binary: bool) -> str | bytes | None:
    """Return the text of a file that the user or the table of known files tells."""
    data = paths.find(name)
    if data is not None:
        paths.tell(f"`{name}`", f"`{data.text}`", "given")
        match data.holds:
            case TextContent(length, distinct):
                letters = [chr(33 + number) for number in range(distinct - 1)]
                return _make_text(length, "".join(letters) + "\n")
            case TableContent():
                return write_table(data.holds)
            case PlainValue(value):
                if isinstance(value, str) and not name.endswith(VALUES):
                    return value
                if binary and name.endswith((".pkl", ".pickle")):
                    return pickle.dumps(value)
                return json.dumps(value)
        return None
    known = find_known(name)
    if known is not None:
        paths.tell(known.get_name(name), known.says, "documented")
        return known.write(name)
    return None


def _make_text(length: int, letters: str) -> str:
    """Return a text of some length in which every letter occurs."""
    return (letters * (length // len(letters) + 1))[:length]


def write_table(table: TableContent) -> str:
    """Return a table as a CSV file has it."""
    head = ",".join(name for name, _ in table.columns)
    row = ",".join(_write_cell(dtype) for _, dtype in table.columns)
    return f"{head}\n" + f"{row}\n" * table.rows


def _write_cell(dtype: str) -> str:
    if not dtype or dtype == "str":
        return "text"
    return "0.0" if dtype[0] in "fb" else "0"


class _Zeros(io.RawIOBase):
    """A stream of zero bytes, as long as the file for which it stands."""

    def __init__(self, length: int) -> None:
        self.left = length

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return zeros: as many as asked for, or all that are left."""
        count = self.left if size is None or size < 0 else min(size, self.left)
        self.left -= count
        return bytes(count)

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with zeros."""
        count = min(len(buffer), self.left)
        buffer[:count] = bytes(count)
        self.left -= count
        return count
