"""Whole numbers and fractions that remember of which sizes they were made.

They are `int` and `float` in every respect but `type()`. What is calculated from them
remembers too, and how they compare goes to the `Comparisons` of the run. Once that is
closed, they are plain numbers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Protocol

from shapewright.record.guards import COMPARED, Applied, Expression, SizeRead


class _Watcher(Protocol):
    """Receives the comparisons of sizes as long as its run is `open`."""

    open: bool

    def compared(
        self, left: Expression, operator: str, right: Expression, outcome: bool
    ) -> None: ...

    def hashed(self) -> None: ...

    def lose(self, what: str) -> None: ...

    def meet(self) -> None: ...


def _build_expression(
    symbol: str, parts: tuple[Expression, ...], whole: bool
) -> Expression:
    """Apply the operator; merge numbers that are added or multiplied in a row.

    `while h > 4: h = h - 2` makes ``h - 6``, not ``h - 2 - 2 - 2``. Only of whole
    numbers: fractions would round otherwise.
    """
    if not whole or len(parts) != 2:
        return Applied(symbol, parts)
    left, right = parts
    if symbol == "-" and isinstance(right, int):
        symbol, right = "+", -right
    if symbol in ("+", "*") and isinstance(left, int):
        left, right = right, left
    if symbol in IN_A_ROW and isinstance(right, int) and isinstance(left, Applied):
        inner, number = left.parts[0], left.parts[-1]
        above = symbol != "//" or right > 0
        if left.operator == symbol and isinstance(number, int) and above:
            left, right = inner, IN_A_ROW[symbol](number, right)
    neutral = {"+": 0, "*": 1, "//": 1}.get(symbol)
    return left if right == neutral else Applied(symbol, (left, right))


IN_A_ROW: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "*": operator.mul, "//": operator.mul,
}  # fmt: skip


LONGEST = 64
"""Operators in the longest expression; what is longer becomes a plain number."""


class _TrackedSize(int):
    """A size that the program read, or an integer computed from sizes."""

    expression: Expression
    seen: _Watcher
    length: int

    def __hash__(self) -> int:
        self.seen.hashed()
        return int.__hash__(self)

    def __bool__(self) -> bool:
        outcome = int.__bool__(self)
        self.seen.compared(self.expression, "!=", 0, outcome)
        return outcome

    def __int__(self) -> int:
        self.seen.lose("int()")
        return int.__int__(self)

    def __float__(self) -> float:
        self.seen.lose("float()")
        return int.__float__(self)

    def __deepcopy__(self, memo: Any) -> _TrackedSize:
        return self

    def __copy__(self) -> _TrackedSize:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return int, (to_plain(self),)

    def bit_length(self) -> int:
        return track_result("bit_length", int.bit_length(self), self)  # type: ignore[no-any-return]


class _TrackedNumber(float):
    """A fraction computed from sizes that the program read: ``H / 2``."""

    expression: Expression
    seen: _Watcher
    length: int

    def __hash__(self) -> int:
        self.seen.hashed()
        return float.__hash__(self)

    def __bool__(self) -> bool:
        outcome = float.__bool__(self)
        self.seen.compared(self.expression, "!=", 0, outcome)
        return outcome

    def __int__(self) -> int:
        self.seen.lose("int()")
        return float.__int__(self)

    def __float__(self) -> float:
        self.seen.lose("float()")
        return float.__float__(self)

    def __deepcopy__(self, memo: Any) -> _TrackedNumber:
        return self

    def __copy__(self) -> _TrackedNumber:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return float, (to_plain(self),)

    def is_integer(self) -> bool:
        outcome = float.is_integer(self)
        whole = Applied("%", (self.expression, 1))
        self.seen.compared(whole, "==", 0, outcome)
        return outcome


KINDS = (_TrackedSize, _TrackedNumber)


def to_plain(value: Any) -> Any:
    """Return the plain number of a tracked number, or any other value unchanged."""
    if type(value) is _TrackedSize:
        return int.__int__(value)
    return float.__float__(value) if type(value) is _TrackedNumber else value


def track_number(
    value: Any, expression: Expression, length: int, seen: _Watcher
) -> Any:
    """Return a number that keeps its expression."""
    kind = _TrackedSize if type(value) is int else _TrackedNumber
    number = kind(value)
    number.expression, number.length, number.seen = expression, length, seen
    return number


def track_result(symbol: str, value: Any, *parts: Any) -> Any:
    """Return the tracked result of an operator on numbers, at least one tracked."""
    seen = _find_record(*parts)
    if seen is None or type(value) not in (int, float):
        return value
    seen.meet()
    length = 1 + sum(getattr(part, "length", 0) for part in parts)
    if length > LONGEST:
        seen.lose(f"more than {LONGEST} operators")
        return value
    whole = all(isinstance(part, int) for part in parts)
    expression = _build_expression(symbol, tuple(map(_get_expression, parts)), whole)
    if not isinstance(expression, Applied | SizeRead):
        return value
    return track_number(value, expression, length, seen)


def _find_record(*parts: Any) -> _Watcher | None:
    """Return the record of the run that these numbers belong to, if it is running."""
    for part in parts:
        if type(part) in KINDS and part.seen.open:
            return part.seen  # type: ignore[no-any-return]
    return None


def _get_expression(number: Any) -> Any:
    """Return the expression of a number, or None for any other value."""
    if type(number) in KINDS:
        return number.expression if number.seen.open else to_plain(number)
    if isinstance(number, int):
        return int.__int__(number)
    if isinstance(number, float):
        return float.__float__(number)
    if isinstance(number, Real):  # numpy's
        return int(number) if isinstance(number, Integral) else float(number)
    return None


# -- what Python calls ---------------------------------------------------------


def _make_comparison(symbol: str) -> Callable[[Any, Any], Any]:
    """Return a comparison such as `a < b` that is recorded if both are numbers."""
    compare = COMPARED[symbol]

    def method(self: Any, other: Any) -> Any:
        outcome = compare(to_plain(self), to_plain(other))
        right = _get_expression(other)
        seen = _find_record(self, other)
        if right is not None and seen is not None:
            seen.compared(_get_expression(self), symbol, right, bool(outcome))
        return outcome

    return method


def _make_forward(symbol: str, apply: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return an operator `a + b` whose first operand is tracked."""

    def method(self: Any, other: Any) -> Any:
        return track_result(symbol, apply(to_plain(self), to_plain(other)), self, other)

    return method


def _make_backward(symbol: str, apply: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return an operator `b + a` of which only the second operand is tracked."""

    def method(self: Any, other: Any) -> Any:
        return track_result(symbol, apply(to_plain(other), to_plain(self)), other, self)

    return method


def _make_single(symbol: str, apply: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return an operator such as `-a`, `abs(a)` or `math.floor(a)`."""
    return lambda self: track_result(symbol, apply(to_plain(self)), self)


def _keep_number(self: Any) -> Any:
    """Return an operator that leaves an integer unchanged: `+a`, `math.floor(a)`."""
    return self


def _round_number(self: Any, digits: Any = None) -> Any:
    """Return `round(a)` or `round(a, 2)`."""
    if digits is None:
        return track_result("round", round(to_plain(self)), self)
    return track_result("round", round(to_plain(self), digits), self, digits)


def _raise_number(self: Any, other: Any, modulus: Any = None) -> Any:
    """Return `a ** b`."""
    if modulus is not None:
        return pow(to_plain(self), to_plain(other), to_plain(modulus))
    return track_result("**", to_plain(self) ** to_plain(other), self, other)


def _divide_number(self: Any, other: Any) -> Any:
    """Return `divmod(a, b)`."""
    return _track_halves(divmod(to_plain(self), to_plain(other)), self, other)


def _divide_by_number(self: Any, other: Any) -> Any:
    """Return `divmod(b, a)`."""
    return _track_halves(divmod(to_plain(other), to_plain(self)), other, self)


def _track_halves(halves: Any, left: Any, right: Any) -> Any:
    """Return the quotient and the remainder, both tracked."""
    if not isinstance(halves, tuple):
        return halves
    return track_result("//", halves[0], left, right), track_result(
        "%", halves[1], left, right
    )


ORDERS = {order.__name__: sign for sign, order in COMPARED.items()}
ARITHMETIC = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
}  # fmt: skip
BITS = {"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}
APPLY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip


BOTH: dict[str, Callable[..., Any]] = {
    "__neg__": _make_single("-", operator.neg),
    "__pos__": _keep_number,
    "__abs__": _make_single("abs", abs),
    "__round__": _round_number,
    "__pow__": _raise_number,
    "__rpow__": _make_backward("**", operator.pow),
    "__divmod__": _divide_number,
    "__rdivmod__": _divide_by_number,
}
WHOLE: dict[str, Callable[..., Any]] = {
    "__invert__": _make_single("~", operator.invert),
    "__floor__": _keep_number,
    "__ceil__": _keep_number,
    "__trunc__": _keep_number,
}
FRACTION: dict[str, Callable[..., Any]] = {
    "__floor__": _make_single("floor", math.floor),
    "__ceil__": _make_single("ceil", math.ceil),
    "__trunc__": _make_single("int", math.trunc),
}


def _add_operators(
    kind: type, symbols: dict[str, str], methods: dict[str, Callable[..., Any]]
) -> None:
    """Add the operators to a class of numbers."""
    for name, symbol in ORDERS.items():
        setattr(kind, f"__{name}__", _make_comparison(symbol))
    for name, symbol in symbols.items():
        setattr(kind, f"__{name}__", _make_forward(symbol, APPLY[symbol]))
        setattr(kind, f"__r{name}__", _make_backward(symbol, APPLY[symbol]))
    for name, method in methods.items():
        setattr(kind, name, method)


_TrackedSize.__name__ = _TrackedSize.__qualname__ = "int"  # as errors name it
_TrackedNumber.__name__ = _TrackedNumber.__qualname__ = "float"
_add_operators(_TrackedSize, ARITHMETIC | BITS, BOTH | WHOLE)
_add_operators(_TrackedNumber, ARITHMETIC, BOTH | FRACTION)
