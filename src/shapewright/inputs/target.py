"""What to run, as data: `model.py:Net(10).encode`, `pkg.mod:net`, `timm:resnet50`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from shapewright.inputs import expression
from shapewright.inputs.errors import InputError, did_you_mean
from shapewright.inputs.expression import Expression

Kind = Literal["file", "script", "module", "hf", "timm", "torchvision"]

LIBRARIES: tuple[Kind, ...] = ("hf", "timm", "torchvision")
"""Prefixes of targets that a library builds."""

_FILE = re.compile(r"(?P<file>.*?\.py)(?::(?P<rest>.*))?\Z", re.DOTALL)
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True, slots=True)
class Target:
    """A target, read but not touched.

    Example: ``parse_target("model.py:Net(10)")`` is
    ``Target("model.py:Net(10)", "file", "model.py", Call(Name("Net"), ...))``.

    `place` is the file, the dotted module, or for a library the name of the model or
    the path of its config. `expression` is what follows, None for a script and for a
    library's model without arguments. `arguments` are what the file finds in
    `sys.argv`, behind its own name.
    """

    text: str
    kind: Kind
    place: str
    expression: Expression | None = None
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


def parse_target(text: str, arguments: Sequence[str] = ()) -> Target:
    """Read a target, and the arguments of its script.

    Raises `InputError` for anything that cannot be a target, and for arguments to a
    library's model.
    """
    target = _read(text)
    if arguments and target.kind in LIBRARIES:
        raise InputError(
            f"`{arguments[0]}` is for a script, and `{text}` is a model of a library"
        )
    return replace(target, arguments=tuple(arguments)) if arguments else target


def _read(text: str) -> Target:
    if not text.strip():
        raise InputError("the target is empty; write FILE.py:NAME")
    prefix, colon, rest = text.partition(":")
    if colon and prefix in LIBRARIES:
        return _library(text, prefix, rest)
    if (match := _FILE.match(text)) is not None:
        return _file(text, match)
    if colon:
        return _module(text, prefix)
    raise InputError(_unreadable(text), text, 0)


def _file(text: str, match: re.Match[str]) -> Target:
    if match["rest"] is None:
        return Target(text, "script", match["file"])
    found = _after_colon(text, match.start("rest"))
    return Target(text, "file", match["file"], found)


def _module(text: str, place: str) -> Target:
    if not _MODULE.fullmatch(place):
        hint = did_you_mean(place, LIBRARIES)
        raise InputError(f"`{place}` is neither a file nor a module{hint}", text, 0)
    return Target(text, "module", place, _after_colon(text, len(place) + 1))


def _after_colon(text: str, start: int) -> Expression:
    if not text[start:].strip():
        raise InputError("a name is missing after the colon", text, len(text))
    found = expression.read(text, start)
    inside = found
    while isinstance(inside, expression.Attribute | expression.Call):
        inside = inside.of
    if not isinstance(inside, expression.Name):
        raise InputError("a target begins with a name", text, start)
    return found


def _library(text: str, prefix: Kind | str, rest: str) -> Target:
    """`PREFIX:NAME`, `PREFIX:NAME(arguments)`; for hf also a path, and `:CLASS`."""
    kind = next(kind for kind in LIBRARIES if kind == prefix)
    bracket = rest.find("(")
    place = rest if bracket < 0 else rest[:bracket]
    if not place.strip():
        raise InputError(f"a name is missing after `{prefix}:`", text, len(prefix) + 1)
    if bracket < 0:
        return Target(text, kind, place)
    # The name itself may be no Python name (`hf:./config.json(n_layer=2)`).
    start = len(prefix) + 1 + bracket
    call = expression.read(text[: start - 1] + "_" + text[start:], start - 1)
    if not isinstance(call, expression.Call) or not isinstance(
        call.of, expression.Name
    ):
        raise InputError("only arguments may follow the model's name", text, start)
    if kind == "hf" and call.args:
        raise InputError(
            "settings of a config are given by name, as in `(n_layer=2)`", text, start
        )
    return Target(text, kind, place, call)


def _unreadable(text: str) -> str:
    path = Path(text)
    if path.name and path.with_suffix(".py").is_file():  # `.` and `/` have no name
        return (
            f"`{text}` names no object; did you mean `{path.with_suffix('.py')}:NAME`?"
        )
    if path.is_dir():
        return f"`{text}` is a folder; write FILE.py:NAME"
    if path.suffix == ".json":
        return f"`{text}` is no Python file; did you mean `hf:{text}`?"
    if path.is_file():
        return f"`{text}` is no Python file; write FILE.py:NAME"
    return f"`{text}` is no target; write FILE.py:NAME, PACKAGE.MODULE:NAME or hf:NAME"
