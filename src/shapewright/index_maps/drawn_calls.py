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
from typing import Any, Literal

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
    (`view`); empty for a tensor of its own, which costs `nbytes` more.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    view: bool = False


@dataclass(frozen=True, slots=True)
class InputGradient:
    """The gradient of an input: a shape, or None and the reason."""

    name: str
    shape: tuple[int, ...] | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Autograd:
    """A call as autograd records it if a gradient is requested for every input.

    `nodes` are the names of the nodes that backward runs, the output's own first.
    `written` are the inputs whose version increased, with the versions before and
    after. `refused` are writes in place that torch does not accept, each with its
    message. `reason` is why there is no gradient.
    """

    nodes: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = ()
    gradients: tuple[InputGradient, ...] = ()
    written: tuple[tuple[str, int, int], ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Called:
    """An operator that torch calls, `depth` calls below the function.

    `keys` are the dispatch keys with a kernel that it went through. A `composite`
    operator has no kernel of its own: it consists of the calls that follow, one deeper.
    """

    name: str
    depth: int
    keys: tuple[str, ...] = ()
    composite: bool = False


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The path from Python to the kernels, in the order of the calls."""

    calls: tuple[Called, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PictureNotes:
    """The notes beside a picture.

    `flops` is what the record of a trace counts for the call, None if it has no
    formula. `device` is that of the first output, `default` torch's default dtype for
    floats.
    """

    autograd: Autograd
    dispatch: Dispatch
    flops: int | None = None
    device: str = "cpu"
    default: str = "float32"


@dataclass(frozen=True, slots=True)
class Side:
    """An input or output tensor, by its name in the call.

    `values` are nested lists, or an object indexed like them that has `some` of them in
    a list; None if there are none to show. `shares` is the name of the input whose
    storage an output looks at, None for a new tensor. `letters` are the names of its
    sizes, None for a size without a name.
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
        """Return the number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def written(self) -> tuple[str, ...]:
        """Return the sizes as text, `B=8` for a size with a name."""
        letters = self.letters or (None,) * len(self.shape)
        return tuple(
            str(size) if letter is None else f"{letter}={size}"
            for size, letter in zip(self.shape, letters, strict=True)
        )

    @property
    def shape_text(self) -> str:
        """Return the shape as text: `(8, 3)`, `(B=8, 3)`."""
        sizes = self.written
        return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"


Part = Literal["dim", "rank", "dtype", "values", "count"]


@dataclass(frozen=True, slots=True)
class Unfit:
    """A part of an input that makes torch refuse the call.

    `part` is what does not fit: the size of `dim`, the number of dims, the dtype, an
    element of an index, or the number of elements. `needs` is the size that would fit,
    the number of places that an index may name, or the number of elements; None if it
    is not known.
    """

    name: str
    part: Part
    dim: int | None = None
    needs: int | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """A call, its inputs and outputs, and how each element is computed.

    `maps` has a map for each output, or is empty, and `reason` is why. `checked` is the
    number of elements at which the maps were compared with torch, `error` torch's
    message for a call that does not fit. `sizes` are the size formulas of windows, with
    the numbers put in, one for each spatial dim. `stages` are the intermediate tensors
    of the first map, with values if these are few. `notes` are further remarks on
    shapes and values, `beside` the notes on autograd and dispatch, None if the call did
    not run. `refusal` is what a refused call needed and did not get, `unfit` are the
    parts of its inputs that do not fit.
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
    unfit: tuple[Unfit, ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor and the storage that it views.

    `cells` are the storage's first elements, `count` is how many there are. `base` is
    the shape of the tensor of which this tensor is a view, `version` how often the
    storage was written in place; both are None if that is not known. `reason` is why
    there are no values.
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
        """Return how many cells of the storage the tensor covers; -1 if not counted."""
        side = self.side
        if not side.size:
            return 0
        return len(set(iter_offsets(side))) if side.size <= MOST else -1


MOST = 1 << 16
"""Elements up to which reached cells are counted singly."""


def iter_offsets(side: Side) -> Iterator[int]:
    """Yield the storage cell of each element, in row-major order."""
    for index in product(*(range(size) for size in side.shape)):
        terms = zip(index, side.stride, strict=True)
        yield side.offset + sum(place * step for place, step in terms)


Names = Mapping[str, str]


def _rename_parts(value: Any, letters: Names, tensors: Names) -> Any:
    """Return a map, or a part of it, with letters and tensors renamed."""
    if isinstance(value, Letter):
        return Letter(letters.get(value.name, value.name))
    if type(value) is tuple:  # a window is a tuple too, of numbers only
        return tuple(_rename_parts(item, letters, tensors) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {
        dataclass_field.name: _rename_parts(
            getattr(value, dataclass_field.name), letters, tensors
        )
        for dataclass_field in fields(value)
    }
    if isinstance(value, Element | Read):
        changed["tensor"] = tensors.get(value.tensor, value.tensor)
    elif isinstance(value, Loop):
        changed["letter"] = letters.get(value.letter, value.letter)
    elif isinstance(value, IndexMap):
        changed["letters"] = tuple(letters.get(name, name) for name in value.letters)
        changed["sentence"] = _rename_in_words(value.sentence, {**letters, **tensors})
    return replace(value, **changed)


def _rename_in_words(sentence: str, names: Names) -> str:
    """Return a sentence in which the names between backticks are replaced."""
    return re.sub(r"`([^`]+)`", lambda at: f"`{names.get(at[1], at[1])}`", sentence)


# -- tensors ---------------------------------------------------------------------------

NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def with_names(drawn: Drawn, names: Names) -> Drawn:
    """Return the call with the program's names for its inputs, if they are
    unambiguous.
    """
    own = [side.name for side in (*drawn.inputs, *drawn.outputs)]
    taken = {name for index_map in drawn.maps for name in _list_letters(index_map)}
    taken |= {"steps", *own}
    fit: dict[str, str] = {}
    for old, new in names.items():
        if old in own and new not in taken and NAME.fullmatch(new):
            taken.add(new)
            fit[old] = new
    return replace(
        drawn,
        refusal=tuple(_rename_in_words(line, fit) for line in drawn.refusal),
        unfit=tuple(replace(u, name=fit.get(u.name, u.name)) for u in drawn.unfit),
        inputs=tuple(replace(s, name=fit.get(s.name, s.name)) for s in drawn.inputs),
        outputs=tuple(
            replace(side, shares=fit.get(side.shares or "", side.shares))
            for side in drawn.outputs
        ),
        maps=_rename_parts(drawn.maps, {}, fit),
        beside=None if drawn.beside is None else _rename_notes(drawn.beside, fit),
    )


def _rename_notes(beside: PictureNotes, names: Names) -> PictureNotes:
    """Return the notes beside a picture with the inputs renamed."""
    notes = beside.autograd
    autograd = replace(
        notes,
        kept=tuple(replace(o, name=names.get(o.name, o.name)) for o in notes.kept),
        gradients=tuple(
            replace(gradient, name=names.get(gradient.name, gradient.name))
            for gradient in notes.gradients
        ),
        written=tuple((names.get(n, n), old, new) for n, old, new in notes.written),
    )
    return replace(beside, autograd=autograd)


# -- letters ---------------------------------------------------------------------------


def with_letters(
    drawn: Drawn,
    letters: Mapping[str, tuple[str | None, ...]],
    sizes: Mapping[str, int],
) -> Drawn:
    """Return the call in the user's letters; `letters` has those of each input."""
    inputs = tuple(replace(s, letters=letters.get(s.name, ())) for s in drawn.inputs)
    maps = tuple(
        _with_size_letters(index_map, letters, sizes) for index_map in drawn.maps
    )
    outputs = [
        replace(
            side, letters=_get_size_names(index_map, index_map.letters, index_map.shape)
        )
        for side, index_map in zip(drawn.outputs, maps, strict=False)
    ]
    rest = drawn.outputs[len(outputs) :]
    return replace(drawn, inputs=inputs, outputs=(*outputs, *rest), maps=maps)


def _get_size_names(
    index_map: IndexMap, letters: Iterable[str], shape: Iterable[int]
) -> tuple[str | None, ...]:
    """Return the name of the size of each dim, if it has one."""
    names = dict(index_map.sizes)
    names_of_dims = tuple(names.get(letter) for letter in letters)
    return names_of_dims if any(names_of_dims) and tuple(shape) else ()


def _with_size_letters(
    index_map: IndexMap,
    letters: Mapping[str, tuple[str | None, ...]],
    sizes: Mapping[str, int],
) -> IndexMap:
    """Return a map whose letters are the names of the sizes that they run through."""
    runs: dict[str, int] = {}
    for part in (index_map, *(stage.map for stage in index_map.stages)):
        own = dict(zip(part.letters, part.shape, strict=True))
        own |= {loop.letter: loop.size for loop in part.loops}
        runs = own | runs
    size_of: dict[str, str] = {}
    for letter, size in _iter_index_letters(index_map, letters):
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
    renamed_map: IndexMap = _rename_parts(index_map, new, {})
    stages = tuple(
        Stage(
            stage.name,
            replace(stage.map, sizes=_find_stage_sizes(stage.map, named, sizes)),
        )
        for stage in renamed_map.stages
    )
    return replace(renamed_map, sizes=named, stages=stages)


def _find_stage_sizes(
    index_map: IndexMap, named: tuple[tuple[str, str], ...], sizes: Mapping[str, int]
) -> tuple[tuple[str, str], ...]:
    """Return the names of the sizes through which the letters of a stage run."""
    own = dict(zip(index_map.letters, index_map.shape, strict=True))
    own |= {loop.letter: loop.size for loop in index_map.loops}
    return tuple(pair for pair in named if own.get(pair[0]) == sizes.get(pair[1]))


def _iter_index_letters(
    index_map: IndexMap, letters: Mapping[str, tuple[str | None, ...]]
) -> Iterator[tuple[str, str]]:
    """Yield each letter that alone indexes a dim, with the name of that dim's size."""
    for read in _iter_reads(index_map):
        for index, size in zip(
            read.indices, letters.get(read.tensor, ()), strict=False
        ):
            if isinstance(index, Letter) and size is not None:
                yield index.name, size


def _iter_reads(value: Any) -> Iterator[Read | Element]:
    """Yield all reads of a map, including those inside indices and conditions."""
    if isinstance(value, Read | Element):
        yield value
    if isinstance(value, tuple):
        for item in value:
            yield from _iter_reads(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for dataclass_field in fields(value):
            yield from _iter_reads(getattr(value, dataclass_field.name))


def _list_letters(index_map: IndexMap) -> set[str]:
    """Return the letters of a map and the names of its tables and stages."""
    loops = {loop.letter for loop in index_map.loops}
    letters = {*index_map.letters, *loops, *(table.name for table in index_map.tables)}
    for stage in index_map.stages:
        letters |= {stage.name, *_list_letters(stage.map)}
    return letters
