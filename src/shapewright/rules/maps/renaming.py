"""A drawn call in a person's own names: of its tensors, and of the letters of sizes.

>>> read = Read("input", (Letter("i"), Letter("j")))
>>> str(renamed(read, {"i": "b"}, {"input": "x"}))
'x[b, j]'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from shapewright.dims.expression import Letter
from shapewright.rules.maps.beside import Beside
from shapewright.rules.maps.drawn import Drawn
from shapewright.rules.maps.index_map import (
    LETTERS,
    LOOPS,
    Element,
    IndexMap,
    Loop,
    Read,
    Stage,
)

Names = Mapping[str, str]


def renamed(value: Any, letters: Names, tensors: Names) -> Any:
    """A map, or a part of one, with other letters and other names of tensors."""
    if isinstance(value, Letter):
        return Letter(letters.get(value.name, value.name))
    if type(value) is tuple:  # a window is a tuple too, of numbers only
        return tuple(renamed(item, letters, tensors) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {
        one.name: renamed(getattr(value, one.name), letters, tensors)
        for one in fields(value)
    }
    if isinstance(value, Element | Read):
        changed["tensor"] = tensors.get(value.tensor, value.tensor)
    elif isinstance(value, Loop):
        changed["letter"] = letters.get(value.letter, value.letter)
    elif isinstance(value, IndexMap):
        changed["letters"] = tuple(letters.get(name, name) for name in value.letters)
        changed["sentence"] = in_words(value.sentence, {**letters, **tensors})
    return replace(value, **changed)


def in_words(sentence: str, names: Names) -> str:
    """A sentence with other names between its backticks."""
    return re.sub(r"`([^`]+)`", lambda at: f"`{names.get(at[1], at[1])}`", sentence)


# -- tensors ---------------------------------------------------------------------------

NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def with_names(drawn: Drawn, names: Names) -> Drawn:
    """The call with its inputs named as in the program, where that is unambiguous."""
    own = [side.name for side in (*drawn.inputs, *drawn.outputs)]
    taken = {name for one in drawn.maps for name in letters_of_map(one)}
    taken |= {"steps", *own}
    fit: dict[str, str] = {}
    for old, new in names.items():
        if old in own and new not in taken and NAME.fullmatch(new):
            taken.add(new)
            fit[old] = new
    return replace(
        drawn,
        refusal=tuple(in_words(line, fit) for line in drawn.refusal),
        inputs=tuple(replace(s, name=fit.get(s.name, s.name)) for s in drawn.inputs),
        outputs=tuple(
            replace(side, shares=fit.get(side.shares or "", side.shares))
            for side in drawn.outputs
        ),
        maps=renamed(drawn.maps, {}, fit),
        beside=None if drawn.beside is None else told_by(drawn.beside, fit),
    )


def told_by(beside: Beside, names: Names) -> Beside:
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
    maps = tuple(lettered(one, letters, sizes) for one in drawn.maps)
    outputs = [
        replace(side, letters=sized(one, one.letters, one.shape))
        for side, one in zip(drawn.outputs, maps, strict=False)
    ]
    rest = drawn.outputs[len(outputs) :]
    return replace(drawn, inputs=inputs, outputs=(*outputs, *rest), maps=maps)


def sized(
    one: IndexMap, letters: Iterable[str], shape: Iterable[int]
) -> tuple[str | None, ...]:
    """The name of each dim's size, where it has one."""
    names = dict(one.sizes)
    found = tuple(names.get(letter) for letter in letters)
    return found if any(found) and tuple(shape) else ()


def lettered(
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
    for letter, size in indexed_by(one, letters):
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
    made: IndexMap = renamed(one, new, {})
    stages = tuple(
        Stage(stage.name, replace(stage.map, sizes=of_stage(stage.map, named, sizes)))
        for stage in made.stages
    )
    return replace(made, sizes=named, stages=stages)


def of_stage(
    one: IndexMap, named: tuple[tuple[str, str], ...], sizes: Mapping[str, int]
) -> tuple[tuple[str, str], ...]:
    """The names of sizes that a stage's letters run through too."""
    own = dict(zip(one.letters, one.shape, strict=True))
    own |= {loop.letter: loop.size for loop in one.loops}
    return tuple(pair for pair in named if own.get(pair[0]) == sizes.get(pair[1]))


def indexed_by(
    one: IndexMap, letters: Mapping[str, tuple[str | None, ...]]
) -> Iterator[tuple[str, str]]:
    """Letters that alone are the index of a dim, with the name of that dim's size."""
    for read in reads_in(one):
        for index, size in zip(
            read.indices, letters.get(read.tensor, ()), strict=False
        ):
            if isinstance(index, Letter) and size is not None:
                yield index.name, size


def reads_in(value: Any) -> Iterator[Read | Element]:
    """All reads of a map, those inside of indices and conditions too."""
    if isinstance(value, Read | Element):
        yield value
    if isinstance(value, tuple):
        for item in value:
            yield from reads_in(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            yield from reads_in(getattr(value, one.name))


def letters_of_map(one: IndexMap) -> set[str]:
    """The letters of a map, and the names of its tables."""
    loops = {loop.letter for loop in one.loops}
    found = {*one.letters, *loops, *(table.name for table in one.tables)}
    for stage in one.stages:
        found |= {stage.name, *letters_of_map(stage.map)}
    return found
