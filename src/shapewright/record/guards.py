"""Guards: the comparisons of sizes by which a program chose its path.

    >>> height = Read(tensor=3, dim=2, value=30)
    >>> guard = Guard(Applied("%", (height, 8)), "!=", 0, True, None)
    >>> str(guard)
    't3.shape[2] % 8 != 0: true'
    >>> evaluate_guard(guard, {height: 32})
    False

An expression is a number, a `SizeRead`, or an operator applied to expressions; with
other values for its reads it says what the program would have compared.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shapewright.program.assertions import AssertedComparison
from shapewright.program.spans import Span


@dataclass(frozen=True, slots=True)
class SizeRead:
    """A size that the program read, such as ``x.shape[2]`` of a numbered tensor.

    `tensor` is the number that `Fact.tensor` has in the same trace, negative where the
    trace has no such tensor; `value` is the size.
    """

    tensor: int
    dim: int
    value: int

    def __str__(self) -> str:
        return f"t{self.tensor}.shape[{self.dim}]"


@dataclass(frozen=True, slots=True)
class Applied:
    """An operator or function with its operands: ``t3.shape[2] // 2``."""

    operator: str
    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        if self.operator not in BINDS:
            return f"{self.operator}({', '.join(map(str, self.parts))})"
        if len(self.parts) == 1:
            return f"{self.operator}{_enclose_operand(self.parts[0], UNARY)}"
        return self.between(*self.parts)

    def between(self, left: Expression, right: Expression) -> str:
        """Return the text with the operator between the two operands."""
        symbol = self.operator
        if symbol == "+" and isinstance(right, int) and right < 0:
            symbol, right = "-", -right
        binds = BINDS[symbol]
        first = _enclose_operand(left, binds + (symbol == "**"))
        return f"{first} {symbol} {_enclose_operand(right, binds + (symbol != '**'))}"


Expression = SizeRead | Applied | int | float

UNARY = 6
BINDS = {
    "|": 0, "^": 1, "&": 2, "<<": 3, ">>": 3, "+": 4, "-": 4,
    "*": 5, "/": 5, "//": 5, "%": 5, "~": UNARY, "**": 7,
}  # fmt: skip
"""Precedence of Python's operators; others are written as function calls."""


def _enclose_operand(part: Expression, binds: int) -> str:
    """Return an operand as text, in parentheses if needed."""
    if isinstance(part, Applied):
        unary = len(part.parts) == 1
        own = UNARY if unary else BINDS.get(part.operator, binds)
        return f"({part})" if own < binds else str(part)
    return f"({part})" if not isinstance(part, SizeRead) and part < 0 else str(part)


COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq,
    "!=": operator.ne, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip

EXPONENT = 4096
"""Largest exponent for which a power is calculated."""


def _bound_digits(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Wrap a power or shift so that it raises an error instead of computing thousands
    of digits.
    """

    def applied(base: Any, exponent: Any) -> Any:
        if exponent > EXPONENT:
            raise OverflowError("the exponent is too great")
        return apply(base, exponent)

    return applied


APPLIED: dict[str, Callable[..., Any]] = {
    "+": operator.add, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": _bound_digits(operator.pow),
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": _bound_digits(operator.lshift), ">>": operator.rshift, "~": operator.invert,
    "abs": abs, "floor": math.floor, "ceil": math.ceil, "int": int, "float": float,
    "round": round, "sqrt": math.sqrt, "isqrt": math.isqrt, "log": math.log,
    "log2": math.log2, "log10": math.log10, "exp": math.exp, "pow": math.pow,
    "gcd": math.gcd, "lcm": math.lcm, "bit_length": int.bit_length,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Guard:
    """A comparison that a program performed, and its outcome.

    Example: ``assert T <= self.block_size`` with 16 of 1024 tokens is
    ``Guard(Read(1, 1, 16), "<=", 1024, True, span)``. A truth test (``if H % 8:``) is
    a comparison with ``!= 0``. `count` is how often it was made, with these reads, at
    this place. `demand` says that the program raises where it comes out the other way.
    """

    left: Expression
    operator: str
    right: Expression
    outcome: bool
    span: Span | None
    count: int = 1
    demand: AssertedComparison | None = None

    def __str__(self) -> str:
        comparison = (
            f"{self.left} {self.operator} {self.right}: {str(self.outcome).lower()}"
        )
        return comparison if self.span is None else f"{self.span}: {comparison}"


@dataclass(frozen=True, slots=True)
class LostSize:
    """A place where a size became a plain number, so that later comparisons are
    hidden.
    """

    what: str
    span: Span | None
    count: int = 1


@dataclass(frozen=True, slots=True)
class Guards:
    """The guards of a run that tracked sizes, or the reason why there are none.

    `guards` stand in the program and its libraries, `in_torch` in torch's own Python.
    `lost` are the places behind which comparisons may be missing. `reason` says why
    nothing is known; None where the run did what it does unwatched.
    """

    guards: tuple[Guard, ...] = ()
    in_torch: tuple[Guard, ...] = ()
    lost: tuple[LostSize, ...] = ()
    reason: str | None = None


def evaluate_expression(expression: Expression, values: Mapping[SizeRead, int]) -> Any:
    """Evaluate an expression with these values of reads; others keep their own.

    Raises what Python raises: `ZeroDivisionError` for ``7 // 0``.
    """
    if isinstance(expression, SizeRead):
        return values.get(expression, expression.value)
    if not isinstance(expression, Applied):
        return expression
    parts = [evaluate_expression(part, values) for part in expression.parts]
    if expression.operator == "-":
        return -parts[0] if len(parts) == 1 else parts[0] - parts[1]
    return APPLIED[expression.operator](*parts)


def evaluate_guard(guard: Guard, values: Mapping[SizeRead, int]) -> bool:
    """Evaluate the comparison with these values of the reads."""
    left, right = (
        evaluate_expression(side, values) for side in (guard.left, guard.right)
    )
    return bool(COMPARED[guard.operator](left, right))


def iter_reads(*expressions: Expression) -> Iterator[SizeRead]:
    """Yield every read in the expressions, each once."""
    yield from dict.fromkeys(
        leaf for expression in expressions for leaf in _iter_leaves(expression)
    )


def _iter_leaves(expression: Expression) -> Iterator[SizeRead]:
    """Yield the reads in an expression from left to right."""
    if isinstance(expression, SizeRead):
        yield expression
    elif isinstance(expression, Applied):
        for part in expression.parts:
            yield from _iter_leaves(part)


def replace_reads(
    expression: Expression, change: Callable[[SizeRead], SizeRead]
) -> Expression:
    """Return the expression with its reads replaced."""
    if isinstance(expression, SizeRead):
        return change(expression)
    if not isinstance(expression, Applied):
        return expression
    parts = tuple(replace_reads(part, change) for part in expression.parts)
    return Applied(expression.operator, parts)
