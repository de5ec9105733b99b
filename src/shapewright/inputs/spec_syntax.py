"""What the text of a spec is made of: tokens, sizes with letters and arithmetic, and
tensors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import add, floordiv, mod, mul, sub
from typing import Any, Literal, NoReturn

from shapewright.inputs.errors import InputError
from shapewright.record.ops import ITEMSIZE, SHORT

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
    """A token of a spec; `position` is the index of its first character."""

    kind: Kind
    text: str
    position: int


def _split_tokens(text: str) -> list[Token]:
    """Split a spec into tokens, the last of which is an `end` token.

    Example: ``f32[B=8]`` has the tokens ``f32 [ B = 8 ]`` and the end.
    """
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise InputError(_make_stray_error(text[position]), text, position)
        if match.lastgroup != "space":
            tokens.append(Token(match.lastgroup, match.group(), position))  # type: ignore[arg-type]
        position = match.end()
    return [*tokens, Token("end", "", len(text))]


def _make_stray_error(character: str) -> str:
    if character in "'\"":
        return "this string has no closing quote"
    return f"unexpected character `{character}`"


@dataclass(slots=True)
class Cursor:
    """The tokens of one spec, and the number of tokens that have been read."""

    text: str
    ahead: list[Token] = field(init=False)
    index: int = 0

    def __post_init__(self) -> None:
        self.ahead = _split_tokens(self.text)

    @property
    def now(self) -> Token:
        """Return the token to be read next."""
        return self.ahead[self.index]

    def ended(self) -> bool:
        """Return whether every token has been read."""
        return self.now.kind == "end"

    def peek(self, distance: int) -> Token:
        """Return the token `distance` ahead, or the `end` token if there is none."""
        return self.ahead[min(self.index + distance, len(self.ahead) - 1)]

    def take(self) -> Token:
        """Read the next token and return it."""
        token = self.now
        self.index = min(self.index + 1, len(self.ahead) - 1)
        return token

    def skip(self, symbol: str) -> bool:
        """Read the next token if it is `symbol`, and return whether it was."""
        is_next = self.now.text == symbol and self.now.kind == "symbol"
        if is_next:
            self.take()
        return is_next

    def expect(self, symbol: str) -> Token:
        """Read the token `symbol`, or raise an `InputError` that it is missing."""
        token = self.now
        if not self.skip(symbol):
            actual = f"`{token.text}`" if token.kind != "end" else "the end"
            self.fail(f"expected `{symbol}`, found {actual}")
        return token

    def integer(self) -> int:
        """Read an integer."""
        token = self.take()
        try:
            return int(token.text)
        except ValueError:
            self.fail(f"`{token.text}` is not an integer", token.position)

    def decimal(self) -> float:
        """Read a number with a decimal point or an exponent."""
        token = self.take()
        try:
            return float(token.text)
        except ValueError:
            self.fail(f"`{token.text}` is not a number", token.position)

    def between(self, start: Token, closing: str) -> None:
        """After an item, read a comma, or leave the closing bracket."""
        if self.now.text == closing or self.skip(","):
            return
        if self.now.kind == "end":
            self.fail(f"this `{start.text}` is never closed", start.position)
        self.fail(f"expected `,` or `{closing}`, found `{self.now.text}`")

    def find_unclosed(self) -> Token | None:
        """Return the innermost bracket that is never closed."""
        opened: list[Token] = []
        for token in self.ahead:
            if token.text in ("[", "(", "{"):
                opened.append(token)
            elif token.text in ("]", ")", "}") and opened:
                opened.pop()
        return opened[-1] if opened else None

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        """Raise `InputError` at `position`, by default at the next token."""
        at = self.now.position if position is None else position
        raise InputError(message, self.text, at)


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": add, "-": sub, "*": mul, "//": floordiv, "%": mod,
}  # fmt: skip

PRECEDENCE = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}
"""How strongly an operator of size arithmetic binds."""


@dataclass(frozen=True, slots=True)
class StatedSize:
    """A size given as a number."""

    value: int
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class NamedSize:
    """A size given by name."""

    name: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two sizes and an operator; `position` is the operator's."""

    operator: str
    left: Size
    right: Size
    position: int = field(default=0, compare=False)


Size = StatedSize | NamedSize | Arithmetic


class DividedByZero(Exception):
    """Raised for `//` or `%` by zero, at a position of the spec."""

    def __init__(self, position: int) -> None:
        super().__init__("division by zero")
        self.position = position


def compute_size(size: Size, letters: Mapping[str, int]) -> int:
    """Return the value of a size, like 16 for ``2*B`` with ``B=8``."""
    match size:
        case StatedSize(number):
            return number
        case NamedSize(name):
            return letters[name]
        case Arithmetic(operator, left, right, position):
            divisor = compute_size(right, letters)
            if divisor == 0 and operator in ("//", "%"):
                raise DividedByZero(position)
            return _OPERATORS[operator](compute_size(left, letters), divisor)


def find_letters(size: Size) -> Iterator[NamedSize]:
    """Return the letters of a size, from left to right."""
    if isinstance(size, NamedSize):
        yield size
    elif isinstance(size, Arithmetic):
        yield from find_letters(size.left)
        yield from find_letters(size.right)


def format_size(size: Size, stated: dict[str, int] | None = None) -> str:
    """Return the size as it is written in a spec.

    Letters in `stated` are written with their size where they first stand (`B=8`),
    and taken out of `stated`.
    """
    stated = {} if stated is None else stated
    if isinstance(size, NamedSize):
        return _format_letter(size, stated)
    return _format_size(size, stated, 0)


def _format_size(size: Size, stated: dict[str, int], around: int) -> str:
    match size:
        case StatedSize(number):
            return str(number)
        case NamedSize():
            written = _format_letter(size, stated)
            return f"({written})" if "=" in written else written
        case Arithmetic(operator, left, right):
            strength = PRECEDENCE[operator]
            first = _format_size(left, stated, strength)
            whole = f"{first}{operator}{_format_size(right, stated, strength + 1)}"
            return f"({whole})" if strength < around else whole


def _format_letter(letter: NamedSize, stated: dict[str, int]) -> str:
    if letter.name not in stated:
        return letter.name
    return f"{letter.name}={stated.pop(letter.name)}"


DTYPES = (
    {name: name for name in ITEMSIZE if not name.startswith("q")}
    | {short: name for name, short in SHORT.items()}
    | {
        "half": "float16", "float": "float32", "double": "float64",
        "byte": "uint8", "char": "int8", "short": "int16", "int": "int32",
        "long": "int64", "cfloat": "complex64", "cdouble": "complex128",
    }
)  # fmt: skip
"""Every name by which a spec may call a dtype, to torch's name without `torch.`."""

DEVICES = ("cpu", "cuda", "mps", "xpu", "hpu", "xla", "mtia", "meta")
"""Kinds of device that a tensor of a spec may claim to be on."""


@dataclass(frozen=True, slots=True)
class IntegerRange:
    """Random integers from `low` (inclusive) to `high` (exclusive)."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low}..{self.high}"


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input tensor: ``f32[B=8, 3]`` is ``TensorSpec((8, 3), "float32")``.

    `letters` has for each dim the letter or formula that it was written with
    ("B", "2*T"), or None for a number. `name` is its place among the inputs: a
    keyword, or the path of positions and keys ("0", "0.image"). `fill` says its
    values: None (unknown), "zeros", "ones", "arange", an `IntegerRange`, a number or
    nested tuples of numbers.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    device: str = "cpu"
    name: str = ""
    letters: tuple[str | None, ...] = ()
    fill: Any = None
    requires_grad: bool = False

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        return f"{SHORT.get(self.dtype, self.dtype)}[{sizes}]"
