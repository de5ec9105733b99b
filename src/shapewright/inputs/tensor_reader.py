"""Sizes and tensors of a spec: ``f32[B=8, 2*B]@cuda:0=ones``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shapewright.inputs.cursor import Cursor
from shapewright.inputs.errors import did_you_mean
from shapewright.inputs.lexer import Token
from shapewright.inputs.size import (
    PRECEDENCE,
    Arithmetic,
    DividedByZero,
    Letter,
    Number,
    Size,
    letters_in,
    value,
)
from shapewright.inputs.tensor import DEVICES, DTYPES, Range

PLAIN = {
    "None": None, "True": True, "False": False,
    "inf": float("inf"), "nan": float("nan"),
}  # fmt: skip
"""Words that are values."""

_FILLS = ("ones", "zeros", "arange")


@dataclass(frozen=True, slots=True)
class Written:
    """A tensor as the spec writes it."""

    sizes: tuple[Size, ...]
    dtype: str = "float32"
    device: str = "cpu"
    fill: Any = None
    requires_grad: bool = False
    position: int = field(default=0, compare=False)


@dataclass(slots=True)
class TensorReader(Cursor):
    """Reads tensors; `stated` is each letter's size and where it was stated.

    `met` are the letters of tensors, `scalars` those that stand outside of them.
    """

    stated: dict[str, tuple[int, int]] = field(default_factory=dict)
    met: dict[str, int] = field(default_factory=dict)
    scalars: list[Letter] = field(default_factory=list)

    def dtype(self) -> str:
        """Take the name of a dtype."""
        token = self.take()
        if token.text not in DTYPES:
            hint = did_you_mean(token.text, DTYPES)
            self.fail(f"unknown dtype `{token.text}`{hint}", token.position)
        return DTYPES[token.text]

    def tensor(self, dtype: str) -> Written:
        """Take sizes in brackets and what follows them."""
        start = self.expect("[")
        sizes: list[Size] = []
        while not self.skip("]"):
            sizes.append(self.size())
            self.between(start, "]")
        for size in sizes:
            for letter in letters_in(size):
                self.met.setdefault(letter.name, letter.position)
        return self._suffixes(tuple(sizes), dtype, start.position)

    def _suffixes(self, sizes: tuple[Size, ...], dtype: str, position: int) -> Written:
        device, fill, requires_grad = "cpu", None, False
        while True:
            if self.skip("@"):
                device = self._device()
            elif self.skip("="):
                fill = self._fill(dtype)
            elif self.skip("!"):
                requires_grad = self._grad(dtype)
            else:
                return Written(sizes, dtype, device, fill, requires_grad, position)

    def _device(self) -> str:
        token = self.take()
        if token.text not in DEVICES:
            hint = did_you_mean("cuda" if token.text == "gpu" else token.text, DEVICES)
            self.fail(f"unknown device `{token.text}`{hint}", token.position)
        if self.now.text == ":" and self.peek(1).kind == "integer":
            self.take()
            return f"{token.text}:{self.integer()}"
        return token.text if token.text in ("cpu", "meta") else f"{token.text}:0"

    def _grad(self, dtype: str) -> bool:
        token = self.take()
        if token.text != "grad":
            self.fail("only `!grad` may follow `!`", token.position)
        if not dtype.startswith(("float", "bfloat", "complex")):
            self.fail(f"{dtype} tensors cannot require grad", token.position)
        return True

    def _fill(self, dtype: str) -> Any:
        token = self.now
        if token.text in _FILLS:
            return self.take().text
        if token.text == "[":
            return self._values(dtype)
        if token.kind == "integer" and self.peek(1).text == "..":
            return self._range()
        if token.kind == "name" and token.text not in PLAIN:
            hint = did_you_mean(token.text, _FILLS)
            self.fail(f"unknown values `{token.text}`{hint}")
        return self._element(dtype)

    def _range(self) -> Range:
        start, low = self.now, self.integer()
        self.expect("..")
        high = self.integer()
        if low >= high:
            self.fail(f"no integer lies in {low}..{high}", start.position)
        return Range(low, high)

    def _values(self, dtype: str) -> tuple[Any, ...]:
        start, values = self.expect("["), []
        while not self.skip("]"):
            inner = self.now.text == "["
            values.append(self._values(dtype) if inner else self._element(dtype))
            self.between(start, "]")
        return tuple(values)

    def _element(self, dtype: str) -> Any:
        start = self.now
        found = PLAIN[self.take().text] if start.text in PLAIN else self.number()
        whole = "int" in dtype or dtype == "bool"
        if found is None or (isinstance(found, float) and whole):
            self.fail(f"{dtype} cannot hold `{start.text}`", start.position)
        if isinstance(found, Letter | Arithmetic | Number):
            self.fail("values are numbers, not letters", start.position)
        return found

    def number(self) -> Any:
        """Take a number, or a size that begins with one."""
        sign = -1 if self.skip("-") else 1
        if self.now.kind == "float":
            return sign * self.decimal()
        if sign == -1:
            if self.now.text == "inf":
                return -PLAIN[self.take().text]  # type: ignore[operator]
            return -self.integer()
        return self.scalar()

    def scalar(self) -> Any:
        """Take a size that is an input itself; a number where it has no letters."""
        size = self.size()
        letters = list(letters_in(size))
        self.scalars.extend(letters)
        try:
            return size if letters else value(size, {})
        except DividedByZero as error:
            self.fail("this size divides by zero", error.position)

    def size(self, around: int = 0) -> Size:
        """A letter, a number, or arithmetic that binds tighter than `around`."""
        left = self._atom(alone=around == 0)
        while (strength := PRECEDENCE.get(self.now.text, 0)) > around:
            operator = self.take()
            right = self.size(strength)
            left = Arithmetic(operator.text, left, right, operator.position)
        if self.now.text == "/":
            self.fail("sizes are divided by `//`")
        if around == 0 and self.now.text == "=" and isinstance(left, Arithmetic):
            self.fail("a size is stated for a letter alone, as in `2*(B=8)`")
        return left

    def _atom(self, alone: bool) -> Size:
        token = self.now
        if token.kind == "integer":
            return Number(self.integer(), token.position)
        if token.kind == "name":
            return self._letter(alone)
        if self.skip("("):
            inner = self.size()
            self.between(token, ")")
            self.expect(")")
            return inner
        if token.text == "-" and self.peek(1).kind == "integer":
            self.fail(
                f"the size -{self.peek(1).text} is negative"
                " (a list of numbers is written `list[-1, 2]`)"
            )
        if token.kind == "end":
            opening = self.unclosed()
            if opening is None:
                self.fail("a size is missing here")
            self.fail(f"this `{opening.text}` is never closed", opening.position)
        self.fail(f"expected a size, found `{token.text}`")

    def _letter(self, alone: bool) -> Letter:
        token = self.take()
        if token.text in DTYPES or token.text in PLAIN:
            self.fail(f"`{token.text}` cannot be a size", token.position)
        if alone and self.now.text == "=":
            self.take()
            self._state(token)
        return Letter(token.text, token.position)

    def _state(self, letter: Token) -> None:
        if self.now.kind != "integer":
            self.fail(f"the size of `{letter.text}` must be a number, 0 or more")
        size = self.integer()
        before, position = self.stated.setdefault(letter.text, (size, letter.position))
        if before != size:
            self.fail(
                f"`{letter.text}` is {before} at column {position + 1} and {size} here",
                letter.position,
            )
