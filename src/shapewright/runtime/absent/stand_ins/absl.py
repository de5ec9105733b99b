"""absl: flags with their defaults and what the command line says, and `app.run`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any

SOURCE = "signatures of https://abseil.io/docs/python, 2"
VERSION = "2.0.0"
TRUTHS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


class UnparsedFlagAccessError(AttributeError):
    """Raised for a flag that is read before the command line is parsed."""


class _Flags:
    """The flags of a program, which are attributes once they are parsed."""

    def __init__(self) -> None:
        self.__dict__.update(_values={}, _readers={}, _several={}, _parsed=False)

    def _define(self, name: str, default: Any, read: Callable[[list[str]], Any]) -> Any:
        self._values[name], self._readers[name] = default, read
        return _Holder(self, name)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Parse a command line; return what is no flag."""
        rest, words = [argv[0]] if argv else [], list(argv[1:])
        while words:
            word = words.pop(0)
            if word == "--":
                rest += words
                break
            if not word.startswith("-"):
                rest.append(word)
                continue
            name, equals, value = word.lstrip("-").partition("=")
            if name == "flagfile":
                file = value if equals else words.pop(0)
                with open(file) as lines:
                    rows = [line.strip() for line in lines]
                words = [row for row in rows if row and row[0] not in "#/"] + words
            elif name not in self._values and name.removeprefix("no") in self._values:
                self._values[name.removeprefix("no")] = False
            elif name not in self._values:
                print(f"FATAL: Unknown command line flag '{name}'", file=sys.stderr)
                raise SystemExit(1)
            elif equals or self._readers[name] is not _read_truth:
                value = value if equals else words.pop(0)
                if name in self._several:  # a flag that may be given again
                    self._several[name].append(value)
                    self._values[name] = self._readers[name](self._several[name])
                else:
                    self._values[name] = self._readers[name]([value])
            else:
                self._values[name] = True
        self.__dict__["_parsed"] = True
        return rest

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._values:
            raise AttributeError(name)
        if not self._parsed:
            raise UnparsedFlagAccessError(
                f"Trying to access flag --{name} before flags were parsed."
            )
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __getitem__(self, name: str) -> Any:
        return _Holder(self, name)

    def flag_values_dict(self) -> dict[str, Any]:
        """Return the values by name."""
        return dict(self._values)

    def flags_into_string(self) -> str:
        """Return the flags as a command line has them."""
        return "".join(f"--{name}={value}\n" for name, value in self._values.items())

    def append_flags_into_file(self, filename: str) -> None:
        """Write the flags to a file."""
        with open(filename, "a") as out:
            out.write(self.flags_into_string())

    def mark_as_parsed(self) -> None:
        """Take the flags as parsed."""
        self.__dict__["_parsed"] = True


class _Holder:
    """One flag: ``flags.DEFINE_integer(...)`` returns it."""

    def __init__(self, owner: _Flags, name: str) -> None:
        self._owner, self.name = owner, name

    @property
    def value(self) -> Any:
        """Return its value."""
        return getattr(self._owner, self.name)

    @property
    def default(self) -> Any:
        """Return its value before the command line is parsed."""
        return self._owner._values[self.name]


FLAGS = _Flags()


def _read_truth(words: list[str]) -> bool:
    return TRUTHS[words[0].lower()]


def _read_list(words: list[str]) -> list[str]:
    return [part for word in words for part in word.split(",") if part]


def _define_kind(read: Callable[[list[str]], Any]) -> Callable[..., Any]:
    """Return a `DEFINE_` function, whose values are read from words so."""

    def define(
        name: str, default: Any, help: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        return FLAGS._define(name, default, read)

    return define


def define_enum(
    name: str, default: Any, enum_values: Any, help: Any = None, **kwargs: Any
) -> Any:
    """Define a flag with one of some values."""
    return FLAGS._define(name, default, lambda words: words[0])


def define_nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing: demands on flags hold."""


def run(main: Callable[..., Any], argv: Any = None, flags_parser: Any = None) -> None:
    """Parse the command line and call `main` with what is no flag."""
    sys.exit(main(FLAGS(sys.argv if argv is None else argv)))


def _define_multi(read: Callable[[str], Any]) -> Callable[..., Any]:
    """Return a `DEFINE_multi_` function, whose flags may be given several times."""

    def define(name: str, default: Any, *args: Any, **kwargs: Any) -> Any:
        FLAGS._several[name] = []
        return FLAGS._define(
            name, default, lambda words: [read(word) for word in words]
        )

    return define


_FLAGS: dict[str, Any] = {
    "FLAGS": FLAGS,
    "DEFINE_string": _define_kind(lambda words: words[0]),
    "DEFINE_integer": _define_kind(lambda words: int(words[0])),
    "DEFINE_float": _define_kind(lambda words: float(words[0])),
    "DEFINE_bool": _define_kind(_read_truth),
    "DEFINE_boolean": _define_kind(_read_truth),
    "DEFINE_list": _define_kind(_read_list),
    "DEFINE_spaceseplist": _define_kind(lambda words: words[0].split()),
    "DEFINE_multi_string": _define_multi(str),
    "DEFINE_multi_integer": _define_multi(int),
    "DEFINE_multi_float": _define_multi(float),
    "DEFINE_enum": define_enum,
    "mark_flag_as_required": define_nothing, "mark_flags_as_required": define_nothing,
    "register_validator": define_nothing,
    "UnparsedFlagAccessError": UnparsedFlagAccessError,
}  # fmt: skip
_LOGGING = {
    name: getattr(logging, name)
    for name in ("debug", "info", "warning", "error", "fatal", "exception", "log")
} | {"set_verbosity": define_nothing, "INFO": 0, "ERROR": -2, "WARNING": -1, "DEBUG": 1}
MODULES: dict[str, dict[str, Any]] = {
    "": {}, "app": {"run": run}, "flags": _FLAGS, "logging": _LOGGING,
}  # fmt: skip
