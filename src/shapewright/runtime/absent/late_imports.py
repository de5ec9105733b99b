"""Change a library at the moment in which a program imports it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

Change = Callable[[ModuleType, ExitStack], None]
"""Changes a module; what it enters into the stack is undone at the end."""


class _Finder:
    """An import finder that changes one module after its code has run."""

    def __init__(self, name: str, change: Callable[[ModuleType], None]) -> None:
        self.name, self.change = name, change

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> ModuleSpec | None:
        """Return the spec of the module, whose loader changes it; None for others."""
        if name != self.name:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None:
            spec = self._find_elsewhere(name, path, target)
        if spec is None or spec.loader is None:
            return None
        run, change = spec.loader.exec_module, self.change

        def exec_module(module: ModuleType) -> None:
            run(module)
            change(module)

        if isinstance(spec.loader, Loader):
            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        else:  # one finder loads all stand-ins
            spec.loader = _Loader(spec.loader, exec_module)
        return spec

    def _find_elsewhere(self, name: str, path: Any, target: Any) -> ModuleSpec | None:
        """Return what a finder of stand-ins has for a module that is not installed."""
        for finder in sys.meta_path:
            if getattr(finder, "provides_stand_ins", False):
                return finder.find_spec(name, path, target)
        return None


class _Loader:
    """A loader that runs a module in another way than the one that creates it."""

    def __init__(self, loader: Any, run: Callable[[ModuleType], None]) -> None:
        self.create_module, self.exec_module = loader.create_module, run


@contextmanager
def change_when_imported(name: str, change: Change) -> Iterator[None]:
    """Change a module now if it is imported, else when the block imports it."""
    with ExitStack() as stack:
        there = sys.modules.get(name)
        if there is not None:
            change(there, stack)
            yield
            return
        finder = _Finder(name, lambda module: change(module, stack))
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            with suppress(ValueError):  # what the program did to it was undone
                sys.meta_path.remove(finder)
