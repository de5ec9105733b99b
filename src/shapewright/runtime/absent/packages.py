"""Packages that are not installed: those with a stand-in of their signatures, and all
others, whose names are there and whose values are unknown.

A stand-in is a file of `stand_ins/` that computes with torch's own
operators what the package documents, and refuses what it refuses. It is used where the
program itself imports the package and handles no `ImportError`; what it does not cover
has no known value.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib.machinery import ModuleSpec
from pkgutil import iter_modules
from types import FrameType, ModuleType
from typing import Any

from shapewright.engine.call_sites import OURS, STAND_IN_FILES
from shapewright.runtime.absent import stand_ins
from shapewright.runtime.absent.guards import ABSENT_PACKAGES, is_guarded
from shapewright.runtime.absent.tellers import Tell
from shapewright.runtime.absent.unknown_values import AbsentValue, Given

STAND_INS: dict[str, str] = {
    name: f"{stand_ins.__name__}.{name}"
    for _, name, _ in iter_modules(stand_ins.__path__)
    if not name.startswith("_")
}
"""The module that stands for each package: it has `MODULES`, `SOURCE` and `VERSION`."""
NEAR = 0.85
"""From which likeness on (`difflib`) a name is another one, misspelt."""
OWN = frozenset({*sys.stdlib_module_names, "torch", "shapewright", "numpy"})
"""Packages for which nothing stands."""


def register_stand_in(package: str, module: str) -> None:
    """Let a module stand for a package where that is not installed.

    The module defines ``MODULES``, the names of each module of the package (``""`` is
    the package itself), ``SOURCE``, where they are documented, and ``VERSION``:

        register_stand_in("fast_norms", "my_stand_ins.fast_norms")
    """
    STAND_INS[package] = module


class _Finder:
    """An import finder that provides packages with a stand-in."""

    provides_stand_ins = True

    def __init__(
        self, tell: Tell, holds: Callable[[str], bool], answers: Given | None = None
    ) -> None:
        self.tell, self.holds, self.given = tell, holds, answers
        self.made: list[str] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of a stand-in, or None for other packages."""
        root = name.partition(".")[0]
        if root not in STAND_INS and not self._is_nowhere(root):
            return None
        if root not in self.made:
            frame = _find_importer(sys._getframe(1))
            if frame is None or not self.holds(frame.f_code.co_filename):
                return None
            if is_guarded(frame, ABSENT_PACKAGES):
                return None  # the program has a way of its own without it
        elif root in STAND_INS and _is_misspelt(name, root):
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def _is_nowhere(self, root: str) -> bool:
        """Return whether a package is none of those whose absence means something: the
        program's own, those that only report, and names like one that is here.
        """
        if root in self.made:
            return True
        if root in OWN or root in sys.modules:
            return False  # a module of it is missing
        return not get_close_matches(root, _list_near_modules(), n=1, cutoff=NEAR)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a module whose names are not known."""
        root = spec.name.partition(".")[0]
        if root not in self.made:
            what = f"the package `{root}`"
            if root in STAND_INS:
                self.tell(what, _load_stand_in(root).SOURCE, "documented")
            else:
                self.tell(what, "names whose values are not known", "assumed")
        self.made.append(spec.name)
        module = _UnknownModule(spec.name, self.given)
        vars(module)["_tell"] = self.tell  # a stand-in tells what it stands in for
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Fill a module with the names that its stand-in covers."""
        root, _, inner = module.__name__.partition(".")
        module.__path__ = []
        if root in STAND_INS:
            source = _load_stand_in(root)
            vars(module).update(source.MODULES.get(inner, {}))
            module.__version__ = source.VERSION  # type: ignore[attr-defined]


class _UnknownModule(ModuleType):
    """A module of a package that is not known: every name, and no value."""

    def __init__(self, name: str, answers: Given | None) -> None:
        super().__init__(name)
        root = name.partition(".")[0]
        advice = f'install `{root}`, or give `--assume "NAME(...) -> SPEC"`'
        self.__dict__["_unknown"] = AbsentValue(name, advice, answers)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        root, _, inner = self.__name__.partition(".")
        modules = _load_stand_in(root).MODULES if root in STAND_INS else {}
        if f"{inner}.{name}".lstrip(".") in modules:
            return importlib.import_module(f"{self.__name__}.{name}")
        known = [attribute for attribute in vars(self) if not attribute.startswith("_")]
        if get_close_matches(name, known, n=1, cutoff=NEAR):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self._unknown, name)


def _list_near_modules() -> list[str]:
    """Return the modules that a misspelt name may mean: those beside the program, and
    the packages that are installed.
    """
    names: set[str] = set()
    for folder in sys.path:
        with suppress(OSError):
            for entry in os.scandir(folder or "."):
                if entry.name.endswith(".py") or entry.is_dir():
                    names.add(entry.name.removesuffix(".py"))
    return sorted(names | {*STAND_INS})


def _is_misspelt(name: str, root: str) -> bool:
    """Return whether a module of a stand-in is none of its modules, but nearly one."""
    inner, known = name.partition(".")[2], _load_stand_in(root).MODULES
    return inner not in known and bool(
        get_close_matches(inner, [*filter(None, known)], n=1, cutoff=NEAR)
    )


def _load_stand_in(root: str) -> Any:
    """Return the stand-in of a package."""
    module = importlib.import_module(STAND_INS[root])
    STAND_IN_FILES.add(module.__file__ or "")
    return module


def _find_importer(frame: FrameType | None) -> FrameType | None:
    """Return the frame whose code imports, past the frames of the import system; None
    if it only asks whether the package is there.
    """
    while frame is not None and (
        "importlib" in frame.f_code.co_filename
        or frame.f_code.co_filename.startswith(OURS)
    ):
        if frame.f_code.co_filename == importlib.util.find_spec.__code__.co_filename:
            return None
        frame = frame.f_back
    return frame


@contextmanager
def replace_packages(
    tell: Tell, holds: Callable[[str], bool], answers: Given | None = None
) -> Iterator[None]:
    """Provide stand-ins of packages in the block, to the program's own imports.

    `answers` says what the user says of their names.
    """
    finder = _Finder(tell, holds, answers)
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        with suppress(ValueError):  # what the program did to it was undone
            sys.meta_path.remove(finder)
        for name in finder.made:
            sys.modules.pop(name, None)
