"""What to run, as data: `model.py:Net(10).encode`, `pkg.mod:net`, `timm:resnet50`.

The part after the colon looks like Python and is read by Python's own parser, but it is
not evaluated: only names that the file defines are looked up, and only what is written
as a call is called.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from shapewright.inputs.errors import InputError, suggest_name
from shapewright.program.syntax_nodes import parse_expression


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, string, bytes, bool or None."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    """A name to look up in the file; `position` is an index into the target's text."""

    name: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the expression before the dot; `position` is that of its name."""

    of: Expression
    name: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A call; `position` is that of the opening bracket."""

    of: Expression
    args: tuple[Expression, ...]
    kwargs: tuple[tuple[str, Expression], ...]
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class _Nest:
    """A list, tuple, set or dict; only a dict has `keys`."""

    kind: str
    items: tuple[Expression, ...]
    keys: tuple[Expression, ...] = ()


Expression = Constant | Name | Attribute | Call | _Nest

_NESTS = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}


@dataclass(frozen=True, slots=True)
class _Reading:
    """The text of a target, and the index at which its expression begins."""

    target: str
    start: int

    def position(self, node: ast.expr, end: bool = False) -> int:
        """Return the index at which a node begins or, with `end`, ends.

        `ast` counts UTF-8 bytes.
        """
        column = (node.end_col_offset or 0) if end else node.col_offset
        written = self.target[self.start :].encode()
        return self.start + len(written[:column].decode())

    def fail(self, message: str, position: int) -> NoReturn:
        raise InputError(message, self.target, position)


def _read_expression(target: str, start: int) -> Expression:
    """Parse `target[start:]` as an expression.

    Example: ``_read_expression("model.py:Net(10)", 9)`` is
    ``Call(Name("Net"), (Constant(10),), ())``.
    """
    start += len(target[start:]) - len(target[start:].lstrip())
    reading = _Reading(target, start)
    try:
        tree = parse_expression(target[start:])
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        at = start + max((getattr(error, "offset", 1) or 1) - 1, 0)
        reason = getattr(error, "msg", None) or "too deeply nested"
        reading.fail(f"`{target[start:]}` is not readable: {reason}", at)
    return _read_node(tree, reading)


def _read_node(node: ast.expr, reading: _Reading) -> Expression:
    match node:
        case ast.Name(name):
            return Name(name, reading.position(node))
        case ast.Attribute(of, name):
            at = reading.position(node, end=True) - len(name)
            return Attribute(_read_node(of, reading), name, at)
        case ast.Call(of, args, keywords):
            return _read_call(of, args, keywords, reading)
        case ast.List(items) | ast.Tuple(items) | ast.Set(items):
            parts = tuple(_read_node(item, reading) for item in items)
            return _Nest(_NESTS[type(node)], parts)
        case ast.Dict(keys, values) if None not in keys:
            return _Nest(
                "dict",
                tuple(_read_node(value, reading) for value in values),
                tuple(_read_node(key, reading) for key in keys if key),
            )
    return _read_constant(node, reading)


def _read_call(
    of: ast.expr, args: list[ast.expr], keywords: list[ast.keyword], reading: _Reading
) -> Call:
    for keyword in keywords:
        if keyword.arg is None:
            reading.fail("`**` is not read here", reading.position(keyword.value))
    return Call(
        _read_node(of, reading),
        tuple(_read_node(arg, reading) for arg in args),
        tuple((k.arg, _read_node(k.value, reading)) for k in keywords if k.arg),
        reading.position(of, end=True),
    )


def _read_constant(node: ast.expr, reading: _Reading) -> Constant:
    """Parse a literal, which may be a negative or complex number."""
    try:
        return Constant(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, RecursionError):
        written = ast.unparse(node)
        reading.fail(
            f"`{written}` is not evaluated: a target holds names, calls and literals",
            reading.position(node),
        )


def find_first_name(expression: Expression) -> str:
    """Return the name with which an expression begins: `Net` of `Net(10).encode`."""
    while isinstance(expression, Attribute | Call):
        expression = expression.of
    return expression.name if isinstance(expression, Name) else ""


def format_expression(expression: Expression) -> str:
    """Format an expression as a user would write it, like `Net(10, width=2).encode`."""
    match expression:
        case Constant(value):
            return repr(value)
        case Name(name):
            return name
        case Attribute(of, name):
            return f"{format_expression(of)}.{name}"
        case Call(of, args, kwargs):
            inside = [format_expression(arg) for arg in args]
            inside += [f"{name}={format_expression(value)}" for name, value in kwargs]
            return f"{format_expression(of)}({', '.join(inside)})"
        case _Nest("dict", items, keys):
            pairs = zip(keys, items, strict=True)
            return (
                "{"
                + ", ".join(
                    f"{format_expression(k)}: {format_expression(v)}" for k, v in pairs
                )
                + "}"
            )
        case _Nest(kind, items):
            brackets = {"list": "[]", "tuple": "()", "set": "{}"}[kind]
            comma = "," if kind == "tuple" and len(items) == 1 else ""
            return (
                brackets[0]
                + ", ".join(map(format_expression, items))
                + comma
                + brackets[1]
            )


Load = Callable[["Target", AbstractContextManager[Any]], Any]
"""Builds the model of a target in a context and returns it as a `Loaded`."""


@dataclass(frozen=True, slots=True)
class TargetKind:
    """A kind of target that a library builds: ``PREFIX:NAME(arguments)``.

    `load` builds the model (`Loaded` is in `inputs/callables.py`). `by_name` is the
    sentence for arguments without names, where they are refused.
    """

    prefix: str
    load: Load
    by_name: str = ""


LIBRARIES: dict[str, TargetKind] = {}
"""Kinds of targets that a library builds, by prefix."""


def add_target_kind(kind: TargetKind) -> None:
    """Register a kind of target.

    Example: ``add_target_kind(TargetKind("zoo", load_zoo))`` for ``zoo:resnet18``.
    """
    assert kind.prefix not in LIBRARIES, f"two kinds of targets `{kind.prefix}:`"
    LIBRARIES[kind.prefix] = kind


def _make_loader(module: str, name: str) -> Load:
    """Return a loader whose module is imported only when the loader is called."""

    def load(target: Target, building: AbstractContextManager[Any]) -> Any:
        return getattr(import_module(module), name)(target, building)

    return load


add_target_kind(
    TargetKind(
        "hf",
        _make_loader("shapewright.inputs.hf_models", "load_transformers"),
        "settings of a config are given by name, as in `(n_layer=2)`",
    )
)
add_target_kind(
    TargetKind("timm", _make_loader("shapewright.inputs.libraries", "load_timm"))
)
add_target_kind(
    TargetKind(
        "torchvision", _make_loader("shapewright.inputs.libraries", "load_torchvision")
    )
)

_FILE = re.compile(r"(?P<file>.*?\.(?:py|ipynb))(?::(?P<rest>.*))?\Z", re.DOTALL)
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True, slots=True)
class Target:
    """A parsed target; nothing has been imported or run for it.

    Example: ``parse_target("model.py:Net(10)")`` is
    ``Target("model.py:Net(10)", "file", "model.py", Call(Name("Net"), ...))``.

    `kind` is "file", "script", "folder", "module" or the prefix of a library. `place`
    is the file or folder, the dotted module, or for a library the name of the model or
    the path of its config. `expression` is what follows, None for a script and for a
    library's model without arguments. `arguments` are what the file finds in
    `sys.argv`, behind its own name.
    """

    text: str
    kind: str
    place: str
    expression: Expression | None = None
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


def parse_target(text: str, arguments: Sequence[str] = ()) -> Target:
    """Parse a target and the arguments of its script.

    Raises `InputError` for anything that cannot be a target, and for arguments to a
    library's model.
    """
    target = _read_target(text)
    if arguments and target.kind in LIBRARIES:
        raise InputError(
            f"`{arguments[0]}` is for a script, and `{text}` is a model of a library"
        )
    return replace(target, arguments=tuple(arguments)) if arguments else target


def _read_target(text: str) -> Target:
    if not text.strip():
        raise InputError("the target is empty; write FILE.py:NAME")
    prefix, colon, rest = text.partition(":")
    if colon and prefix in LIBRARIES:
        return _read_library(text, prefix, rest)
    if (match := _FILE.match(text)) is not None:
        return _read_file(text, match)
    if colon:
        return _read_module(text, prefix)
    if Path(text).is_dir():
        return Target(text, "folder", text)
    raise InputError(_make_unreadable_error(text), text, 0)


def _read_file(text: str, match: re.Match[str]) -> Target:
    if match["rest"] is None:
        return Target(text, "script", match["file"])
    expression = _read_after_colon(text, match.start("rest"))
    return Target(text, "file", match["file"], expression)


def _read_module(text: str, place: str) -> Target:
    if not _MODULE.fullmatch(place):
        hint = suggest_name(place, list(LIBRARIES))
        raise InputError(f"`{place}` is neither a file nor a module{hint}", text, 0)
    return Target(text, "module", place, _read_after_colon(text, len(place) + 1))


def _read_after_colon(text: str, start: int) -> Expression:
    if not text[start:].strip():
        raise InputError("a name is missing after the colon", text, len(text))
    expression = _read_expression(text, start)
    if not find_first_name(expression):
        raise InputError("a target begins with a name", text, start)
    return expression


def _read_library(text: str, prefix: str, rest: str) -> Target:
    """Parse `PREFIX:NAME` or `PREFIX:NAME(arguments)`; for hf, NAME may be a path."""
    kind = LIBRARIES[prefix]
    bracket = rest.find("(")
    place = rest if bracket < 0 else rest[:bracket]
    if not place.strip():
        raise InputError(f"a name is missing after `{prefix}:`", text, len(prefix) + 1)
    if bracket < 0:
        return Target(text, prefix, place)
    # The name itself may be no Python name (`hf:./config.json(n_layer=2)`).
    start = len(prefix) + 1 + bracket
    call = _read_expression(text[: start - 1] + "_" + text[start:], start - 1)
    if not isinstance(call, Call) or not isinstance(call.of, Name):
        raise InputError("only arguments may follow the model's name", text, start)
    if kind.by_name and call.args:
        raise InputError(kind.by_name, text, start)
    return Target(text, prefix, place, call)


def _make_unreadable_error(text: str) -> str:
    path = Path(text)
    if path.name and path.with_suffix(".py").is_file():  # `.` and `/` have no name
        return (
            f"`{text}` names no object; did you mean `{path.with_suffix('.py')}:NAME`?"
        )
    if path.suffix == ".json":
        return f"`{text}` is not a Python file; did you mean `hf:{text}`?"
    if path.with_suffix(".ipynb").is_file():
        return f"`{text}` names no object; did you mean `{text}.ipynb:NAME`?"
    if path.is_file():
        return f"`{text}` is not a Python file; write FILE.py:NAME"
    return (
        f"`{text}` is not a target; write FILE.py:NAME, PACKAGE.MODULE:NAME or hf:NAME"
    )
