"""Tables that pandas reads from files that are not there."""

from __future__ import annotations

import ast
import io
import linecache
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

from shapewright.engine.absence import NotHere
from shapewright.engine.replacement import copy_attributes
from shapewright.runtime.absent.known_files import find_known
from shapewright.runtime.absent.late_imports import change_when_imported
from shapewright.runtime.absent.paths import AbsentPaths
from shapewright.runtime.absent.settings import TableContent
from shapewright.runtime.absent.text_files import write_question, write_table

ROWS = 1_000
READERS = ("read_csv", "read_table", "read_excel", "read_parquet", "read_feather",
           "read_pickle", "read_json", "read_hdf")  # fmt: skip
TEXTS = (
    "path", "file", "image", "img", "text", "title", "caption", "sentence", "review",
    "name", "comment", "tweet", "question", "answer", "content",
)  # fmt: skip
"""Words in the names of columns that hold text."""
FILES = ("path", "file", "image", "img")
NUMBERS = ("label", "class", "target", "id", "count", "index")
"""Words in the names of columns that hold whole numbers."""
WIDE = ("columns", "values", "iloc", "shape", "dtypes", "T", "axes", "size")
"""Attributes that say how many columns there are."""
WIDE_METHODS = ("to_numpy", "drop", "select_dtypes", "keys", "items", "iterrows",
                "itertuples", "to_dict", "info", "describe")  # fmt: skip


@contextmanager
def replace_tables(paths: AbsentPaths) -> Iterator[None]:
    """Let absent tables have the columns that the program names."""

    def change(pandas: ModuleType, stack: ExitStack) -> None:
        for name in READERS:
            original = vars(pandas).get(name)
            if original is not None:
                setattr(pandas, name, _make_reader(paths, pandas, original))
                stack.callback(setattr, pandas, name, original)

    with change_when_imported("pandas", change):
        yield


def _make_reader(paths: AbsentPaths, pandas: Any, original: Any) -> Callable[..., Any]:
    def read(file: Any, *args: Any, **kwargs: Any) -> Any:
        if not paths.is_absent(file) or not paths.stands_in(file, sys._getframe(1)):
            return original(file, *args, **kwargs)
        return _make_frame(paths, pandas, os.fspath(file), args, kwargs)

    return copy_attributes(read, original)


def _make_frame(
    paths: AbsentPaths, pandas: Any, name: str, args: Any, kwargs: Any
) -> Any:
    """Return what stands for an absent table."""
    data, known = paths.find(name), find_known(name)
    if data is not None and isinstance(data.holds, TableContent):
        paths.tell(f"`{name}`", f"`{data.text}`", "given")
        return pandas.read_csv(io.StringIO(write_table(data.holds)))
    if known is not None:
        paths.tell(known.get_name(name), known.says, "documented")
        return pandas.read_csv(io.StringIO(known.write(name)))
    names = kwargs.get("names") or kwargs.get("usecols")
    kind = _build_class(pandas)
    frame = kind(index=range(ROWS))
    frame._question = write_question(name)
    for column in names if isinstance(names, list | tuple) else ():
        frame[column] = _make_column(str(column))
    frame._known = bool(isinstance(names, list | tuple))
    columns = "the columns that the program names"
    paths.tell(f"`{name}`", f"{ROWS:,} rows with {columns}", "read")
    return frame


def _make_column(name: str) -> Any:
    """Return the values of a column, after what its name says."""
    import numpy

    low = name.lower()
    if any(word in low for word in FILES):
        return [f"{number:06}.jpg" for number in range(ROWS)]
    if any(word in low for word in ("date", "time")):
        return ["2026-01-01 00:00:00"] * ROWS
    if any(word in low for word in TEXTS):
        return ["some words of a text"] * ROWS
    if any(word == part for part in low.split("_") for word in NUMBERS):
        return numpy.arange(ROWS) % 10
    return numpy.zeros(ROWS)


_KINDS: list[type] = []


def _build_class(pandas: Any) -> Any:
    """Return the class of tables whose columns come into being when they are named."""
    if _KINDS:
        return _KINDS[0]
    plain = pandas.DataFrame

    class Stand(plain):  # type: ignore[misc, valid-type]
        _metadata = ("_question", "_known")
        _question = ""
        _known = False

        def __getitem__(self, key: Any) -> Any:
            for name in key if isinstance(key, list) else [key]:
                if isinstance(name, str) and not plain.__contains__(self, name):
                    self[name] = _make_column(name)
            return plain.__getitem__(self, key)

        def __contains__(self, key: Any) -> bool:
            return isinstance(key, str) or plain.__contains__(self, key)

        def __getattribute__(self, name: str) -> Any:
            if name in WIDE or name in WIDE_METHODS:
                own = plain.__getattribute__(self, "_known")
                if not own and _is_asked_by_program():
                    raise NotHere(plain.__getattribute__(self, "_question"))
            elif not name.startswith("_") and _is_named(self, name, plain):
                plain.__setitem__(self, name, _make_column(name))
            return plain.__getattribute__(self, name)

    Stand.__name__ = Stand.__qualname__ = "DataFrame"
    _KINDS.append(Stand)
    return Stand


def _is_asked_by_program() -> bool:
    """Return whether the program itself asks, and not pandas."""
    return "pandas" not in sys._getframe(2).f_code.co_filename


def _is_named(frame: Any, name: str, plain: Any) -> bool:
    """Return whether the program reads an attribute that must be a column."""
    if hasattr(plain, name) or plain.__contains__(frame, name):
        return False
    caller = sys._getframe(2)
    if "pandas" in caller.f_code.co_filename:
        return False
    line = linecache.getline(caller.f_code.co_filename, caller.f_lineno)
    try:
        tree = ast.parse(line.strip())
    except SyntaxError:
        return f".{name}" in line
    return any(isinstance(n, ast.Attribute) and n.attr == name for n in ast.walk(tree))
