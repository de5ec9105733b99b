"""tyro: a dataclass or a function, filled from the command line."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_type_hints

SOURCE = "signatures of https://brentyi.github.io/tyro, 0.9"
VERSION = "0.9.0"


def cli(
    f: Callable[..., Any], *, args: Sequence[str] | None = None, default: Any = None,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """Return what `f` makes of ``--name value`` and ``--group.name value``."""
    words = _read_words(sys.argv[1:] if args is None else args)
    value, unused = _fill(f, words, default, "")
    if unused:
        print(f"Unrecognized options: --{unused[0]}", file=sys.stderr)
        raise SystemExit(2)
    return value


def _read_words(words: Sequence[str]) -> dict[str, list[str]]:
    """Return the words behind each option, by its name with underscores."""
    options: dict[str, list[str]] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            name = name.replace("-", "_")
            options[name] = [value] if equals else []
        elif name:
            options[name].append(word)
    return options


def _fill(
    f: Callable[..., Any], options: dict[str, list[str]], default: Any, prefix: str
) -> tuple[Any, list[str]]:
    """Return the filled value, and the options that no field has."""
    hints = get_type_hints(f)
    values: dict[str, Any] = {}
    known: set[str] = set()
    for name, start in _iter_fields(f, default):
        kind, option = hints.get(name), prefix + name
        if dataclasses.is_dataclass(start) and not isinstance(start, type):
            kind = type(start)  # the default of a field may be of a subclass
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            inner = {
                key.removeprefix(f"{option}."): words
                for key, words in options.items()
                if key.startswith(f"{option}.")
            }
            known |= {f"{option}.{key}" for key in inner}
            begun = None if start is dataclasses.MISSING else start
            values[name], _ = _fill(kind, inner, begun, "")
        elif option in options:
            known.add(option)
            values[name] = _read_value(options[option], kind, start)
        elif f"no_{option}" in options:
            known.add(f"no_{option}")
            values[name] = False
        elif start is not dataclasses.MISSING:
            values[name] = start
    return f(**values), sorted(set(options) - known)


def _iter_fields(f: Any, default: Any) -> Iterator[tuple[str, Any]]:
    """Yield each field or parameter with its default."""
    missing = dataclasses.MISSING
    if dataclasses.is_dataclass(f):
        for field in dataclasses.fields(f):
            if not field.init:
                continue
            if default is not None:
                yield field.name, getattr(default, field.name)
            elif field.default_factory is not missing:
                yield field.name, field.default_factory()
            else:
                yield field.name, field.default
        return
    for name, parameter in inspect.signature(f).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        none = parameter.default is parameter.empty
        yield name, missing if none else parameter.default


def _read_value(words: list[str], kind: Any, start: Any) -> Any:
    """Return what the words of an option say, as the type of its field."""
    if not words:
        return True
    values = [_read_word(word, kind, start) for word in words]
    if len(values) > 1 or isinstance(start, tuple | list):
        return list(values) if isinstance(start, list) else tuple(values)
    return values[0]


def _read_word(word: str, kind: Any, start: Any) -> Any:
    if kind is str or isinstance(start, str):
        return word
    if word in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[word]
    try:
        value = ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return word
    return float(value) if kind is float else value


class _Marker:
    """What annotates a field: ``tyro.conf.Suppress``, ``tyro.conf.arg(...)``."""

    def __getitem__(self, kind: Any) -> Any:
        return kind

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self


_MARKERS = (
    "Suppress", "Positional", "Fixed", "FlagConversionOff", "OmitSubcommandPrefixes",
    "OmitArgPrefixes", "AvoidSubcommands", "ConsolidateSubcommandArgs", "arg",
    "subcommand", "SuppressFixed", "UseAppendAction", "UseCounterAction",
)  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {"cli": cli}, "conf": {name: _Marker() for name in _MARKERS}, "extras": {},
}  # fmt: skip
