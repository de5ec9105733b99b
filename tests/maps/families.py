"""Every generator of random calls that the tests of index maps have, by family.

A generator is a function of a test module that takes a `random.Random` and yields
`Case`s: a new one is found by itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from maps.oracle import Case

Generator = Callable[[random.Random], Iterator[Case]]


def families() -> dict[str, Generator]:
    """`{"attention: layers": ..., "convolving: transposes": ...}`, in order."""
    found: dict[str, Generator] = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = import_module(f"maps.{path.stem}")
        for name, value in vars(module).items():
            own = getattr(value, "__module__", "") == module.__name__
            kind = getattr(value, "__annotations__", {}).get("return")
            if own and kind == "Iterator[Case]":
                found[f"{path.stem.removeprefix('test_')}: {name}"] = value
    return found
