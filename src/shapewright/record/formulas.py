"""The sizes at which formulas hold, and the named integers of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from shapewright.program.spans import Span


@dataclass(frozen=True, slots=True)
class Checked:
    """The range of sizes of a letter for which formulas were checked.

    Every size from `low` to `high` in steps of `step` from `low`, inclusive.
    """

    low: int
    high: int
    step: int = 1

    def holds(self, size: int) -> bool:
        """Return whether a size is in the range."""
        return self.low <= size <= self.high and (size - self.low) % self.step == 0

    def text(self, letter: str) -> str:
        """Return text such as ``1 <= T <= 1024``, ``H in 64, 96 .. 256``, ``B = 1``."""
        if self.low == self.high:
            return f"{letter} = {self.low}"
        if self.step == 1:
            return f"{self.low} <= {letter} <= {self.high}"
        return f"{letter} in {self.low}, {self.low + self.step} .. {self.high}"


@dataclass(frozen=True, slots=True)
class Branch:
    """A line after which the program takes a different path at some sizes."""

    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """A constant in formulas for which the program has a name.

    `name` is that of an attribute, or how the program computes the number from some:
    ``n_embd // n_head``. `module` is the path of the first module that tells it.
    """

    value: int
    name: str
    module: str


@dataclass(frozen=True, slots=True)
class Formulas:
    """The letters of a trace and the evidence for its formulas.

    `letters` are those that were varied, with the sizes that formulas hold for; `runs`
    counts the runs at different sizes that every formula agrees with, `derived` the
    sizes at which rules said of every call what the formulas say; `varying` says of
    each letter `v1`, `v2`, ... that stands for a size without a formula what was seen;
    `names` are the constants that the program has one name for.
    """

    letters: Mapping[str, Checked]
    runs: int
    tried: int = 0
    derived: int = 0
    varying: Mapping[str, Branch] = field(default_factory=dict)
    branches: Sequence[Branch] = ()
    names: Sequence[Named] = ()

    @property
    def exact(self) -> bool:
        """Return whether rules or runs covered every size of the range."""
        sizes = prod(
            (letter.high - letter.low) // letter.step + 1
            for letter in self.letters.values()
        )
        return self.derived > 0 and self.derived + self.runs >= sizes

    def text(self) -> str:
        """Return a line such as ``1 <= B <= 16, 1 <= T <= 64; checked at 10 sizes``.

        ``; exact: by rules at all 64 sizes, 4 of them run`` where none is left out.
        """
        ranges = ", ".join(letter.text(name) for name, letter in self.letters.items())
        if self.exact:
            sizes = self.derived + self.runs
            statement = f"exact: by rules at all {sizes} sizes, {self.runs} of them run"
            return f"{ranges}; {statement}"
        rules = f", by rules at {self.derived} more" if self.derived else ""
        return f"{ranges}; checked at {self.runs} sizes{rules}"


@dataclass(frozen=True, slots=True)
class ModuleNumbers:
    """The named integers of a module of the program.

    `classes` are its class and those above it; `own` are its attributes, `configs`
    those of the objects that it keeps as `config` or under a like name.
    """

    classes: tuple[str, ...]
    own: Mapping[str, int]
    configs: Mapping[str, Mapping[str, int]]
