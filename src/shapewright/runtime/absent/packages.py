"""Packages that are not installed: kernels, each with a stand-in of its signatures.

A stand-in is a file of `kernels/` that computes with torch's own operators what the
package documents, and refuses what it refuses. It is used where the program itself
imports the package and handles no `ImportError`.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any

Tell = Callable[[str], None]
KERNELS = (
    "apex", "bitsandbytes", "causal_conv1d", "flash_attn", "mamba_ssm",
    "torch_scatter", "xformers",
)  # fmt: skip
"""Packages with a stand-in, each a module of `kernels`."""
CAUGHT = frozenset({
    "ImportError", "ModuleNotFoundError", "Exception", "BaseException",
})  # fmt: skip


class _Finder:
    """An import finder that provides packages with a stand-in."""

    def __init__(self, tell: Tell, holds: Callable[[str], bool]) -> None:
        self.tell, self.holds = tell, holds
        self.made: list[str] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of a stand-in, or None for other packages."""
        root = name.partition(".")[0]
        if root not in KERNELS:
            return None
        if root not in self.made:
            frame = _find_importer(sys._getframe(1))
            if frame is None or not self.holds(frame.f_code.co_filename):
                return None
            if _is_guarded(frame):
                return None  # the program has a way of its own without it
        source = _load_stand_in(root)
        if name != root and name.partition(".")[2] not in source.MODULES:
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return an empty module with the requested name."""
        root = spec.name.partition(".")[0]
        if root not in self.made:
            source = _load_stand_in(root)
            self.tell(f"stood in for the package `{root}`: {source.SOURCE}")
        self.made.append(spec.name)
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Fill a module with the stand-ins of its names."""
        root, _, inner = module.__name__.partition(".")
        source = _load_stand_in(root)
        vars(module).update(source.MODULES[inner])
        module.__version__ = source.VERSION  # type: ignore[attr-defined]
        module.__path__ = []


def _load_stand_in(root: str) -> Any:
    """Return the stand-in of a package."""
    return importlib.import_module(f"shapewright.runtime.absent.kernels.{root}")


def _find_importer(frame: FrameType | None) -> FrameType | None:
    """Return the frame whose code imports, past the frames of the import system."""
    while frame is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame


def _is_guarded(frame: FrameType) -> bool:
    """Return whether an import stands in a `try` that catches its failure."""
    text = "".join(linecache.getlines(frame.f_code.co_filename))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    for node in ast.walk(tree):
        if not isinstance(node, ast.Try):
            continue
        last = node.body[-1].end_lineno or node.body[-1].lineno
        if node.body[0].lineno <= frame.f_lineno <= last and any(
            handler.type is None
            or CAUGHT
            & {n.id for n in ast.walk(handler.type) if isinstance(n, ast.Name)}
            for handler in node.handlers
        ):
            return True
    return False


@contextmanager
def replace_packages(tell: Tell, holds: Callable[[str], bool]) -> Iterator[None]:
    """Provide stand-ins of packages in the block, to the program's own imports."""
    finder = _Finder(tell, holds)
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        with suppress(ValueError):  # what the program did to it was undone
            sys.meta_path.remove(finder)
        for name in finder.made:
            sys.modules.pop(name, None)
