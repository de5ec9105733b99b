"""What the user says of things that are not on this machine: `--data` and `--assume`.

``PATH=SPEC`` says what a file, a folder or a data set of the program holds:

- ``train.npy=f32[1000, 64]``: an array or a tensor;
- ``data/imgs=images[500, 3, 480, 640]``: a folder of so many pictures;
- ``book.txt=text[1000000, 65]``: so many characters, so many of them distinct;
- ``train.csv=table[1000](date, open: f32, label: i64)``: rows and columns;
- ``vocab.json={"a": 0, "b": 1}``: any value as Python writes it;
- ``VOCDetection[5000]=f32[3, 300, 300], f32[K, 5]``: the items of a data set class.

``NAME(...) -> SPEC`` and ``NAME = VALUE`` say what the names of a package give.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shapewright.inputs.errors import InputError
from shapewright.inputs.spec import Spec, parse_spec

IMAGES = re.compile(r"images\[\s*(\d+)\s*(?:,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*)?\]")
TEXT = re.compile(r"text\[\s*(\d+)\s*(?:,\s*(\d+)\s*)?\]")
TABLE = re.compile(r"table\[\s*(\d+)\s*\]\s*\((.*)\)", re.S)
CLASS = re.compile(r"([A-Za-z_]\w*)\[\s*(\d+)\s*\]")
TENSOR = re.compile(r"\(?\s*(?:[a-z]\w*)?\[")
CALLED = re.compile(r"([A-Za-z_][\w.]*)\s*\(([^()]*)\)\s*->\s*(.+)", re.S)
VALUED = re.compile(r"([A-Za-z_][\w.]*)\s*=\s*(.+)", re.S)


@dataclass(frozen=True, slots=True)
class Images:
    """A folder of pictures, of one shape (channels, height, width)."""

    count: int
    shape: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Text:
    """A text: its length in characters, and how many of them are distinct."""

    length: int
    distinct: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its rows, and its columns with their dtypes (``""`` for text)."""

    rows: int
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A value as Python writes it."""

    value: Any


@dataclass(frozen=True, slots=True)
class Data:
    """What a file, folder or data set class holds.

    `name` is the path or the class; `length` is that of a data set, else 0.
    """

    name: str
    holds: Images | Text | Table | Value | Spec
    text: str
    length: int = 0


@dataclass(frozen=True, slots=True)
class Assumed:
    """What a name of a package gives: when it is called, or as a value.

    `parameters` are what stands between the brackets, `holds` what comes out.
    """

    name: str
    holds: Value | Spec
    text: str
    called: bool = False
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StandInSettings:
    """What the user says of what is absent; if `strict`, nothing may stand for it."""

    data: tuple[Data, ...] = ()
    assumed: tuple[Assumed, ...] = ()
    strict: bool = False

    def find_class(self, name: str) -> Data | None:
        """Return what is said of a data set class."""
        return next((d for d in self.data if d.length and d.name == name), None)


def read_stand_ins(
    data: Sequence[str] = (), assumed: Sequence[str] = (), strict: bool = False
) -> StandInSettings:
    """Return the settings of a command line: its `--data` and its `--assume`."""
    return StandInSettings(
        tuple(map(parse_data, data)), tuple(map(parse_assumed, assumed)), strict
    )


def parse_data(text: str) -> Data:
    """Return what ``PATH=SPEC`` says, or raise `InputError`."""
    name, equals, spec = (part.strip() for part in text.partition("="))
    if not equals or not name or not spec:
        raise InputError(
            f"`--data {text}` needs PATH=SPEC, as in `train.npy=f32[1000, 64]`"
        )
    if (match := CLASS.fullmatch(name)) is not None:
        return Data(match[1], parse_spec(spec), text, int(match[2]))
    return Data(name, _parse_holds(spec), text)


def _parse_holds(spec: str) -> Images | Text | Table | Value | Spec:
    """Return what a spec of data says."""
    if (match := IMAGES.fullmatch(spec)) is not None:
        count, *shape = (int(each) for each in match.groups() if each)
        channels, height, width = shape or (3, 375, 500)
        return Images(count, (channels, height, width))
    if (match := TEXT.fullmatch(spec)) is not None:
        return Text(int(match[1]), int(match[2] or 65))
    if (match := TABLE.fullmatch(spec)) is not None:
        columns = [each.partition(":") for each in match[2].split(",") if each.strip()]
        made = tuple((name.strip(), dtype.strip()) for name, _, dtype in columns)
        return Table(int(match[1]), made)
    return _parse_value(spec)


def _parse_value(spec: str) -> Value | Spec:
    """Return a value as Python writes it, or the tensors of a spec."""
    try:
        return Value(ast.literal_eval(spec))
    except (ValueError, SyntaxError):
        return parse_spec(spec)


def parse_assumed(text: str) -> Assumed:
    """Return what ``NAME(...) -> SPEC`` or ``NAME = VALUE`` says."""
    if (match := CALLED.fullmatch(text.strip())) is not None:
        name, given, spec = match.groups()
        parameters = tuple(each.strip() for each in given.split(",") if each.strip())
        return Assumed(name, _parse_value(spec.strip()), text, True, parameters)
    if (match := VALUED.fullmatch(text.strip())) is not None:
        return Assumed(match[1], _parse_value(match[2].strip()), text)
    raise InputError(
        f"`--assume {text}` needs NAME(...) -> SPEC or NAME = VALUE, as in "
        '`"pkg.embed(x) -> f32[B, 64]"`'
    )
