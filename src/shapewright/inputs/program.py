"""The user's files as Python would see them, for the time of a load or a run."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, TracebackType

_NEVER_HIDDEN = frozenset(sys.stdlib_module_names) | {"torch", "shapewright"}
_LIBRARY_FOLDERS = {"site-packages", "dist-packages"}


@dataclass(slots=True)
class Program:
    """A folder of user code and the modules that were imported from it.

    Inside `running()` the folder is first on `sys.path`, as with ``python model.py``,
    and the program's modules are in `sys.modules`; outside, both are as before, and so
    are modules of the same names that somebody else had imported. What the program
    did to `sys.path` itself is kept for its next run. `parent` is the folder that
    holds the outermost package, where the file belongs to one.
    """

    folder: Path
    parent: Path | None = None
    modules: dict[str, ModuleType] = field(default_factory=dict)
    path: list[str] | None = None
    depth: int = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Everything as the program expects it; may be nested."""
        self.depth += 1
        if self.depth > 1:
            try:
                yield
            finally:
                self.depth -= 1
            return
        path, caches = list(sys.path), set(sys.path_importer_cache)
        hidden, before = self._enter()
        try:
            yield
        finally:
            self.depth = 0
            self._leave(hidden, before)
            self.path, sys.path[:] = list(sys.path), path
            for entry in set(sys.path_importer_cache) - caches:
                if self.holds(entry):
                    sys.path_importer_cache.pop(entry, None)

    def _enter(self) -> tuple[dict[str, ModuleType], set[str]]:
        hidden = {name: sys.modules.pop(name) for name in self._shadowing()}
        before = set(sys.modules)
        for name, module in self.modules.items():
            if name in sys.modules:
                hidden[name] = sys.modules[name]
            sys.modules[name] = module
        sys.path[:] = self._path() if self.path is None else self.path
        importlib.invalidate_caches()
        return hidden, before

    def _path(self) -> list[str]:
        first = [str(self.folder)] + ([str(self.parent)] if self.parent else [])
        rest = [entry for entry in sys.path if entry not in first]
        here = os.getcwd()
        return [*first, *rest, *([] if here in (*first, *rest) else [here])]

    def _shadowing(self) -> list[str]:
        """Imported modules whose names this program's own files have too."""
        names = set(self._provided()) - _NEVER_HIDDEN
        return [name for name in sys.modules if name.partition(".")[0] in names]

    def _provided(self) -> Iterator[str]:
        if not self.folder.is_dir():
            return
        for entry in os.scandir(self.folder):
            if entry.name.endswith(".py"):
                yield entry.name.removesuffix(".py")
            elif os.path.isfile(os.path.join(entry.path, "__init__.py")):
                yield entry.name
        if self.parent:
            yield self.folder.relative_to(self.parent).parts[0]

    def _leave(self, hidden: dict[str, ModuleType], before: set[str]) -> None:
        # A namespace package looks up its parent: name all before removing any.
        owned = {
            name: module
            for name, module in list(sys.modules.items())
            if (name not in before or name in self.modules) and self._owns(name, module)
        }
        self.modules.update(owned)
        for name in owned:
            del sys.modules[name]
        sys.modules.update(hidden)

    def _owns(self, name: str, module: ModuleType) -> bool:
        if name in self.modules:
            return True
        if name.partition(".")[0] in ("shapewright", "__main__"):
            return False
        file = getattr(module, "__file__", None)
        if file is None:
            file = next(iter(getattr(module, "__path__", None) or ()), None)
        return isinstance(file, str) and self.holds(file)

    def holds(self, file: str) -> bool:
        """Whether a file is the user's own: below the folder and no library's."""
        path = Path(os.path.abspath(file))
        root = self.parent or self.folder
        inside = path == root or root in path.parents
        return inside and not _LIBRARY_FOLDERS.intersection(
            path.relative_to(root).parts
        )

    def place(self, traceback: TracebackType | None) -> tuple[str | None, int | None]:
        """File and line of the innermost frame in the user's own files."""
        found: tuple[str | None, int | None] = (None, None)
        while traceback is not None:
            file = traceback.tb_frame.f_code.co_filename
            if self.holds(file):
                found = (shown(file), traceback.tb_lineno)
            traceback = traceback.tb_next
        return found


def shown(file: str | Path) -> str:
    """A file as the user knows it: relative to the working directory where below it."""
    path, here = Path(os.path.abspath(file)), Path(os.getcwd())
    return str(path.relative_to(here)) if here in path.parents else str(path)
