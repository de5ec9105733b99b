"""Fixes that change sizes where a tensor is created: a state, a mask, a table."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence

from shapewright.analysis.causes import Way, trace_dim
from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.constructors import write_changed_size
from shapewright.analysis.fixes.suspect_lines import (
    iter_names_for,
    write_size,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import iter_attribute_values
from shapewright.findings.codes import BROADCAST_MISMATCH
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure, Repair
from shapewright.operators.metadata_rules import Made
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    iter_own_nodes,
)
from shapewright.record.ops import Fact, Op

MAKERS = operators_with("is_sized_factory", "is_range_factory") | {"new_tensor"}
"""Functions that make a tensor of sizes that they are given."""


def fix_created_tensor(program: Program, failure: Failure) -> Iterator[Fix]:
    """Create the mismatched tensor with other sizes."""
    op = program.trace.ops[failure.op]
    for at, shape in iter_wanted_shapes(program, failure):
        fact = op.inputs[at]
        if fact.tensor in program.states and _is_for_one_sample(fact.shape, shape):
            continue
        maker = program.producers.get(fact.tensor)
        if maker is None or maker.name.rpartition(".")[2] not in MAKERS:
            continue
        if _is_drawn_once(maker, fact.shape, shape):
            continue
        yield from resize_tensor(program, failure, maker, fact.shape, shape)
    lines_up = failure.unmet is not None and failure.unmet.code == BROADCAST_MISMATCH
    for at, dim, size in _iter_wanted_sizes(failure):
        if lines_up and size == 1:
            continue  # one element would line up with anything
        origin = trace_dim(program, op.inputs[at], dim)
        if origin.why == "parameter" and origin.fact.tensor in program.states:
            if 1 in (origin.fact.shape[origin.dim], size):
                continue  # of one sample, to be expanded to the batch
            yield from _resize_state(program, failure, origin.fact, origin.dim, size)
        maker = origin.op
        if maker is None or maker.inputs or origin.dim >= len(origin.fact.shape):
            continue
        if maker.name.rpartition(".")[2] in MAKERS and origin.steps:
            before = origin.fact.shape
            if before[origin.dim] == op.inputs[at].shape[dim]:
                after = (*before[: origin.dim], size, *before[origin.dim + 1 :])
                yield from resize_tensor(program, failure, maker, before, after)


def suggest_factor_of_created(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `torch.rand(rows, rows)` for `torch.rand(rows, classes)`, a mask whose
    flattened dims have one factor other than what it meets.
    """
    wanted, got = find_sides(failure)
    if wanted is None or got is None:
        return
    op = program.trace.ops[failure.op]
    ways = [trace_dim(program, op.inputs[at], dim) for at, dim in (wanted, got)]
    needs, has = (op.inputs[at].shape[dim] for at, dim in (wanted, got))
    if any(way.why != "product" or way.op is None for way in ways):
        return
    for way, own, other in zip(ways, (needs, has), (has, needs), strict=True):
        assert way.op is not None
        theirs = _list_factors(ways[0] if way is ways[1] else ways[1])
        for at, dim in way.places:
            fact = way.op.inputs[at]
            size = fact.shape[dim]
            new = size * other // own if own and size * other % own == 0 else 0
            factors = [new if place == (at, dim) else factor
                       for place, factor in zip(way.places, _list_factors(way),
                                                strict=True)]  # fmt: skip
            maker = _find_creation(program, fact) if factors == theirs else None
            if maker is not None:
                before = maker.outputs[0].shape
                place = dim - len(fact.shape) + len(before)
                after = (*before[:place], new, *before[place + 1 :])
                if place >= 0:
                    yield from resize_tensor(program, failure, maker, before, after)


def _list_factors(way: Way) -> list[int]:
    """Return the sizes that a flattened dim was put together from."""
    assert way.op is not None
    return [way.op.inputs[at].shape[dim] for at, dim in way.places]


def _find_creation(program: Program, fact: Fact) -> Op | None:
    """Return the call that made a tensor of the sizes that it was given, behind
    comparisons and behind the stacking of items.
    """
    for _ in range(FARTHEST):
        maker = program.producers.get(fact.tensor)
        if maker is None:
            return None
        name = maker.name.rpartition(".")[2]
        if name in MAKERS:
            return maker
        if not maker.inputs or maker.inputs[0].shape not in (
            fact.shape, fact.shape[1:] if name in STACKS else fact.shape
        ):  # fmt: skip
            return None
        fact = maker.inputs[0]
    return None


FARTHEST = 6
"""Calls between a tensor and the one that made it of sizes."""
STACKS = ("stack",)


def _is_for_one_sample(before: Sequence[int], after: Sequence[int]) -> bool:
    """Return whether a dim of size 1 gets another size, or a dim of another size 1:
    what is learned for each place would be learned once, or the reverse.
    """
    return len(before) == len(after) and any(
        a != b and 1 in (a, b) for a, b in zip(before, after, strict=True)
    )


def _is_drawn_once(maker: Op, before: Sequence[int], after: Sequence[int]) -> bool:
    """Return whether numbers that are drawn for each sample would be drawn once."""
    if maker.name.rpartition(".")[2] not in DRAWN or len(before) != len(after):
        return False
    return any(a != 1 and b == 1 for a, b in zip(before, after, strict=True))


DRAWN = operators_with("is_random")


def _resize_state(
    program: Program, failure: Failure, fact: Fact, dim: int, size: int
) -> Iterator[Fix]:
    """Create one of the program's own parameters or buffers with another size."""
    path = program.states[fact.tensor]
    op = program.trace.ops[failure.op]
    text = program.text(op.span.file) if op.span is not None else None
    if text is None:
        return
    after = (*fact.shape[:dim], size, *fact.shape[dim + 1 :])
    for value in iter_attribute_values(text, path.rpartition(".")[2]):
        for node in ast.walk(value):
            if isinstance(node, ast.Call) and get_called_name(node) in MAKERS:
                yield from _rewrite_sizes(
                    program, failure, text, node, fact.shape, after
                )


def iter_wanted_shapes(
    program: Program, failure: Failure
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield (input, shape) for every shape with which the call would succeed."""
    op = program.trace.ops[failure.op]
    for grant in failure.unmet.grants if failure.unmet is not None else ():
        if grant.argument in failure.arguments and isinstance(grant.value, Made):
            yield failure.arguments.index(grant.argument), tuple(grant.value.shape)
    for repair in failure.repairs:
        shape = _repair_shape(op.inputs[repair.tensor].shape, repair)
        if shape is not None:
            yield repair.tensor, shape


def _iter_wanted_sizes(failure: Failure) -> Iterator[tuple[int, int, int]]:
    """Yield (input, dim, size) for every dim that would fit if it had another size."""
    for repair in failure.repairs:
        if repair.kind == "size" and repair.dim is not None:
            yield repair.tensor, repair.dim, repair.new


def _repair_shape(shape: tuple[int, ...], repair: Repair) -> tuple[int, ...] | None:
    """Return the shape after a repair."""
    dim = repair.dim or 0
    if repair.kind == "size":
        return (*shape[:dim], repair.new, *shape[dim + 1 :])
    if repair.kind == "permute":
        return tuple(shape[at] for at in repair.new)
    if repair.kind == "unsqueeze" and repair.new is None:
        return (*shape[:dim], 1, *shape[dim:])
    if repair.kind == "squeeze":
        return (*shape[:dim], *shape[dim + 1 :])
    return None


def resize_tensor(
    program: Program,
    failure: Failure,
    maker: Op,
    before: Sequence[int],
    after: tuple[int, ...],
    scaled: Collection[int] = (),
) -> Iterator[Fix]:
    """Rewrite the call that creates a tensor so that the tensor has another shape.

    A size of a dim in `scaled` is written as a multiple of the present one.
    """
    text_and_call = program.call_at(maker.span)
    if text_and_call is not None:
        yield from _rewrite_sizes(
            program, failure, *text_and_call, before, after, scaled
        )


def _rewrite_sizes(
    program: Program,
    failure: Failure,
    text: SourceText,
    call: ast.Call,
    before: Sequence[int],
    after: tuple[int, ...],
    scaled: Collection[int] = (),
) -> Iterator[Fix]:
    """Rewrite the sizes in a call so that the tensor that it creates has another
    shape.
    """
    nodes = find_size_nodes(text, call, len(before))
    if nodes is None:
        return
    written = [text.written(node) for node in nodes]
    words: list[str] = []
    left = list(zip(before, written, strict=True))
    for place, size in enumerate(after):
        same = place < len(before) and len(before) == len(after)
        if same and before[place] == size:
            words.append(written[place])
            continue
        kept = next(
            (
                size_and_text
                for size_and_text in left
                if size_and_text[0] == size and size != 1
            ),
            None,
        )
        if kept is not None and (sorted(before) == sorted(after) or not same):
            left.remove(kept)
            words.append(kept[1])
            continue
        if same and place in scaled:
            words.append(write_changed_size(text, nodes[place], before[place], size))
            continue
        named = list(iter_names_for(text, nodes[place], size)) if same else []
        near = same and abs(before[place] - size) <= MOST_EXTRA and min(before) > 0
        if same and not named:
            named = _list_quotients(text, nodes[place], before[place], size)
        plain = ast.Name | ast.Attribute | ast.Call
        if near and not named and isinstance(nodes[place], plain):
            sign = "+" if size > before[place] else "-"
            named = [f"{written[place]} {sign} {abs(size - before[place])}"]
        named = named or [
            _write_size_of_model(program, text, call, place, size)
            or write_size(program, failure, text, call, size)
        ]
        words.append(named[0])
    yield _with_words(text, call, nodes, words)


def suggest_quotient(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `nn.Parameter(torch.zeros(1, n // 4, d))` for `n // 2`, a table for what
    is halved once more.
    """
    for fix in fix_created_tensor(program, failure):
        if len(fix.edits) == 1 and QUOTIENT.search(fix.edits[0].text):
            yield fix


QUOTIENT = re.compile(r"\w // \d+")


def _list_quotients(
    text: SourceText, node: ast.expr, before: int, size: int
) -> list[str]:
    """Return `n // 4` for the `n // 2` of a signal that is halved twice, and `n // 2 +
    1` for the bins of a real spectrum.
    """
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv):
        return []
    number = evaluate_whole_number(node.right)
    if size == before + 1 and number == 2:
        return [f"{text.written(node)} + 1"]
    if number and size and before % size == 0:
        return [f"{text.written(node.left)} // {number * (before // size)}"]
    return []


def _write_size_of_model(
    program: Program, text: SourceText, call: ast.Call, place: int, size: int
) -> str:
    """Return `x.size(0)` for a size in `x.new_zeros(...)`, if the same dim of `x` has
    it, or only one, or an empty text.
    """
    op = program.op_at(text.span(call))
    func = call.func
    if op is None or not op.inputs or not isinstance(func, ast.Attribute):
        return ""
    shape = op.inputs[0].shape
    dims = [dim for dim, other in enumerate(shape) if other == size]
    dims = [place] if place in dims else dims
    is_model = func.attr.startswith("new_") and size > 1 and len(dims) == 1
    return f"{text.written(func.value)}.size({dims[0]})" if is_model else ""


MOST_EXTRA = 2
"""Places that a table may have for more than its name counts: those of tokens."""


def find_size_nodes(
    text: SourceText, call: ast.Call, rank: int
) -> list[ast.expr] | None:
    """Return the expressions of the sizes in a call, one per dim.

    A name among the arguments that stands for a tuple is looked up.
    """
    values = [
        _find_value(
            text, argument.value if isinstance(argument, ast.Starred) else argument
        )
        for argument in call.args
    ]
    for value in values:
        if isinstance(value, ast.Tuple | ast.List):
            sure = not any(isinstance(item, ast.Starred) for item in value.elts)
            return list(value.elts) if len(value.elts) == rank and sure else None
    arguments = list(call.args)
    if len(arguments) != rank or any(
        isinstance(argument, ast.Starred) for argument in arguments
    ):
        return None
    return arguments


def _find_value(text: SourceText, node: ast.expr) -> ast.expr:
    """Return the tuple assigned to a name in the same function, else
    the node itself.
    """
    scope = text.around(node, *FUNCTIONS)
    for statement in iter_own_nodes(scope) if isinstance(node, ast.Name) else ():
        if isinstance(statement, ast.Assign) and statement.lineno < node.lineno:
            target, value = statement.targets[0], statement.value
            same = isinstance(target, ast.Name) and get_last_name(
                target
            ) == get_last_name(node)
            if same and isinstance(value, ast.Tuple):
                return value
    return node


def _with_words(
    text: SourceText, call: ast.Call, nodes: list[ast.expr], words: list[str]
) -> Fix:
    """Replace all sizes of a call at once."""
    first, last = text.span(nodes[0]), text.span(nodes[-1])
    span = first.until(last)
    new = ", ".join(words)
    whole, outer = text.written(call), text.span(call)
    message = f"`{new}`" if len(words) < 2 else f"`({new})`"
    inside = outer.line == outer.end_line == span.line
    if inside and outer.column < span.column < outer.end_column:
        start, end = span.column - outer.column, span.end_column - outer.column
        message = f"`{whole[:start]}{new}{whole[end:]}`"
    return Fix("fits", message, (Edit(span, new),))
