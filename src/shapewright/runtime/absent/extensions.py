"""Extensions in C++ and CUDA that a program compiles: they are not compiled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

from shapewright.engine.replacement import copy_attributes
from shapewright.runtime.absent.late_imports import change_when_imported
from shapewright.runtime.absent.tellers import Tell
from shapewright.runtime.absent.unknown_values import AbsentValue, Given

MODULE = "torch.utils.cpp_extension"
COMPILERS = ("load", "load_inline")


@contextmanager
def replace_extensions(tell: Tell, answers: Given) -> Iterator[None]:
    """Let extensions that the block compiles be names without values."""

    def change(module: ModuleType, stack: ExitStack) -> None:
        names: dict[str, Any] = vars(module)
        for name in COMPILERS:
            original = names[name]
            names[name] = copy_attributes(_make_compiler(tell, answers), original)
            stack.callback(setattr, module, name, original)

    with change_when_imported(MODULE, change):
        yield


def _make_compiler(tell: Tell, answers: Given) -> Any:
    def load(name: str, *args: Any, **kwargs: Any) -> Any:
        words = "names whose values are not known: it is not compiled"
        tell(f"the extension `{name}`", words, "assumed")
        return AbsentValue(name, 'give `--assume "NAME(...) -> SPEC"`', answers)

    return load
