"""Spec text to tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from shapewright.inputs.errors import InputError

Kind = Literal["string", "float", "integer", "name", "symbol", "end"]

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<float>(?:\d[\d_]*)?\.\d+(?:[eE][+-]?\d+)?
        |\d[\d_]*\.(?!\.)(?:[eE][+-]?\d+)?
        |\d[\d_]*[eE][+-]?\d+)
    |(?P<integer>\d[\d_]*)
    |(?P<name>[^\W\d]\w*)
    |(?P<symbol>\.\.|//|[\[\](){},;:=@!+\-*/%])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One word of a spec; `position` is the index of its first character."""

    kind: Kind
    text: str
    position: int


def tokens(text: str) -> list[Token]:
    """The tokens of a spec, an `end` token last.

    Example: ``f32[B=8]`` has the tokens ``f32 [ B = 8 ]`` and the end.
    """
    found: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise InputError(_stray(text[position]), text, position)
        if match.lastgroup != "space":
            found.append(Token(match.lastgroup, match.group(), position))  # type: ignore[arg-type]
        position = match.end()
    return [*found, Token("end", "", len(text))]


def _stray(character: str) -> str:
    if character in "'\"":
        return "this string has no closing quote"
    return f"unexpected character `{character}`"
