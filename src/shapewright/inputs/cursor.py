"""A place in the tokens of a spec, moved forward by those who read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from shapewright.inputs.errors import InputError
from shapewright.inputs.lexer import Token, tokens


@dataclass(slots=True)
class Cursor:
    """The tokens of one spec and how many of them were read."""

    text: str
    ahead: list[Token] = field(init=False)
    index: int = 0

    def __post_init__(self) -> None:
        self.ahead = tokens(self.text)

    @property
    def now(self) -> Token:
        """The token to be read next."""
        return self.ahead[self.index]

    def ended(self) -> bool:
        """Whether every token was taken."""
        return self.now.kind == "end"

    def peek(self, distance: int) -> Token:
        """The token `distance` ahead; the end token beyond the end."""
        return self.ahead[min(self.index + distance, len(self.ahead) - 1)]

    def take(self) -> Token:
        """The next token, taken."""
        token = self.now
        self.index = min(self.index + 1, len(self.ahead) - 1)
        return token

    def skip(self, symbol: str) -> bool:
        """Take the next token if it is `symbol`."""
        found = self.now.text == symbol and self.now.kind == "symbol"
        if found:
            self.take()
        return found

    def expect(self, symbol: str) -> Token:
        """Take `symbol`, or say that it is missing."""
        token = self.now
        if not self.skip(symbol):
            found = f"`{token.text}`" if token.kind != "end" else "the end"
            self.fail(f"expected `{symbol}`, found {found}")
        return token

    def integer(self) -> int:
        """Take an integer."""
        token = self.take()
        try:
            return int(token.text)
        except ValueError:
            self.fail(f"`{token.text}` is not an integer", token.position)

    def decimal(self) -> float:
        """Take a number with a point or an exponent."""
        token = self.take()
        try:
            return float(token.text)
        except ValueError:
            self.fail(f"`{token.text}` is not a number", token.position)

    def between(self, start: Token, closing: str) -> None:
        """After one item: a comma, or the closing bracket not yet taken."""
        if self.now.text == closing or self.skip(","):
            return
        if self.now.kind == "end":
            self.fail(f"this `{start.text}` is never closed", start.position)
        self.fail(f"expected `,` or `{closing}`, found `{self.now.text}`")

    def unclosed(self) -> Token | None:
        """The innermost bracket, of all tokens, that is never closed."""
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
