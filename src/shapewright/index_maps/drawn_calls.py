"""An operator call or a tensor to be drawn, as data, and a drawn call renamed to the
user's own names.

What stands beside a drawing was observed: the call ran with gradients asked for, and
torch told what it kept, what it gave back, and through which of its own operators it
went.

>>> read = Read("input", (Letter("i"), Letter("j")))
>>> str(renamed(read, {"i": "b"}, {"input": "x"}))
'x[b, j]'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import product
from typing import Any

from shapewright.index_maps.index_map import (
    LETTERS,
    LOOPS,
    Element,
    IndexMap,
    Loop,
    Read,
    Stage,
)
from shapewright.sizes.expressions import Letter


@dataclass(frozen=True, slots=True)
class Kept:
    """A tensor that stays in memory from the forward call until backward.

    `name` is that of the input or output which it is, or whose storage it looks at
    (`view`); empty for one of its own, which costs `nbytes` more.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    view: bool = False


@dataclass(frozen=True, slots=True)
class InputGradient:
    """What backward gives an input: a shape, or None and the reason."""

    name: str
    shape: tuple[int, ...] | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Autograd:
    """One call as autograd records it, with a gradient asked for every input.

    `nodes` are the names of what backward runs, the output's own first. `written` are
    the inputs whose version went up, with the versions before and after. `refused`
    are writes in place that torch does not take, each with its message. `reason` says
    why there is no gradient.
    """

    nodes: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = ()
    gradients: tuple[InputGradient, ...] = ()
    written: tuple[tuple[str, int, int], ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Called:
    """One of torch's own operators on the way, `depth` calls below the function.

    `keys` are the dispatch keys with a kernel that it went through. A `composite`
    operator has no kernel of its own: it is the calls that follow, one deeper.
    """

    name: str
    depth: int
    keys: tuple[str, ...] = ()
    composite: bool = False


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The way from Python to the kernels, in the order of the calls."""

    calls: tuple[Called, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PictureNotes:
    """All that stands beside one picture.

    `flops` is what the record of a trace counts for the call, None where it has no
    formula. `device` is that of the first output, `default` the dtype that torch gives
    to floats nobody asked a dtype for.
    """

    autograd: Autograd
    dispatch: Dispatch
    flops: int | None = None
    device: str = "cpu"
    default: str = "float32"


@dataclass(frozen=True, slots=True)
class Side:
    """A tensor that goes in or comes out, by its name in the call.

    `values` are nested lists, or what is indexed like them and has `some` of them in a
    list; None where there are none to show. `shares` is the
    name of the input whose storage an output looks at, None for a new one. `letters`
    are the names of its sizes, None for a size without one.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...] = ()
    offset: int = 0
    values: Any = None
    shares: str | None = None
    letters: tuple[str | None, ...] = ()

    @property
    def size(self) -> int:
        """How many elements it has."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def written(self) -> tuple[str, ...]:
        """Its sizes as text: `B=8` where a size has a name."""
        letters = self.letters or (None,) * len(self.shape)
        return tuple(
            str(size) if letter is None else f"{letter}={size}"
            for size, letter in zip(self.shape, letters, strict=True)
        )

    @property
    def shape_text(self) -> str:
        """Its shape as text: `(8, 3)`, `(B=8, 3)`."""
        sizes = self.written
        return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A call, what went in and came out, and how each element came about.

    `maps` has one for each output, or is empty, and `reason` says why. `checked` is
    the number of elements at which the maps were compared with torch, `error` what
    torch says of a call that does not fit. `sizes` are the size formulas of windows,
    with the numbers put in, one for each spatial dim. `stages` are the tensors that
    the first map works out on the way, with values where these are few. `notes` is what
    else there is to say of the shapes and values, `beside` what autograd and the
    dispatcher say of the call, None where it did not run. `refusal` says what a call
    that torch refuses needed and did not get. `broadcast` says that its tensors are
    broadcast together.
    """

    text: str
    name: str
    inputs: tuple[Side, ...]
    outputs: tuple[Side, ...] = ()
    maps: tuple[IndexMap, ...] = ()
    reason: str = ""
    checked: int = 0
    error: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    sizes: tuple[str, ...] = ()
    stages: tuple[Side, ...] = ()
    notes: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()
    beside: PictureNotes | None = None
    broadcast: bool = False


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor, and the storage that it looks at.

    `cells` are the storage's first elements, `count` is how many there are. `base` is
    the shape of the tensor that this one was made a view of, `version` how often the
    storage was written in place; both are None where that is not known. `reason` says
    why there are no values.
    """

    side: Side
    count: int = 0
    cells: tuple[Any, ...] = ()
    itemsize: int = 0
    base: tuple[int, ...] | None = None
    version: int | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def reached(self) -> int:
        """How many cells of the storage the tensor reaches."""
        side = self.side
        if not side.size:
            return 0
        return len(set(offsets(side))) if side.size <= MOST else -1


MOST = 1 << 16
"""Elements up to which reached cells are counted one by one."""


def offsets(side: Side) -> Iterator[int]:
    """The storage cell of each element, in row-major order."""
    for index in product(*(range(size) for size in side.shape)):
        terms = zip(index, side.stride, strict=True)
        yield side.offset + sum(place * step for place, step in terms)


Names = Mapping[str, str]


def _renamed(value: Any, letters: Names, tensors: Names) -> Any:
    """A map, or a part of one, with other letters and other names of tensors."""
    if isinstance(value, Letter):
        return Letter(letters.get(value.name, value.name))
    if type(value) is tuple:  # a window is a tuple too, of numbers only
        return tuple(_renamed(item, letters, tensors) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {
        one.name: _renamed(getattr(value, one.name), letters, tensors)
        for one in fields(value)
    }
    if isinstance(value, Element | Read):
        changed["tensor"] = tensors.get(value.tensor, value.tensor)
    elif isinstance(value, Loop):
        changed["letter"] = letters.get(value.letter, value.letter)
    elif isinstance(value, IndexMap):
        changed["letters"] = tuple(letters.get(name, name) for name in value.letters)
        changed["sentence"] = _in_words(value.sentence, {**letters, **tensors})
    return replace(value, **changed)


def _in_words(sentence: str, names: Names) -> str:
    """A sentence with other names between its backticks."""
    return re.sub(r"`([^`]+)`", lambda at: f"`{names.get(at[1], at[1])}`", sentence)


# -- tensors ---------------------------------------------------------------------------

NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def with_names(drawn: Drawn, names: Names) -> Drawn:
    """The call with its inputs named as in the program, where that is unambiguous."""
    own = [side.name for side in (*drawn.inputs, *drawn.outputs)]
    taken = {name for one in drawn.maps for name in _letters_of_map(one)}
    taken |= {"steps", *own}
    fit: dict[str, str] = {}
    for old, new in names.items():
        if old in own and new not in taken and NAME.fullmatch(new):
            taken.add(new)
            fit[old] = new
    return replace(
        drawn,
        refusal=tuple(_in_words(line, fit) for line in drawn.refusal),
        inputs=tuple(replace(s, name=fit.get(s.name, s.name)) for s in drawn.inputs),
        outputs=tuple(
            replace(side, shares=fit.get(side.shares or "", side.shares))
            for side in drawn.outputs
        ),
        maps=_renamed(drawn.maps, {}, fit),
        beside=None if drawn.beside is None else _told_by(drawn.beside, fit),
    )


def _told_by(beside: PictureNotes, names: Names) -> PictureNotes:
    """What stands beside a picture, with other names of its inputs."""
    made = beside.autograd
    autograd = replace(
        made,
        kept=tuple(replace(o, name=names.get(o.name, o.name)) for o in made.kept),
        gradients=tuple(
            replace(one, name=names.get(one.name, one.name)) for one in made.gradients
        ),
        written=tuple((names.get(n, n), old, new) for n, old, new in made.written),
    )
    return replace(beside, autograd=autograd)


# -- letters ---------------------------------------------------------------------------


def with_letters(
    drawn: Drawn,
    letters: Mapping[str, tuple[str | None, ...]],
    sizes: Mapping[str, int],
) -> Drawn:
    """The call in a person's letters: `letters` has those of each input's dims."""
    inputs = tuple(replace(s, letters=letters.get(s.name, ())) for s in drawn.inputs)
    maps = tuple(_lettered(one, letters, sizes) for one in drawn.maps)
    outputs = [
        replace(side, letters=_sized(one, one.letters, one.shape))
        for side, one in zip(drawn.outputs, maps, strict=False)
    ]
    rest = drawn.outputs[len(outputs) :]
    return replace(drawn, inputs=inputs, outputs=(*outputs, *rest), maps=maps)


def _sized(
    one: IndexMap, letters: Iterable[str], shape: Iterable[int]
) -> tuple[str | None, ...]:
    """The name of each dim's size, where it has one."""
    names = dict(one.sizes)
    found = tuple(names.get(letter) for letter in letters)
    return found if any(found) and tuple(shape) else ()


def _lettered(
    one: IndexMap,
    letters: Mapping[str, tuple[str | None, ...]],
    sizes: Mapping[str, int],
) -> IndexMap:
    """A map whose letters are those of the sizes that they run through."""
    runs: dict[str, int] = {}
    for each in (one, *(stage.map for stage in one.stages)):
        own = dict(zip(each.letters, each.shape, strict=True))
        own |= {loop.letter: loop.size for loop in each.loops}
        runs = own | runs
    size_of: dict[str, str] = {}
    for letter, size in _indexed_by(one, letters):
        size_of.setdefault(letter, size)
    new: dict[str, str] = {}
    taken = {*letters, *sizes, "out", "steps"}
    for letter in runs:
        small = size_of.get(letter, "").lower()
        if small.isidentifier() and small not in taken:
            new[letter] = small
            taken.add(small)
    pool = (name for name in LETTERS + LOOPS if name not in taken and name not in runs)
    for letter in runs:
        if letter not in new:
            new[letter] = next(pool, letter) if letter in taken else letter
            taken.add(new[letter])
    named = tuple(
        (new[letter], size)
        for letter, size in size_of.items()
        if sizes.get(size) == runs.get(letter)
    )
    made: IndexMap = _renamed(one, new, {})
    stages = tuple(
        Stage(stage.name, replace(stage.map, sizes=_of_stage(stage.map, named, sizes)))
        for stage in made.stages
    )
    return replace(made, sizes=named, stages=stages)


def _of_stage(
    one: IndexMap, named: tuple[tuple[str, str], ...], sizes: Mapping[str, int]
) -> tuple[tuple[str, str], ...]:
    """The names of sizes that a stage's letters run through too."""
    own = dict(zip(one.letters, one.shape, strict=True))
    own |= {loop.letter: loop.size for loop in one.loops}
    return tuple(pair for pair in named if own.get(pair[0]) == sizes.get(pair[1]))


def _indexed_by(
    one: IndexMap, letters: Mapping[str, tuple[str | None, ...]]
) -> Iterator[tuple[str, str]]:
    """Letters that alone are the index of a dim, with the name of that dim's size."""
    for read in _reads_in(one):
        for index, size in zip(
            read.indices, letters.get(read.tensor, ()), strict=False
        ):
            if isinstance(index, Letter) and size is not None:
                yield index.name, size


def _reads_in(value: Any) -> Iterator[Read | Element]:
    """All reads of a map, those inside of indices and conditions too."""
    if isinstance(value, Read | Element):
        yield value
    if isinstance(value, tuple):
        for item in value:
            yield from _reads_in(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            yield from _reads_in(getattr(value, one.name))


def _letters_of_map(one: IndexMap) -> set[str]:
    """The letters of a map, and the names of its tables."""
    loops = {loop.letter for loop in one.loops}
    found = {*one.letters, *loops, *(table.name for table in one.tables)}
    for stage in one.stages:
        found |= {stage.name, *_letters_of_map(stage.map)}
    return found
