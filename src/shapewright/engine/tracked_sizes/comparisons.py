"""Comparisons of sizes, each at its line; stand-ins for functions that forget sizes.

Python makes plain numbers of what these return. While sizes are watched, modules that
have to do with sizes find our own under these names, which do the same and remember.
"""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any

from shapewright.engine.call_sites import (
    OURS,
    TORCH,
    USER,
    Positions,
    Sites,
    get_source,
)
from shapewright.engine.replacement import copy_attributes
from shapewright.engine.tracked_sizes.numbers import KINDS, to_plain, track_result
from shapewright.program.assertions import AssertedComparison, find_demand_at
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.record.guards import (
    Expression,
    Guard,
    Guards,
    LostSize,
    SizeRead,
    replace_reads,
)

if TYPE_CHECKING:
    from shapewright.engine.identity import Info


class StandInType(type):
    """The metaclass of a stand-in for `int` or `float` that claims to be that class."""

    stands_for: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and type(args[0]) in KINDS:
            return _convert_number(cls.stands_for, args[0])
        return cls.stands_for(*args, **kwargs)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.stands_for)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls.stands_for)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.stands_for

    def __hash__(cls) -> int:
        return hash(cls.stands_for)

    def __repr__(cls) -> str:
        return repr(cls.stands_for)

    @property
    def dtype(cls) -> Any:
        """Return the attribute that NumPy reads on a class that it does not know."""
        return sys.modules["numpy"].dtype(cls.stands_for)


def _convert_number(kind: type, number: Any) -> Any:
    """Convert as `int(h / 2)` and `float(h)` do, unless it has that type already."""
    if isinstance(number, kind):
        return number
    return track_result(kind.__name__, kind(to_plain(number)), number)


class _Whole(int, metaclass=StandInType):
    """The stand-in for `int`."""


class _Fraction(float, metaclass=StandInType):
    """The stand-in for `float`."""


STANDING: dict[str, Any] = {"int": _Whole, "float": _Fraction}
for _name, _kind in STANDING.items():
    _kind.__name__ = _kind.__qualname__ = _name
    _kind.stands_for = getattr(builtins, _name)


def _make_remembering(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of numbers whose result is tracked if an argument is."""

    def call(*args: Any) -> Any:
        value = function(*map(to_plain, args))
        known = any(type(argument) in KINDS for argument in args)
        return track_result(name, value, *args) if known else value

    call.__name__ = name
    return call


FUNCTIONS = {
    function: _make_remembering(name, function)
    for name in "sqrt isqrt log log2 log10 exp gcd lcm pow".split()
    for function in [getattr(math, name)]
}


class _Names:
    """The modules in which names were replaced, with the values that the names had."""

    def __init__(self) -> None:
        self.before: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}

    def furnish(self, space: dict[str, Any]) -> None:
        """Put the stand-ins into a module of the program, once."""
        if id(space) in self.before:
            return
        stand_ins = {name: ours for name, ours in STANDING.items() if name not in space}
        for name, value in list(space.items()):
            if type(value) is BUILTIN and value in FUNCTIONS:
                stand_ins[name] = FUNCTIONS[value]
        kept = {name: space[name] for name in stand_ins if name in space}
        self.before[id(space)] = space, kept
        space.update(stand_ins)

    def put_back(self) -> None:
        """Restore each name, unless the program has set it in the meantime."""
        for space, kept in self.before.values():
            for name, value in list(space.items()):
                if name in kept and value is FUNCTIONS.get(kept[name]):
                    space[name] = kept[name]
                elif value is STANDING.get(name, space):
                    del space[name]
        self.before.clear()


BUILTIN = type(math.sqrt)


@contextmanager
def replace_functions(
    names: _Names, length: Callable[[Any, int], int]
) -> Iterator[None]:
    """Replace the names during a run; `length` returns the `len` of a tensor."""
    original = builtins.len

    def len(value: Any, /) -> int:
        return length(value, original(value))

    builtins.len = copy_attributes(len, original)
    for function, ours in FUNCTIONS.items():
        setattr(math, ours.__name__, copy_attributes(ours, function))
    try:
        yield
    finally:
        if builtins.len is len:
            builtins.len = original
        for function, ours in FUNCTIONS.items():
            if getattr(math, ours.__name__) is ours:
                setattr(math, ours.__name__, function)
        names.put_back()


Sides = tuple[Expression, str, Expression, bool]

PER_PLACE = 64
"""Different comparisons that are kept of one place: a loop over positions has many."""


@dataclass(frozen=True, slots=True)
class Watching:
    """The options for watching the sizes that the program reads in a run.

    Without `stand_ins`, `int(h / 2)` and `len(x)` are plain numbers, as Python has it.
    With `own`, reads keep the numbers that tensors had in the run, not in its record.
    """

    stand_ins: bool = True
    own: bool = False


@dataclass(frozen=True, slots=True)
class WatchedCalls:
    """What a watched run provides in addition to its record; see `engine/recipes`.

    `recipe` says how to work it out at other sizes, or is None; `places` which output
    of which call a tensor of a number first was, -1 for what was given, and `output`
    the same of what was returned; `slices` are calls with constant ends of slices, each
    with the number of the tensor it cuts.
    """

    recipe: Any
    places: dict[int, tuple[int, int]]
    slices: list[tuple[int, int, tuple[int, ...]]]
    output: list[tuple[int, int]]


class Comparisons:
    """The comparisons of a run, kept until its tensors have numbers in the record."""

    def __init__(self, stand_ins: bool = False) -> None:
        self.open = True
        self.names = _Names() if stand_ins else None
        self.sites = Sites()
        self.made: dict[tuple[int, int], dict[Sides, int]] = {}
        self.lost: dict[tuple[str, tuple[int, int]], int] = {}
        self.places: dict[tuple[int, int], tuple[CodeType, bool]] = {}
        self.asked: tuple[int, int] | None = None  # where a size was hashed last
        self.full = False  # some comparisons are not kept
        self.events: Sequence[Any] = ()
        self.given: tuple[Any, ...] = ()  # what is known of the tensors that go in
        self.order: list[tuple[int, Sides]] = []  # before which call it was made
        self.arguments: dict[int, Any] = {}  # with memory, by number of the call

    def compared(
        self, left: Expression, operator: str, right: Expression, outcome: bool
    ) -> None:
        """Record a comparison, unless it is part of a dict or set lookup."""
        place = self.place()
        if place is None or (operator == "==" and place == self.asked):
            return
        here = self.made.setdefault(place, {})
        sides = left, operator, right, outcome
        if sides in here or len(here) < PER_PLACE:
            if sides not in here:
                self.order.append((len(self.events), sides))
            here[sides] = here.get(sides, 0) + 1
        else:
            self.full = True
            self.lose(f"more than {PER_PLACE} different comparisons")

    def begin(self, events: Sequence[Any], inputs: tuple[Info, ...]) -> None:
        """Note that the run is about to begin on the tensors in `inputs`."""
        self.events = events
        self.given = inputs

    def hashed(self) -> None:
        """Note that a size is looked up in a dict or a set."""
        if self.open:
            self.asked = self.place()

    def lose(self, what: str, far: bool = False) -> None:
        """Note that a size becomes a plain number here, below the engine if `far`."""
        place = self.place(far)
        if place is not None:
            self.lost[what, place] = self.lost.get((what, place), 0) + 1

    def enter(self, function: FunctionType) -> None:
        """Prepare the module of a function of the program that is about to run."""
        if self.names is not None and self.sites.kind_of(function.__code__) == USER:
            self.names.furnish(function.__globals__)

    def meet(self) -> None:
        """Put stand-ins into the module that reads sizes or computes with them."""
        frame: FrameType | None = sys._getframe(2) if self.names else None
        while frame is not None and self.sites.kind_of(frame.f_code) != USER:
            frame = frame.f_back
        if frame is not None and self.names is not None:
            self.names.furnish(frame.f_globals)

    def place(self, far: bool = False) -> tuple[int, int] | None:
        """Return the running line of the program, or of torch.

        Python's own modules act for whom they were called by; we do not count.
        """
        if not self.open:
            return None
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename.startswith(NUMBERS):
            frame = frame.f_back
        while frame is not None:
            code = frame.f_code
            if code.co_filename.startswith(OURS) and not far:
                return None
            torch = code.co_filename.startswith(TORCH)
            if torch or self.sites.kind_of(code) == USER:
                place = id(code), frame.f_lasti
                self.places[place] = code, torch
                return place
            frame = frame.f_back
        return None

    def close(self, folder: str, number_of: Callable[[int], int]) -> Guards:
        """Stop watching and return what was seen, with the record's tensor numbers."""
        self.open = False
        return _Told(self, folder, number_of).guards()


NUMBERS = __file__.removesuffix("comparisons.py")


class _Told:
    """The conversion of the kept comparisons into guards with spans."""

    def __init__(
        self, seen: Comparisons, folder: str, number_of: Callable[[int], int]
    ) -> None:
        self.seen = seen
        self.number_of = number_of
        files = {code.co_filename for code, _ in seen.places.values()}
        texts = {name: get_source(name) for name in files}
        sources = {name: source for name, source in texts.items() if source}
        self.positions = Positions(folder, sources)

    def guards(self) -> Guards:
        """Return all guards, in the order in which their places were first reached."""
        own: list[Guard] = []
        in_torch: list[Guard] = []
        for place, here in self.seen.made.items():
            span = self.span(place)
            code, torch = self.seen.places[place]
            text = None if torch else self.text(code.co_filename, span.file)
            for sides, count in here.items():
                guard = self.guard(sides, span, count, text)
                (in_torch if torch else own).append(guard)
        lost = [
            LostSize(what, self.span(place), count)
            for (what, place), count in self.seen.lost.items()
            if not self.seen.places[place][1]
        ]
        return Guards(tuple(own), tuple(in_torch), tuple(lost))

    def guard(
        self, sides: Sides, span: Span, count: int, text: SourceText | None
    ) -> Guard:
        left, operator, right, outcome = sides
        demand: AssertedComparison | None = None
        if text is not None:
            span, demand = find_demand_at(text, span, operator, outcome)
        left, right = (replace_reads(side, self.renumber) for side in (left, right))
        return Guard(left, operator, right, outcome, span, count, demand)

    def renumber(self, read: SizeRead) -> SizeRead:
        return SizeRead(self.number_of(read.tensor), read.dim, read.value)

    def span(self, place: tuple[int, int]) -> Span:
        return self.positions.frame(self.seen.places[place][0], place[1]).span

    def text(self, filename: str, shown: str) -> SourceText | None:
        """Return the text of the file, or None if it is not known."""
        source = self.positions.sources.get(filename)
        known = source is not None and source.text is not None
        return SourceText(shown, source.text or "") if known and source else None
