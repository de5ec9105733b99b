"""The input elements that an output element reads, as data.

An `IndexMap` describes one output tensor. For the element at `letters`: start from
`start`, go through `loops`, skip the steps whose `conditions` do not hold, take `term`
of the elements that `reads` name, and `combine` the results. Indices are expressions in
the letters, so that a page or another program only has to evaluate them.

Example: `torch.gather(input, 0, index)` with an index of shape (2, 3)::

    i, j = out_letters(2)
    IndexMap((2, 3), (Read("input", (Element("index", (i, j)), j)),))

which is read as `out[i, j] = input[index[i, j], j]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from shapewright.sizes.expressions import Expression, Letter, Value, as_expression
from shapewright.sizes.window_sizes import Window

LETTERS = "ijklmnpqrs"
LOOPS = "uvwxyzabcdefgh"


@dataclass(frozen=True, slots=True)
class Element(Expression):
    """The value of an integer tensor at an index: `index[i, j]`."""

    tensor: str
    indices: tuple[Expression, ...]

    def value(self, letters: Mapping[str, Any]) -> int:
        at = tuple(index.value(letters) for index in self.indices)
        return int(letters[self.tensor](at))

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(index.letters() for index in self.indices))

    def __str__(self) -> str:
        if not self.indices:
            return self.tensor
        return f"{self.tensor}[{', '.join(map(str, self.indices))}]"


@dataclass(frozen=True, slots=True)
class Listed(Expression):
    """An element of a list that is given or computed by the call: `[0, 2][i]`.

    `numbers` are nested tuples, one level for each index.
    """

    numbers: tuple[Any, ...]
    indices: tuple[Expression, ...]

    def value(self, letters: Mapping[str, Any]) -> int:
        item: Any = self.numbers
        for index in self.indices:
            item = item[index.value(letters)]
        return int(item)

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(index.letters() for index in self.indices))

    def __str__(self) -> str:
        return f"{_format_listing(self.numbers)}[{', '.join(map(str, self.indices))}]"


def _format_listing(numbers: Any) -> str:
    """Return a list as text, cut if it is too long."""
    if not isinstance(numbers, tuple):
        return str(numbers)
    shown = [_format_listing(item) for item in numbers[:8]]
    return f"[{', '.join(shown)}{', ...' if len(numbers) > 8 else ''}]"


@dataclass(frozen=True, slots=True)
class Linear:
    """A number that is linear in an expression: `0.5 + 0.25*i`, `10*i/3`.

    `whole` drops the fraction; start, step and divisor are integers then.
    """

    start: float
    step: float
    over: Expression
    divisor: int = 1
    whole: bool = False

    def value(self, letters: Mapping[str, Any]) -> float:
        """Return the number for these values of the letters."""
        grown = self.step * self.over.value(letters)
        if not self.whole:
            return self.start + grown / self.divisor
        exact = self.start * self.divisor + grown
        return abs(exact) // self.divisor * (1 if exact > 0 else -1)

    def __str__(self) -> str:
        size = abs(self.step)
        text = f"{size:.10g}*{self.over}" if size != 1 else str(self.over)
        if self.divisor != 1:
            text += f"/{self.divisor}"
        if self.start:
            text = f"{self.start:.10g} {'-' if self.step < 0 else '+'} {text}"
        elif self.step < 0:
            text = f"-{text}"
        return f"int({text})" if self.whole else text


@dataclass(frozen=True, slots=True)
class Within:
    """A condition: `low <= expression < high`."""

    expression: Expression
    low: int
    high: Value

    def holds(self, letters: Mapping[str, Any]) -> bool:
        """Return whether the condition holds for these values of the letters."""
        high = self.high if isinstance(self.high, int) else self.high.value(letters)
        return self.low <= self.expression.value(letters) < high

    def __str__(self) -> str:
        if self.high == self.low + 1:
            return f"{self.expression} == {self.low}"
        return f"{self.low} <= {self.expression} < {self.high}"


@dataclass(frozen=True, slots=True)
class Equal:
    """A condition: two expressions are equal."""

    left: Expression
    right: Expression

    def holds(self, letters: Mapping[str, Any]) -> bool:
        """Return whether the condition holds for these values of the letters."""
        return self.left.value(letters) == self.right.value(letters)

    def __str__(self) -> str:
        return f"{self.left} == {self.right}"


@dataclass(frozen=True, slots=True)
class AtMost:
    """A condition: one expression is at most another."""

    left: Expression
    right: Expression

    def holds(self, letters: Mapping[str, Any]) -> bool:
        """Return whether the condition holds for these values of the letters."""
        return bool(self.left.value(letters) <= self.right.value(letters))

    def __str__(self) -> str:
        return f"{self.left} <= {self.right}"


Condition = Within | Equal | AtMost


@dataclass(frozen=True, slots=True)
class Read:
    """An element of an input, by the input's name in the call.

    `when` are the conditions under which this read applies, if a map has several to
    choose from.
    """

    tensor: str
    indices: tuple[Expression, ...]
    when: tuple[Condition, ...] = ()

    def applies(self, letters: Mapping[str, Any]) -> bool:
        """Return whether this read applies for these values of the letters."""
        return all(condition.holds(letters) for condition in self.when)

    def __str__(self) -> str:
        if not self.indices:
            return self.tensor
        return f"{self.tensor}[{', '.join(map(str, self.indices))}]"


@dataclass(frozen=True, slots=True)
class CallNumber(Read):
    """A number of the call in place of a read: the 2 of `pow(input[i], 2)`."""

    number: Any = 0

    def __str__(self) -> str:
        exact = type(self.number) is not float
        return str(self.number) if exact else f"{self.number:.6g}"


def constant(number: Any, when: tuple[Condition, ...] = ()) -> CallNumber:
    """Return a number that takes the place of a read."""
    return CallNumber("", (), when, number)


Options = tuple[tuple[str, Any], ...]
"""Keyword arguments of a function, as data."""


@dataclass(frozen=True, slots=True)
class Then:
    """A function applied afterwards to the value so far and to the elements read."""

    function: str
    reads: tuple[Read, ...] = ()
    options: Options = ()


@dataclass(frozen=True, slots=True)
class Loop:
    """A letter that runs through `size` integers from 0."""

    letter: str
    size: int


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers that the operator computes itself, such as weights, as nested tuples."""

    name: str
    values: tuple[Any, ...]

    def element(self, at: tuple[int, ...]) -> Any:
        """Return the number at an index."""
        item: Any = self.values
        for place in at:
            item = item[place]
        return item


@dataclass(frozen=True, slots=True)
class IndexMap:
    """How each element of one output is computed. See the module's docstring.

    `term` is "copy" (the first read that applies; a step without any does not count),
    "product" of all reads, or the name of a torch function of them ("add"). `combine`
    is "last" (a later step replaces an earlier step; without loops there is one step),
    "sum", or the name of a function of all steps ("amax", "softmax"), whose result is
    taken at the index `at` if it has several. `start` is the value before the first
    step: a read, a number, or None; `scale` divides a sum. `options` are keyword
    arguments of the function that `term` names, or else of the function that `combine`
    names: "topk.indices" is that part of its result. The result goes through the
    functions of `then`, one after the other. `value` is the value of a step if there is
    nothing to read (`arange`, `eye`).

    `windows` are those that slide along the spatial dims, for the size formulas, and
    `sizing` is the formula: "slide", "average", if there is no dilation, or "spread",
    as in a transposed convolution. `stages` are intermediate tensors, each computed by
    a map of its own from the inputs and the stages before it; reads name them as they
    name inputs.

    `missing` is the value of a step to which no read applies, so that it counts.
    `truncated` drops the fraction of the result. `gives` is the result for the step
    that `combine` chose ("argmax"), in place of its number. `tables` are read like
    tensors, by their names. `sizes` has the name of the size that a letter runs
    through, if the user gave it any: ``("b", "B")``.
    """

    shape: tuple[int, ...]
    reads: tuple[Read, ...]
    loops: tuple[Loop, ...] = ()
    conditions: tuple[Condition, ...] = ()
    term: str = "copy"
    combine: str = "last"
    start: Read | float | None = None
    scale: int | None = None
    at: Expression | None = None
    value: Expression | Linear | float | None = None
    letters: tuple[str, ...] = field(default=())
    sentence: str = ""
    options: Options = ()
    then: tuple[Then, ...] = ()
    missing: float | None = None
    truncated: bool = False
    gives: Expression | None = None
    tables: tuple[Table, ...] = ()
    stages: tuple[Stage, ...] = ()
    windows: tuple[Window, ...] = ()
    sizing: str = "slide"
    sizes: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.letters:
            object.__setattr__(self, "letters", tuple(LETTERS[: len(self.shape)]))
        assert len(self.letters) == len(self.shape)

    def named(self, index: Sequence[int]) -> dict[str, Any]:
        """Return the values of the output letters at an output index."""
        return dict(zip(self.letters, index, strict=True))

    def steps(self, letters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the values of all letters for each step of the loops that applies."""
        names = [loop.letter for loop in self.loops]
        for at in product(*(range(loop.size) for loop in self.loops)):
            step = {**letters, **dict(zip(names, at, strict=True))}
            if all(condition.holds(step) for condition in self.conditions):
                yield step


@dataclass(frozen=True, slots=True)
class Stage:
    """An intermediate tensor and its map, such as attention's scores."""

    name: str
    map: IndexMap


def out_letters(rank: int) -> tuple[Letter, ...]:
    """Return the letters of an output's dims: `i, j, k, ...`."""
    return tuple(Letter(name) for name in LETTERS[:rank])


def loop_letters(*sizes: int) -> tuple[tuple[Loop, ...], tuple[Letter, ...]]:
    """Return loops of the given sizes and their letters: `u, v, w, ...`."""
    loops = tuple(Loop(LOOPS[n], size) for n, size in enumerate(sizes))
    return loops, tuple(Letter(loop.letter) for loop in loops)


def _read(tensor: str, *indices: Value, when: tuple[Condition, ...] = ()) -> Read:
    """Return a read whose indices may include numbers."""
    return Read(tensor, tuple(as_expression(index) for index in indices), when)


Maker = Callable[..., Any]
SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "true_divide": "/", "pow": "**",
    "floor_divide": "//", "remainder": "%", "eq": "==", "ne": "!=", "lt": "<",
    "le": "<=", "gt": ">", "ge": ">=", "logical_and": "and", "logical_or": "or",
}  # fmt: skip
"""Functions of index maps that are written with a sign."""

MAPS: dict[str, Maker] = {}
"""Functions that make index maps, by dotted torch name. See `index_map`."""


def index_map(*names: str) -> Callable[[Maker], Maker]:
    """Register the decorated function, which returns the index map of `names`.

    It mirrors the torch function's signature, with metadata (`.shape`, `.dtype`) where
    the call has a tensor, and returns one `IndexMap` or a tuple of them, one for each
    output, or `NotDrawn` with a reason. A call that torch refuses never comes here. A
    tensor is named in the map as the maker's parameter is; the items of a list of
    tensors as `tensors.0`, `tensors.1`.
    """

    def register(make: Maker) -> Maker:
        for name in names:
            assert name not in MAPS, f"two maps for {name}"
            MAPS[name] = make
        return make

    return register


@dataclass(frozen=True, slots=True)
class NotDrawn:
    """The reason why a call has no index map."""

    reason: str
