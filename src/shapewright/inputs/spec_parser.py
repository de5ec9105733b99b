"""Parse the tokens of a spec into nested values, whose sizes are not yet evaluated.

A recursive-descent parser with one method for each rule of the grammar::

    spec    = [item {("," | ";") item}]
    item    = [NAME "="] value
    value   = tensor | list | tuple | dict | size | plain
    tensor  = [DTYPE] "[" [size {"," size}] "]" {"@" device | "!grad" | "=" fill}
    list    = ["list"] "[" value, ... "]"        tuple = "(" value, ... ")"
    dict    = "{" key ":" value, ... "}"         key = string | NAME | integer
    size    = NAME "=" integer | arithmetic on NAMEs and integers with + - * // %
    fill    = "ones" | "zeros" | "arange" | integer ".." integer | numbers
    numbers = number | "[" numbers, ... "]"
    plain   = None | True | False | number | string

Brackets without a dtype are a float32 tensor when they hold sizes only (``[1, 2]``),
and a list otherwise (``[f32[2], 3]``, ``[]``).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, NoReturn
from warnings import catch_warnings, simplefilter

from shapewright.inputs.errors import suggest_name
from shapewright.inputs.spec_syntax import (
    DEVICES,
    DTYPES,
    PRECEDENCE,
    Arithmetic,
    Cursor,
    DividedByZero,
    IntegerRange,
    NamedSize,
    Size,
    StatedSize,
    Token,
    compute_size,
    find_letters,
)

PLAIN = {
    "None": None, "True": True, "False": False,
    "inf": float("inf"), "nan": float("nan"),
}  # fmt: skip
"""Words that are values."""

_FILLS = ("ones", "zeros", "arange")


@dataclass(frozen=True, slots=True)
class Written:
    """A tensor as it is written in a spec."""

    sizes: tuple[Size, ...]
    dtype: str = "float32"
    device: str = "cpu"
    fill: Any = None
    requires_grad: bool = False
    position: int = field(default=0, compare=False)


@dataclass(slots=True)
class _TensorReader(Cursor):
    """A parser of tensors; `stated` maps a letter to its size and position.

    `met` are the letters of tensors, `scalars` those that stand outside of them.
    """

    stated: dict[str, tuple[int, int]] = field(default_factory=dict)
    met: dict[str, int] = field(default_factory=dict)
    scalars: list[NamedSize] = field(default_factory=list)

    def dtype(self) -> str:
        """Read the name of a dtype."""
        token = self.take()
        if token.text not in DTYPES:
            hint = suggest_name(token.text, DTYPES)
            self.fail(f"unknown dtype `{token.text}`{hint}", token.position)
        return DTYPES[token.text]

    def tensor(self, dtype: str) -> Written:
        """Read the sizes of a tensor in brackets, and what follows them."""
        start = self.expect("[")
        sizes: list[Size] = []
        while not self.skip("]"):
            sizes.append(self.size())
            self.between(start, "]")
        for size in sizes:
            for letter in find_letters(size):
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
            hint = suggest_name("cuda" if token.text == "gpu" else token.text, DEVICES)
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
            hint = suggest_name(token.text, _FILLS)
            self.fail(f"unknown values `{token.text}`{hint}")
        return self._element(dtype)

    def _range(self) -> IntegerRange:
        start, low = self.now, self.integer()
        self.expect("..")
        high = self.integer()
        if low >= high:
            self.fail(f"no integer lies in {low}..{high}", start.position)
        return IntegerRange(low, high)

    def _values(self, dtype: str) -> tuple[Any, ...]:
        start, values = self.expect("["), []
        while not self.skip("]"):
            inner = self.now.text == "["
            values.append(self._values(dtype) if inner else self._element(dtype))
            self.between(start, "]")
        return tuple(values)

    def _element(self, dtype: str) -> Any:
        start = self.now
        element = PLAIN[self.take().text] if start.text in PLAIN else self.number()
        whole = "int" in dtype or dtype == "bool"
        if element is None or (isinstance(element, float) and whole):
            self.fail(f"{dtype} cannot hold `{start.text}`", start.position)
        if isinstance(element, NamedSize | Arithmetic | StatedSize):
            self.fail("values are numbers, not letters", start.position)
        return element

    def number(self) -> Any:
        """Read a number, or a size that begins with a number."""
        sign = -1 if self.skip("-") else 1
        if self.now.kind == "float":
            return sign * self.decimal()
        if sign == -1:
            if self.now.text == "inf":
                return -PLAIN[self.take().text]  # type: ignore[operator]
            return -self.integer()
        return self.scalar()

    def scalar(self) -> Any:
        """Read a size that is an input by itself: a number if it has no letters."""
        size = self.size()
        letters = list(find_letters(size))
        self.scalars.extend(letters)
        try:
            return size if letters else compute_size(size, {})
        except DividedByZero as error:
            self.fail("this size divides by zero", error.position)

    def size(self, around: int = 0) -> Size:
        """Read a letter, a number, or arithmetic that binds tighter than `around`."""
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
            return StatedSize(self.integer(), token.position)
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
            opening = self.find_unclosed()
            if opening is None:
                self.fail("a size is missing here")
            self.fail(f"this `{opening.text}` is never closed", opening.position)
        self.fail(f"expected a size, found `{token.text}`")

    def _letter(self, alone: bool) -> NamedSize:
        token = self.take()
        if token.text in DTYPES or token.text in PLAIN:
            self.fail(f"`{token.text}` cannot be a size", token.position)
        if alone and self.now.text == "=":
            self.take()
            self._state(token)
        return NamedSize(token.text, token.position)

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


_FOREIGN = {"none": "None", "null": "None", "true": "True", "false": "False"}
_IN_SIZES = ("=", ",", "+", "-", "*", "//", "%", ")", "(")


@dataclass(slots=True)
class Reader(_TensorReader):
    """A parser of one spec; `positions` holds the position where each input begins."""

    positions: dict[int | str, int] = field(default_factory=dict)

    # The whole spec

    def read(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the positional and keyword inputs of the spec."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        while not self.ended():
            self._item(args, kwargs)
            if not (self.ended() or self.skip(",") or self.skip(";")):
                self.fail(f"expected `,` or the end, found `{self.now.text}`")
        for letter in self.scalars:
            if letter.name not in self.met:
                self._unknown_word(letter)
        return tuple(args), kwargs

    def _item(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        start = self.now
        if start.kind == "name" and self.peek(1).text == "=":
            self.index += 2
            if start.text in kwargs:
                self.fail(f"`{start.text}` is given twice", start.position)
            kwargs[start.text] = self.value()
            self.positions[start.text] = start.position
        elif kwargs:
            last = next(reversed(kwargs))
            self.fail(f"an input without a name comes after `{last}=`")
        else:
            self.positions[len(args)] = start.position
            args.append(self.value())

    # Values

    def value(self) -> Any:
        """Read one input: a tensor, list, tuple, dict, size or plain value."""
        token = self.now
        if token.text in _NESTS:
            return getattr(self, _NESTS[token.text])()
        if token.kind == "string":
            return self._string(self.take())
        if token.kind == "name":
            return self._word()
        if token.kind in ("integer", "float") or token.text == "-":
            return self.number()
        if token.kind == "end":
            self.fail("an input is missing here")
        self.fail(f"expected an input, found `{token.text}`")

    def _word(self) -> Any:
        token, bracket = self.now, self.peek(1).text == "["
        if bracket and token.text == "list":
            self.take()
            return self._items("[", "]")
        if bracket:
            return self.tensor(self.dtype())
        if token.text in PLAIN:
            return PLAIN[self.take().text]
        if token.text in _FOREIGN:
            right = _FOREIGN[token.text]
            self.fail(f"`{token.text}` is not a value; did you mean `{right}`?")
        if token.text in DTYPES:
            self.fail(f"`{token.text}` needs its sizes, as in `{token.text}[2, 3]`")
        return self.scalar()

    def _unknown_word(self, letter: NamedSize) -> NoReturn:
        known = [*self.met, *PLAIN]
        self.fail(
            f"`{letter.name}` is not a value{suggest_name(letter.name, known)}"
            " (text is written in quotes)",
            letter.position,
        )

    def _string(self, token: Token) -> str:
        with catch_warnings():
            simplefilter("ignore")  # "\d" is kept as Python keeps it
            try:
                return str(ast.literal_eval(token.text))
            except (SyntaxError, ValueError):
                self.fail(f"the string {token.text} is not readable", token.position)

    # Nests

    def _bracket(self) -> Any:
        if self._holds_sizes():
            return self.tensor("float32")
        return self._items("[", "]")

    def _holds_sizes(self) -> bool:
        """Return whether the bracket that begins here contains only sizes."""
        inside = 1
        while (token := self.peek(inside)).text != "]":
            size_word = token.kind == "name" and token.text not in (*PLAIN, *_FOREIGN)
            if not (size_word or token.kind == "integer" or token.text in _IN_SIZES):
                return False
            if token.text == "(" and self._begins_tuple(inside):
                return False
            inside += 1
        return inside > 1

    def _begins_tuple(self, inside: int) -> bool:
        if self.peek(inside + 1).text == ")":
            return True
        while (token := self.peek(inside)).text not in (")", "]", ""):
            if token.text == ",":
                return True
            inside += 1
        return False

    def _items(self, opening: str, closing: str) -> list[Any]:
        start = self.expect(opening)
        items: list[Any] = []
        while not self.skip(closing):
            items.append(self.value())
            self.between(start, closing)
        return items

    def _tuple(self) -> Any:
        items = self._items("(", ")")
        single = len(items) == 1 and self.peek(-2).text != ","
        return items[0] if single else tuple(items)

    def _dict(self) -> dict[Any, Any]:
        start, items = self.expect("{"), {}
        while not self.skip("}"):
            key = self._key()
            if key in items:
                self.fail(f"the key `{key}` is given twice", self.peek(-1).position)
            self.expect(":")
            items[key] = self.value()
            self.between(start, "}")
        return items

    def _key(self) -> Any:
        token = self.take()
        if token.kind == "name":
            return token.text
        if token.kind == "string":
            return self._string(token)
        if token.kind == "integer":
            self.index -= 1
            return self.integer()
        self.fail("expected a key: a name, a string or an integer", token.position)


_NESTS = {"[": "_bracket", "(": "_tuple", "{": "_dict"}
