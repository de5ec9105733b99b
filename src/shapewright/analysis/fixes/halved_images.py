"""Images whose side is no multiple of the factor by which an encoder makes them
smaller: a map of 45 rows is halved to 23, and doubled to 46 where one of 45 is met.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from shapewright.analysis.causes import trace_dim
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    JOINED_SIZES_DIFFER,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_name,
    list_arguments,
    pair_targets,
)
from shapewright.record.ops import Fact

OF_MAPS = frozenset({BROADCAST_MISMATCH, TARGET_SHAPE, JOINED_SIZES_DIFFER})
"""Codes of maps that meet with other heights or widths."""
SIDES = re.compile(
    r"(^|_)(h|w|height|width|size|sz|side|res(olution)?|shape|dims?)s?$", re.IGNORECASE
)
"""How numbers of rows and columns of images are called."""
RESIZING = re.compile(r"resize$|crop$|^interpolate$|^imresize$", re.IGNORECASE)
"""How calls are called that give images another size."""
FIRST_SIDE = 2


@dataclass(frozen=True, slots=True)
class _Rounded:
    """A side of the images that a network halves, by all in all `factor`: a map of
    `odd` rows is rounded to `half`, which is doubled. `span` is where it is halved.
    """

    side: int
    factor: int
    odd: int
    half: int
    span: Span | None


def suggest_multiple(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `feed_height = 704` for 720, where a network halves the sides of its
    images five times.
    """
    sides: dict[int, int] = {}
    for rounded in _list_rounded(program, failure):
        low = rounded.side - rounded.side % rounded.factor
        is_near = low > 0 and rounded.side - low <= low + rounded.factor - rounded.side
        sides[rounded.side] = low if is_near else low + rounded.factor
    statements: dict[str, None] = {}
    edits: list[Edit] = []
    for text, node in _iter_written(program, set(sides)):
        new = str(sides[int(text.written(node))])
        edits.append(Edit(text.span(node), new))
        around = text.parent(node)
        while isinstance(around, ast.Tuple | ast.List | ast.keyword):
            around = text.parent(around)
        if isinstance(around, ast.expr | ast.stmt) and not isinstance(
            around, ast.FunctionDef
        ):
            shown = _write_changed(text, around, sides)
            statements[f"`{join_lines(shown)}`"] = None
    if edits:
        message = " and ".join(statements) or " and ".join(map(str, sides.values()))
        yield Fix("fits", message, tuple(edits))
    elif sides:
        factor = max(rounded.factor for rounded in _list_rounded(program, failure))
        yield from _suggest_rounded_sides(program, factor)


def _suggest_rounded_sides(program: Program, factor: int) -> Iterator[Fix]:
    """Suggest `new_h = int(h * ratio) // 32 * 32` for sides that are computed, and by
    which an image is resized.
    """
    for text in program.own_texts():
        resized = {
            get_last_name(number)
            for node in text.nodes
            if isinstance(node, ast.Call) and RESIZING.search(get_called_name(node))
            for value in list_arguments(node)
            for number in _list_numbers(value)
        } - {""}
        edits: list[Edit] = []
        for node in text.nodes if resized else ():
            for target in node.targets if isinstance(node, ast.Assign) else ():
                assert isinstance(node, ast.Assign)
                for name, value in pair_targets(target, node.value):
                    if get_last_name(name) in resized and _is_computed(value):
                        written = text.written(value)
                        if isinstance(value, ast.BinOp):
                            written = f"({written})"
                        new = f"{written} // {factor} * {factor}"
                        edits.append(Edit(text.span(value), new))
        if edits:
            shown = join_lines(edits[0].text)
            yield Fix("fits", f"`{shown}`", tuple(edits))


def _is_computed(value: ast.expr) -> bool:
    """Return whether an expression computes a whole number of pixels."""
    if isinstance(value, ast.Call):
        return get_called_name(value) in ("int", "round", "ceil", "floor")
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.FloorDiv)


def _write_changed(
    text: SourceText, node: ast.expr | ast.stmt, sides: dict[int, int]
) -> str:
    """Return a statement or a call with the other sides."""
    return re.sub(
        r"\b\d+\b",
        lambda number: str(sides.get(int(number[0]), number[0])),
        text.written(node),
    )


def describe_multiple(program: Program, failure: Failure) -> Related | None:
    """Return that a side of the images is no multiple of what a network divides it
    by, and what is rounded.
    """
    for rounded in _list_rounded(program, failure):
        words = f"{rounded.side} is no multiple of {rounded.factor}: on the way, a map"
        words += f" of {rounded.odd} is halved to {rounded.half}, and doubled to"
        words += f" {2 * rounded.half}"
        for text, node in _iter_written(program, {rounded.side}):
            return Related(text.span(node), words)
        return Related(rounded.span, words) if rounded.span is not None else None
    return None


def _list_rounded(program: Program, failure: Failure) -> list[_Rounded]:
    """Return the sides for which a map is doubled to another size than it had."""
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_MAPS or len(op.inputs) < 2:
        return []
    first, second = op.inputs[:2]
    if first.ndim != second.ndim or first.ndim <= FIRST_SIDE:
        return []
    rounded: list[_Rounded] = []
    for dim in range(FIRST_SIDE, first.ndim):
        if first.shape[dim] == second.shape[dim]:
            continue
        for fact in (first, second):
            sides = list(_find_rounded(program, fact, dim))
            rounded += sides
            if sides:
                break
    return rounded


def _find_rounded(program: Program, fact: Fact, dim: int) -> Iterator[_Rounded]:
    """Yield how a dim was halved, rounded, and doubled again."""
    way = trace_dim(program, fact, dim)
    steps = [
        (way.fact.shape[way.dim], None),
        *((step.size, step.op.span) for step in reversed(way.steps)),
    ]
    sizes = [size for size, _ in steps]
    side, factor = sizes[0], 1
    halved: tuple[int, int, Span | None] | None = None
    for (before, _), (after, span) in pairwise(steps):
        if before > 1 and after in (before // 2, (before + 1) // 2):
            factor *= 2
            if before % 2:
                halved = (before, after, span)
        elif halved is None and before != after:  # such as a resize
            side, factor = after, 1
    if halved is None or side % factor == 0:
        return
    odd, half, span = halved
    is_doubled = any(
        before == half and after == 2 * half for before, after in pairwise(sizes)
    )
    if is_doubled:
        yield _Rounded(side, factor, odd, half, span)


def _iter_written(
    program: Program, sides: set[int]
) -> Iterator[tuple[SourceText, ast.Constant]]:
    """Yield where sides are written: for names of them, and in calls that resize."""
    for text in program.own_texts():
        seen: set[ast.Constant] = set()
        for node in text.nodes:
            for value in _iter_sizes(node):
                for number in _list_numbers(value):
                    is_side = isinstance(number, ast.Constant) and number not in seen
                    if not is_side or not isinstance(number, ast.Constant):
                        continue
                    if type(number.value) is int and number.value in sides:
                        seen.add(number)
                        yield text, number


def _list_numbers(value: ast.expr) -> list[ast.expr]:
    """Return the two sides of a pair, or the only one."""
    return value.elts if isinstance(value, ast.Tuple | ast.List) else [value]


def _iter_sizes(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions by which a node gives a size of images."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            for name, value in pair_targets(target, node.value):
                if SIDES.search(get_last_name(name)):
                    yield value
    elif isinstance(node, ast.Call) and RESIZING.search(get_called_name(node)):
        yield from list_arguments(node)
    elif isinstance(node, ast.keyword) and SIDES.search(node.arg or ""):
        yield node.value
    elif isinstance(node, ast.arguments):
        named = [*node.posonlyargs, *node.args]
        pairs = [
            *zip(named[len(named) - len(node.defaults) :], node.defaults, strict=True),
            *zip(node.kwonlyargs, node.kw_defaults, strict=True),
        ]
        for parameter, default in pairs:
            if default is not None and SIDES.search(parameter.arg):
                yield default
