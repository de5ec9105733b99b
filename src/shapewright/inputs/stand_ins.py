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
from collections.abc import Mapping, Sequence
from typing import Any

from shapewright.inputs.errors import InputError
from shapewright.inputs.spec import Spec, materialize_spec, parse_spec
from shapewright.inputs.spec_syntax import TensorSpec
from shapewright.runtime.absent.settings import (
    Content,
    GivenAnswer,
    GivenData,
    GivenTensors,
    MakeTensor,
    PictureFolder,
    PlainValue,
    StandInSettings,
    TableContent,
    TextContent,
)

IMAGES = re.compile(r"images\[\s*(\d+)\s*(?:,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*)?\]")
TEXT = re.compile(r"text\[\s*(\d+)\s*(?:,\s*(\d+)\s*)?\]")
TABLE = re.compile(r"table\[\s*(\d+)\s*\]\s*\((.*)\)", re.S)
CLASS = re.compile(r"([A-Za-z_]\w*)\[\s*(\d+)\s*\]")
TENSOR = re.compile(r"\(?\s*(?:[a-z]\w*)?\[")
CALLED = re.compile(r"([A-Za-z_][\w.]*)\s*\(([^()]*)\)\s*->\s*(.+)", re.S)
VALUED = re.compile(r"([A-Za-z_][\w.]*)\s*=\s*(.+)", re.S)


def read_stand_ins(
    data: Sequence[str] = (), assumed: Sequence[str] = (), strict: bool = False
) -> StandInSettings:
    """Return the settings of a command line: its `--data` and its `--assume`."""
    return StandInSettings(
        tuple(map(_parse_data, data)), tuple(map(_parse_answer, assumed)), strict
    )


def _parse_data(text: str) -> GivenData:
    """Return what ``PATH=SPEC`` says, or raise `InputError`."""
    name, equals, spec = (part.strip() for part in text.partition("="))
    if not equals or not name or not spec:
        raise InputError(
            f"`--data {text}` needs PATH=SPEC, as in `train.npy=f32[1000, 64]`"
        )
    if (match := CLASS.fullmatch(name)) is not None:
        return GivenData(match[1], _read_tensors(parse_spec(spec)), text, int(match[2]))
    return GivenData(name, _parse_holds(spec), text)


def _parse_holds(spec: str) -> Content:
    """Return what a spec of data says."""
    if (match := IMAGES.fullmatch(spec)) is not None:
        count, *shape = (int(group) for group in match.groups() if group)
        channels, height, width = shape or (3, 375, 500)
        return PictureFolder(count, (channels, height, width))
    if (match := TEXT.fullmatch(spec)) is not None:
        return TextContent(int(match[1]), int(match[2] or 65))
    if (match := TABLE.fullmatch(spec)) is not None:
        columns = [
            column.partition(":") for column in match[2].split(",") if column.strip()
        ]
        dtypes = tuple((name.strip(), dtype.strip()) for name, _, dtype in columns)
        return TableContent(int(match[1]), dtypes)
    return _parse_value(spec)


def _parse_value(spec: str) -> PlainValue | GivenTensors:
    """Return a value as Python writes it, or the tensors of a spec."""
    try:
        return PlainValue(ast.literal_eval(spec))
    except (ValueError, SyntaxError):
        return _read_tensors(parse_spec(spec))


def _parse_answer(text: str) -> GivenAnswer:
    """Return what ``NAME(...) -> SPEC`` or ``NAME = VALUE`` says."""
    if (match := CALLED.fullmatch(text.strip())) is not None:
        name, parameter_text, spec = match.groups()
        parameters = tuple(
            parameter.strip()
            for parameter in parameter_text.split(",")
            if parameter.strip()
        )
        return GivenAnswer(name, _parse_value(spec.strip()), text, True, parameters)
    if (match := VALUED.fullmatch(text.strip())) is not None:
        return GivenAnswer(match[1], _parse_value(match[2].strip()), text)
    raise InputError(
        f"`--assume {text}` needs NAME(...) -> SPEC or NAME = VALUE, as in "
        '`"pkg.embed(x) -> f32[B, 64]"`'
    )


def _read_tensors(spec: Spec) -> GivenTensors:
    """Return the tensors of a spec, as what stands for absent things makes them."""

    def build(make: MakeTensor, sizes: Mapping[str, int]) -> Any:
        fitting = spec.with_sizes(**sizes) if sizes else spec
        args, named = materialize_spec(
            fitting, lambda leaf: make(tuple(leaf.shape), leaf.dtype)
        )
        if named:
            return dict(named)
        return args[0] if len(args) == 1 else args

    letters = {name: spec.letters[name] for name in spec.letters_free}
    first = spec.args[0] if spec.args else None
    shape = tuple(first.shape) if isinstance(first, TensorSpec) else ()
    return GivenTensors(letters, shape, build)
