"""What the loaders of transformers, timm and torchvision share."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from shapewright.inputs import target as expression
from shapewright.inputs.errors import InputError, ProgramError
from shapewright.inputs.python_files import Program
from shapewright.inputs.target import Call, Target
from shapewright.inputs.target_names import Lookup


def library(name: str, target: Target) -> ModuleType:
    """Import a library that a target names; one sentence where it cannot be."""
    if importlib.util.find_spec(name) is None:
        raise InputError(
            f"`{target}` needs the package {name}, which is not installed here;"
            f" `pip install {name}`"
        )
    with importable(name, target, Exception):
        module = importlib.import_module(name)
    return module


@contextmanager
def importable(
    name: str, target: Target, kind: type[Exception] = ImportError
) -> Iterator[None]:
    """One sentence where a library, or a part that it imports late, does not import."""
    try:
        yield
    except kind as error:
        cause: BaseException = error
        while cause.__cause__ is not None:  # transformers wraps what a part of it says
            cause = cause.__cause__
        said = str(cause).strip().split("\n")[0]
        raise InputError(
            f"`{target}` needs the package {name}, which does not import here:"
            f" {type(cause).__name__}: {said}"
        ) from error


def nobody() -> Program:
    """The program of a library's model: no files of the user's own."""
    return Program(Path(os.getcwd()))


def arguments(target: Target) -> tuple[list[Any], dict[str, Any]]:
    """The arguments that a library target carries: ``(num_classes=10)``.

    Values are literals; `torch` is the one name known.
    """
    call = target.expression
    if not isinstance(call, Call):
        return [], {}
    lookup = Lookup(ModuleType(target.kind), target.kind, target.text, nobody())
    return (
        [lookup.value(arg) for arg in call.args],
        {name: lookup.value(value) for name, value in call.kwargs},
    )


def keywords(target: Target) -> dict[str, Any]:
    """The arguments of a library target, all of them by name."""
    args, kwargs = arguments(target)
    if args:
        assert isinstance(target.expression, Call)
        raise InputError(
            "arguments are given by name here, as in `(num_classes=10)`",
            target.text,
            target.expression.position,
        )
    return kwargs


@contextmanager
def constructing(name: str) -> Iterator[None]:
    """What a library's constructor raises, with what was being built."""
    try:
        yield
    except (InputError, ProgramError):
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {str(error).strip()}".removesuffix(": ")
        raise ProgramError(error, None, None, said, f"building `{name}`") from error


def display(target: Target, name: str) -> str:
    """The model's name with its arguments, `resnet50(num_classes=10)`."""
    if not isinstance(target.expression, Call):
        return name
    return name + expression.text(target.expression).removeprefix("_")


def fits(called: Callable[..., Any], target: Target, kwargs: dict[str, Any]) -> None:
    """Say so where a builder does not take one of the arguments."""
    from shapewright.inputs.target_names import described, signature_of

    signature = signature_of(called)
    if signature is None:
        return
    try:
        signature.bind_partial(**kwargs)
    except TypeError as error:
        assert isinstance(target.expression, Call)
        accepts = described(called.__name__, called)
        raise InputError(
            f"{accepts}: {error}", target.text, target.expression.position
        ) from None
