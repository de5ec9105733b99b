"""Candidate replacements of a loop: their text, and the experiment they must pass."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from shapewright.analysis.python_loops.element_access import (
    assign,
    find_replacements,
    flatten_index,
    stack_elements,
    vectorise_read,
)
from shapewright.analysis.python_loops.loop_context import MADE, Recorded
from shapewright.analysis.python_loops.loop_nests import (
    Nest,
    NestStatement,
    Unread,
    get_base,
)
from shapewright.analysis.python_loops.vectorization import (
    LetterRange,
    Vectoriser,
)
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    ALL,
    build_method,
    build_name,
    get_dotted_name,
)
from shapewright.record.ops import Fact


@dataclass(frozen=True, slots=True)
class _Made:
    """A tensor to create for an experiment: integers are in `range(high)`.

    `zeros` has no other values, `distinct` is a dim along which none comes twice.
    """

    shape: tuple[int, ...]
    dtype: str
    high: int = 5
    zeros: bool = False
    distinct: int | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment: run `loop` and `instead`, and compare the tensors in `targets`."""

    loop: tuple[ast.stmt, ...]
    instead: tuple[ast.stmt, ...]
    tensors: Mapping[str, _Made]
    numbers: Mapping[str, Any]
    targets: tuple[str, ...]


UNTOUCHED = 6
"""Sizes that are small enough."""


def _shrink_sizes(sizes: Iterable[int]) -> dict[int, int]:
    """Map large sizes to small ones, keeping which are equal and their order.

    Sizes up to 6 stay, because numbers may stand in brackets, and so do differences up
    to 3, because windows and shifted indices rest on them.

        >>> _shrink_sizes([64, 66, 1000, 3])
        {3: 3, 64: 5, 66: 7, 1000: 9}
    """
    small_sizes: dict[int, int] = {}
    before, small = 0, 0
    for size in sorted(set(sizes)):
        kept = size <= UNTOUCHED or size - before <= 3
        small += size - before if kept else 2
        before = size
        small_sizes[size] = small
    return small_sizes


STYLES = ("matmul", "einsum", "sum")
LONGEST = 72
"""Characters of a statement that a message quotes."""

EMPTY_LIST = ast.List([], ast.Load())


@dataclass(slots=True)
class Case:
    """A loop together with everything known about it."""

    text: SourceText
    nest: Nest
    recorded: Recorded
    ranges: dict[str, LetterRange]
    fresh: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The text of a replacement, with its experiment."""

    text: str
    experiment: Experiment
    place: str = ""
    condition: str = ""


@dataclass(slots=True)
class _World:
    """Tensors and ranges: the recorded ones, or small versions of them."""

    facts: dict[str, Fact]
    ranges: dict[str, LetterRange]


def iter_proposals(case: Case) -> Iterator[Proposal]:
    """Yield the possible replacements, the best first."""
    real = _World(case.recorded.facts, case.ranges)
    sizes = {size for fact in real.facts.values() for size in fact.shape}
    for known in real.ranges.values():
        sizes |= {known.start, known.stop, known.stop + _split_offset(known.end)[1]}
    small = _shrink_sizes(size for size in sizes if size > 0) | {0: 0}
    tiny = _World(
        {
            name: replace(fact, shape=tuple(small[size] for size in fact.shape))
            for name, fact in real.facts.items()
        },
        {letter: _shrink_range(known, small) for letter, known in real.ranges.items()},
    )
    texts: set[str] = set()
    for style in STYLES:
        try:
            both = list(
                zip(
                    _write_steps(case, real, style),
                    _write_steps(case, tiny, style),
                    strict=True,
                )
            )
        except Unread:
            continue
        for written, instead in both:
            text = "; ".join(ast.unparse(stmt) for stmt in written)
            if text not in texts:
                texts.add(text)
                yield _build_proposal(case, tiny, small, written, instead)


def _write_steps(case: Case, world: _World, style: str) -> list[list[ast.stmt]]:
    """Return the ways to write all statements of a loop in a given style."""
    ways = []
    for step in case.nest.steps:
        order = _find_order(case, step)
        reader = Vectoriser(world.facts, world.ranges, order, style, vectorise_read)
        if step.operator in ("stack", "cat", "append"):
            node = stack_elements(reader, step.value, step.letters).node
            if step.operator == "cat":
                node = build_method(node, "flatten", 0, 1)
            ways.append([[assign(build_name(MADE), node)]])
        else:
            ways.append(
                list(
                    find_replacements(
                        reader, step, case.fresh.get(get_base(step.target), "")
                    )
                )
            )
    return [[stmt for way in chosen for stmt in way] for chosen in product(*ways)]


def _find_order(case: Case, step: NestStatement) -> tuple[str, ...]:
    """Return the axes of the target in order, after the letters that are summed."""
    dims: list[str] = []
    if isinstance(step.target, ast.Subscript):
        name, items = flatten_index(step.target)
        fact = case.recorded.facts.get(name)
        items += [ALL] * ((fact.ndim if fact else 0) - len(items))
        kept = sum(isinstance(item, ast.Slice) for item in items)
        for item in items:
            if isinstance(item, ast.Slice):
                dims.append(f"~{kept}")
                kept -= 1
            read = [n.id for n in ast.walk(item) if isinstance(n, ast.Name)]
            dims += [x for x in read if x in step.letters and x not in dims]
    else:
        dims = list(step.letters)
    every = [loop.letter for loop in case.nest.loops]
    return (*(x for x in every if x not in dims), *dims)


def _build_proposal(
    case: Case,
    tiny: _World,
    small: dict[int, int],
    written: list[ast.stmt],
    instead: list[ast.stmt],
) -> Proposal:
    """Return a replacement with its experiment."""
    nest = case.nest
    distinct = {
        name: dim for step in nest.steps for name, dim in _iter_placing_indices(step)
    }
    tensors: dict[str, _Made] = {}
    high = _find_bounds(nest, tiny)
    for name, fact in tiny.facts.items():
        zeros = case.fresh.get(name) == "zeros"
        size = high.get(name, 5)
        tensors[name] = _Made(fact.shape, fact.dtype, size, zeros, distinct.get(name))
    numbers: dict[str, Any] = {
        name: value for name, value in case.recorded.numbers.items() if name
    }
    numbers |= {name: min(at, 1) for name, at in case.recorded.indices.items() if name}
    for letter, known in case.ranges.items():
        name, added = _split_offset(known.end)
        if name:
            numbers[name] = tiny.ranges[letter].stop - added
    numbers |= case.numbers
    experiment = Experiment(
        _build_small_loop(case, small),
        tuple(instead),
        tensors,
        numbers,
        _collect_targets(nest),
    )
    words = " where no place is written twice" if distinct else ""
    if isinstance(nest.root, ast.stmt) and MADE not in nest.bound:
        text = "; ".join(ast.unparse(stmt) for stmt in written)
        return Proposal(text, experiment, condition=words)
    (stmt,) = written
    assert isinstance(stmt, ast.Assign)
    whole = nest.bound.get(MADE, nest.root)
    place = f" in place of `{quote_statement(whole)}`"
    return Proposal(ast.unparse(stmt.value), experiment, place)


def _collect_targets(nest: Nest) -> tuple[str, ...]:
    """Return the names whose final values have to agree."""
    if not isinstance(nest.root, ast.stmt) or MADE in nest.bound:
        return (MADE,)
    return tuple(get_base(step.target) for step in nest.steps)


def _build_small_loop(case: Case, small: dict[int, int]) -> tuple[ast.stmt, ...]:
    """Return the loop as it was written, but with small ranges."""
    nest = case.nest
    root = deepcopy(nest.root)
    for node in ast.walk(root):
        if isinstance(node, ast.Call) and get_dotted_name(node.func) == "range":
            node.args = [
                ast.Constant(small.get(arg.value, arg.value))
                if isinstance(arg, ast.Constant) and type(arg.value) is int
                else arg
                for arg in node.args
            ]
    if not isinstance(root, ast.stmt):
        return (assign(build_name(MADE), root),)
    if MADE in nest.bound:
        name = get_base(nest.steps[0].target)
        first = assign(build_name(name), EMPTY_LIST)
        return (first, root, assign(build_name(MADE), nest.bound[MADE]))
    return (root,)


def _shrink_range(known: LetterRange, small: dict[int, int]) -> LetterRange:
    """Return a small version of a recorded range."""
    stop, end = small[known.stop], known.end
    if isinstance(end, ast.Constant):
        end = ast.Constant(stop)
    return LetterRange(small[known.start], stop, end)


def _split_offset(node: ast.expr) -> tuple[str, int]:
    """Split `n + 1` into `n` and 1; for expressions of other forms, the name is
    empty.
    """
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        right = node.right
        if isinstance(right, ast.Constant) and type(right.value) is int:
            sign = 1 if isinstance(node.op, ast.Add) else -1
            return get_dotted_name(node.left), sign * right.value
    return get_dotted_name(node), 0


# -- indices that are values -----------------------------------------------------------


def _find_bounds(nest: Nest, tiny: _World) -> dict[str, int]:
    """Return the exclusive upper bounds for the values of index tensors."""
    bounds: dict[str, int] = {}
    for step in nest.steps:
        for root in (step.target, step.value):
            for node in ast.walk(root):
                if not isinstance(node, ast.Subscript):
                    continue
                try:
                    name, items = flatten_index(node)
                except Unread:
                    continue
                fact = tiny.facts.get(name)
                if fact is None:
                    continue
                for item, size in zip(items, fact.shape, strict=False):
                    for read in _collect_tensors(item, tiny):
                        bounds[read] = min(bounds.get(read, size), size)
    return bounds


def _collect_tensors(node: ast.AST, world: _World) -> set[str]:
    """Return the tensors that an expression reads."""
    return {get_dotted_name(child) for child in ast.walk(node)} & world.facts.keys()


def _iter_placing_indices(step: NestStatement) -> Iterator[tuple[str, int]]:
    """Yield the index tensors of a step that may write a place twice.

    With each the dim along which its values have to differ, so that the order in which
    they are written does not matter.
    """
    if step.operator != "=" or not isinstance(step.target, ast.Subscript):
        return
    _, items = flatten_index(step.target)
    plain = {get_dotted_name(_get_offset_base(item)) for item in items}
    left = set(step.letters) - plain
    if not left:
        return
    for item in items:
        if not isinstance(item, ast.Subscript):
            continue
        name, indices = flatten_index(item)
        for dim, index in enumerate(indices):
            if left == {get_dotted_name(index)}:
                yield name, dim
                return
    raise Unread


def _get_offset_base(node: ast.expr) -> ast.expr:
    """Return the letter `i` of `i + 1`."""
    return node.left if isinstance(node, ast.BinOp) else node


def quote_statement(node: ast.AST) -> str:
    """Return a statement on one line, shortened if it is long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
