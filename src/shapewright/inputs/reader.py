"""Spec tokens to a nest of what was written, sizes not yet worked out.

Recursive descent, one method per rule of the grammar::

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

from shapewright.inputs.errors import did_you_mean
from shapewright.inputs.lexer import Token
from shapewright.inputs.size import Letter
from shapewright.inputs.tensor import DTYPES
from shapewright.inputs.tensor_reader import PLAIN, TensorReader

_FOREIGN = {"none": "None", "null": "None", "true": "True", "false": "False"}
_IN_SIZES = ("=", ",", "+", "-", "*", "//", "%", ")", "(")


@dataclass(slots=True)
class Reader(TensorReader):
    """Reads one spec; `positions` is where each input begins."""

    positions: dict[int | str, int] = field(default_factory=dict)

    # The whole spec

    def read(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and keyword inputs of the spec."""
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
            self.fail(f"an input without a name stands after `{last}=`")
        else:
            self.positions[len(args)] = start.position
            args.append(self.value())

    # Values

    def value(self) -> Any:
        """One input: a tensor, a nest, a size or a plain value."""
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

    def _unknown_word(self, letter: Letter) -> NoReturn:
        known = [*self.met, *PLAIN]
        self.fail(
            f"`{letter.name}` is not a value{did_you_mean(letter.name, known)}"
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
        """Whether the bracket that begins here holds sizes only."""
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
