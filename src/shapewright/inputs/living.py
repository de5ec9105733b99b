"""Functions that are there already, changed for the time of a block.

A function's code is compiled anew from the text of its file, changed, and put in the
place of what the function had; only where the text compiles to that very code.
"""

from __future__ import annotations

import ast
import gc
import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType

from shapewright.inputs.overlay import Change

Key = tuple[str, int]
"""The name and the first line of a function."""


@contextmanager
def functions_changed(holds: Callable[[str], bool], change: Change) -> Iterator[None]:
    """The functions of a program's files are changed, where `holds` says so."""
    before: list[tuple[FunctionType, CodeType]] = []
    files: dict[str, dict[Key, tuple[CodeType, CodeType]]] = {}
    for function in functions():
        code = function.__code__
        file = code.co_filename
        if file not in files:
            files[file] = codes_of(file, change) if holds(file) else {}
        old, new = files[file].get(key_of(code), (None, None))
        if old is None or new is None or old != code:
            continue
        if new.co_freevars == code.co_freevars and new != code:
            before.append((function, code))
            function.__code__ = new
    try:
        yield
    finally:
        for function, code in before:
            function.__code__ = code


def functions() -> list[FunctionType]:
    """All functions there are."""
    return [each for each in gc.get_objects() if type(each) is FunctionType]


def codes_of(file: str, change: Change) -> dict[Key, tuple[CodeType, CodeType]]:
    """The code of each function of a file, as it is written and as it is changed."""
    text = "".join(linecache.getlines(file))
    try:
        plain = compile(text, file, "exec", dont_inherit=True)
        changed = compile(change(ast.parse(text, file), file), file, "exec")
    except (SyntaxError, ValueError, RecursionError):
        return {}
    old, new = dict(inner(plain)), dict(inner(changed))
    return {key: (code, new[key]) for key, code in old.items() if key in new}


def inner(code: CodeType) -> Iterator[tuple[Key, CodeType]]:
    """All code within some code."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield key_of(each), each
            yield from inner(each)


def key_of(code: CodeType) -> Key:
    return code.co_qualname, code.co_firstlineno
