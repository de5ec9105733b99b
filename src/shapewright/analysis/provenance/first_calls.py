"""The call that first made an operand: that of the items behind a collated batch, and
for a wrong dtype the one that decided it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.array_dtypes import (
    find_array_dtype,
    find_item_value,
)
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import DTYPE_MISMATCH, INDEX_OUT_OF_RANGE
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.spans import is_installed
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_name,
    iter_assignments,
)
from shapewright.record.ops import Fact, Op

FARTHEST = 16
"""Calls that an operand is followed back by."""
STACKS = ("stack", "cat")
FROM_NUMBERS = operators_with("takes_program_data")
PICKING = operators_with("reads_by_index")
DRAWING = operators_with("is_random")
OF_ARRAYS = ("from_numpy",)
"""Calls that are not in the record: their tensors have the dtype of an array."""
LONGEST = 60
"""Characters of a call that is shown whole."""


def iter_first_calls(program: Program, failure: Failure) -> Iterator[Related]:
    """Yield the call that first made the operand that does not fit, where it is another
    than the last one.
    """
    op = program.trace.ops[failure.op]
    at, of_dtype = _find_operand(failure)
    if at is None or at >= len(op.inputs) or op.inputs[at].tensor in program.states:
        return
    chain = list(_iter_chain(program, op.inputs[at], of_dtype))
    collated = bool(chain) and _is_collated(program, chain[0])
    dtype = op.inputs[at].dtype
    if of_dtype:
        origins = list(_iter_array_origins(program, op, at, chain, collated))
        if origins:
            yield from origins
            return
        written = _find_array_call(program, chain[-1] if chain else op, at, dtype)
        if written is None and not chain:
            written = _find_handed_array(program, op, at)
        if written is not None:
            text, call = written
            shown = _shorten(text, call)
            yield Related(text.span(call), f"{dtype} comes from `{shown}`")
            return
        if not collated:
            yield from _iter_typed_arrays(program, op, at, dtype)
    if not collated and not (of_dtype and len(chain) > 1):
        return
    behind = [maker for maker in chain[1:] if maker.span != chain[0].span]
    place = behind[-1 if of_dtype else 0] if behind else None
    node = program.node(place.span) if place is not None else None
    if place is None or place.span is None or node is None:
        return
    what = f"its items are {dtype} by" if of_dtype else "its items come from"
    if not collated:
        what = f"{dtype} comes from"
    yield Related(place.span, f"{what} `{_shorten(*node)}`")


def _iter_array_origins(
    program: Program, op: Op, at: int, chain: list[Op], collated: bool
) -> Iterator[Related]:
    """Yield the line that gave the array behind an operand its dtype: behind the items
    of a loader's batch, or a tensor that no call of the record made.
    """
    places, dtype = find_tensor_expressions(program, op), op.inputs[at].dtype
    place = program.node(op.span)
    expression = places[at] if at < len(places) else None
    if place is None or expression is None:
        return
    text, value = place[0], expression[0]
    if collated:
        loop = program.node(chain[0].span)
        around = loop[0].around(loop[1], ast.For) if loop is not None else None
        loop_node = loop[1] if loop and isinstance(loop[1], ast.For) else around
        if loop is None or not isinstance(loop_node, ast.For):
            return
        if loop[0] is not text or not isinstance(value, ast.Name):
            return
        item = find_item_value(text, loop_node, value.id)
        if item is None:
            return
        value = item
    elif chain:
        return
    origin = find_array_dtype(text, value, dtype)
    made_of = _get_local_value(text, value) if collated else value
    if origin is None and collated and get_called_name(made_of) in OF_ARRAYS:
        label = f"its items are {dtype} by `{_shorten(text, made_of)}`"
        yield Related(text.span(made_of), label)
    if origin is None:
        return
    shown = _shorten(text, origin)
    for word in origin.keywords if isinstance(origin, ast.Call) else ():
        if word.arg == "dtype" and "(" not in shown:
            shown = f"{shown}(..., dtype={text.written(word.value)})"
    yield Related(text.span(origin), f"{dtype} comes from `{shown}`")


def _get_local_value(text: SourceText, node: ast.expr) -> ast.expr:
    """Return what the function around a name gives it, if that is one value."""
    scope = text.around(node, *FUNCTIONS)
    values = [
        value
        for target, value in (iter_assignments(scope) if scope is not None else ())
        if value is not None
        and isinstance(target, ast.Name)
        and target.id == getattr(node, "id", "")
    ]
    return values[0] if len(values) == 1 else node


def drop_place(program: Program, failure: Failure, finding: Finding) -> Finding:
    """Return a finding on an index without its place in the batch, where a loader
    shuffles the samples: another run has it elsewhere.
    """
    at, _ = _find_operand(failure)
    op = program.trace.ops[failure.op]
    if finding.code != INDEX_OUT_OF_RANGE or at is None or at >= len(op.inputs):
        return finding
    chain = list(_iter_chain(program, op.inputs[at], False))
    of_loader = any(
        _is_collated(program, maker)
        or _is_of_numbers(program, maker)
        or _is_by_own_function(program, maker)
        for maker in chain
    ) and any(_is_shuffled(text) for text in program.own_texts())
    if not of_loader and not any(_is_picked(program, maker) for maker in chain):
        return finding
    unnamed = UNNAMED.sub(r"a label is \1", finding.message)
    if " classes " not in finding.message:
        unnamed = UNNAMED.sub(r"an index is \1", finding.message)
    return replace(finding, message=PLACE.sub(r" holds \1", unnamed))


UNNAMED = re.compile(r"a tensor at \[[\d, ]+\] is (-?\d+)$")
PLACE = re.compile(r" at \[[\d, ]+\] is (-?\d+)$")


def _is_shuffled(text: SourceText) -> bool:
    """Return whether a program has a loader that shuffles, or draws its samples."""
    return any(
        isinstance(node, ast.keyword)
        and node.arg in ("shuffle", "sampler", "batch_sampler")
        and not (isinstance(node.value, ast.Constant) and not node.value.value)
        for node in text.nodes
    )


def _find_operand(failure: Failure) -> tuple[int | None, bool]:
    """Return which operand does not fit, and whether by its dtype."""
    unmet = failure.unmet
    got = unmet.got if unmet is not None else None
    if unmet is not None and got is not None and got.argument in failure.arguments:
        return failure.arguments.index(got.argument), unmet.code == DTYPE_MISMATCH
    for repair in failure.repairs:
        if repair.kind == "dtype" and not repair.parameter:
            return repair.tensor, True
    return None, False


def _iter_chain(program: Program, fact: Fact, of_dtype: bool) -> Iterator[Op]:
    """Yield the calls that a tensor was made by, the last first; only those that keep
    the dtype, up to the one that decided it, if that is asked.
    """
    for _ in range(FARTHEST):
        maker = program.producers.get(fact.tensor)
        if maker is None:
            return
        yield maker
        same = [other for other in maker.inputs if other.dtype == fact.dtype]
        following = same if of_dtype else list(maker.inputs)
        if not following:
            return
        fact = following[0]


def _is_collated(program: Program, maker: Op) -> bool:
    """Return whether a loop over a loader put the items of a batch together."""
    place = program.node(maker.span)
    if maker.name.rpartition(".")[2] not in STACKS or place is None:
        return False
    return not isinstance(place[1], ast.Call) or (
        get_called_name(place[1]) not in STACKS
    )


def _is_of_numbers(program: Program, maker: Op) -> bool:
    """Return whether a loop over a loader made a tensor of the numbers of its items."""
    place = program.node(maker.span)
    if maker.name.rpartition(".")[2] not in FROM_NUMBERS or place is None:
        return False
    return not isinstance(place[1], ast.Call)


def _is_picked(program: Program, maker: Op) -> bool:
    """Return whether a tensor is of rows that were drawn at random."""
    if maker.name.rpartition(".")[2] not in PICKING:
        return False
    return any(
        drawer.name.rpartition(".")[2] in DRAWING
        for index in maker.inputs[1:]
        for drawer in _iter_chain(program, index, False)
    )


def _is_by_own_function(program: Program, maker: Op) -> bool:
    """Return whether a tensor is made in a `collate_fn` of the program."""
    place = program.node(maker.span)
    function = place[0].around(place[1], ast.FunctionDef) if place is not None else None
    return function is not None and any(
        isinstance(node, ast.keyword)
        and node.arg == "collate_fn"
        and get_last_name(node.value) == function.name
        for text in program.own_texts()
        for node in text.nodes
    )


def _find_array_call(
    program: Program, op: Op, at: int, dtype: str
) -> tuple[SourceText, ast.Call] | None:
    """Return the call that makes a tensor of an array, whose dtype it takes, where no
    call in the record made it.
    """
    unmade = [
        number
        for number, fact in enumerate(op.inputs)
        if fact.dtype == dtype and fact.tensor not in program.producers
    ]
    places = find_tensor_expressions(program, op)
    place = program.node(op.span)
    if not unmade or place is None:
        return None
    number = at if at in unmade else unmade[0]
    expression = places[number] if number < len(places) else None
    if expression is None:
        return None
    text = place[0]
    calls = list(dict.fromkeys(_iter_array_calls(text, expression[0], 3)))
    return (text, calls[0]) if len(calls) == 1 else None


def _find_handed_array(
    program: Program, op: Op, at: int
) -> tuple[SourceText, ast.Call] | None:
    """Return the call that makes a tensor of an array where a function yields it to a
    loop, which hands it to the functions around a call.
    """
    places = find_tensor_expressions(program, op)
    place = places[at] if at < len(places) else None
    value = place[0] if place is not None else None
    frames = [f for f in reversed(op.frames) if not is_installed(f.span.file)]
    for frame, outer in zip(frames, [*frames[1:], None], strict=True):
        text = program.text(frame.span.file)
        if text is None or not isinstance(value, ast.Name):
            return None
        yielded = _find_yielded(text, value)
        if yielded is not None:
            is_of_array = get_called_name(yielded) in OF_ARRAYS
            is_call = isinstance(yielded, ast.Call) and is_of_array
            return (text, yielded) if is_call else None  # type: ignore[return-value]
        function = text.around(value, *FUNCTIONS)
        call = program.call_at(outer.span) if outer is not None else None
        if not isinstance(function, ast.FunctionDef) or call is None:
            return None
        names = [argument.arg for argument in function.args.args]
        names = names[1:] if names[:1] == ["self"] else names
        number = names.index(value.id) if value.id in names else len(names)
        value = call[1].args[number] if number < len(call[1].args) else None
    return None


def _find_yielded(text: SourceText, name: ast.Name) -> ast.expr | None:
    """Return what a function of the file yields for a name of a loop over its call."""
    loop = text.around(name, ast.For)
    while isinstance(loop, ast.For):
        target, source = loop.target, loop.iter
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        at = [n for n, part in enumerate(parts) if get_last_name(part) == name.id]
        if at and isinstance(source, ast.Call):
            yields = [
                node.value
                for _, function in text.functions(get_called_name(source))
                for node in ast.walk(function)
                if isinstance(node, ast.Yield)
            ]
            value = yields[0] if len(yields) == 1 else None
            if isinstance(value, ast.Tuple) and len(value.elts) == len(parts):
                return value.elts[at[0]]
            return value if len(parts) == 1 else None
        loop = text.around(loop, ast.For)
    return None


def _iter_array_calls(
    text: SourceText, value: ast.expr, steps: int
) -> Iterator[ast.Call]:
    """Yield the calls that make tensors of arrays, of which a value is made."""
    if isinstance(value, ast.Call):
        if get_called_name(value) in OF_ARRAYS:
            yield value
        elif isinstance(value.func, ast.Attribute):
            yield from _iter_array_calls(text, value.func.value, steps)
    elif isinstance(value, ast.Name | ast.Attribute) and steps:
        for other in find_defining(text, get_last_name(value)):
            if other is not value:
                yield from _iter_array_calls(text, other, steps - 1)


def _iter_typed_arrays(
    program: Program, op: Op, at: int, dtype: str
) -> Iterator[Related]:
    """Yield the array of this dtype that is called like an operand, as the memory of
    actions is, if there is one alone: `self.action_memory` for `actions`.
    """
    place, places = program.node(op.span), find_tensor_expressions(program, op)
    expression = places[at] if at < len(places) else None
    name = get_last_name(expression[0]).rstrip("s") if expression is not None else ""
    if place is None or len(name) < SHORTEST:
        return
    text = place[0]
    arrays = [
        (target, value)
        for target, value in iter_assignments(text.tree)
        if isinstance(target, ast.Attribute)
        and get_last_name(target).startswith(name)
        and isinstance(value, ast.Call)
        and get_dotted_name(value.func).startswith(("np.", "numpy."))
        and any(
            word.arg == "dtype" and get_last_name(word.value) == dtype
            for word in value.keywords
        )
    ]
    if len(arrays) == 1:
        ((target, value),) = arrays
        message = f"`{text.written(target)}` is an array of {dtype}"
        yield Related(text.span(value), message)


SHORTEST = 4
"""Characters of a name by which an array is recognized."""


def _shorten(text: SourceText, node: ast.expr | ast.stmt) -> str:
    """Write a call, or its function alone where it is long."""
    written = join_lines(text.written(node))
    if len(written) > LONGEST and isinstance(node, ast.Call):
        return join_lines(text.written(node.func))
    return written if len(written) <= LONGEST else f"{written[:LONGEST]}…"
