"""What a loop hands out: two fields of a batch in the other order, maps of a list from
the wrong end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    BATCH_DIM_MISMATCH,
    BROADCAST_MISMATCH,
    CHANNEL_MISMATCH,
    INNER_DIM_MISMATCH,
    JOINED_SIZES_DIFFER,
    WRONG_RANK,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
)

OF_FIELDS = frozenset({CHANNEL_MISMATCH, INNER_DIM_MISMATCH, WRONG_RANK})
OF_MAPS = frozenset({
    BATCH_DIM_MISMATCH, BROADCAST_MISMATCH, CHANNEL_MISMATCH, JOINED_SIZES_DIFFER,
})  # fmt: skip


def suggest_exchanged_fields(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `for labels, images in loader` for `for images, labels in loader` where a
    model is given what the other name has.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_FIELDS or not op.inputs:
        return
    if op.inputs[0].tensor not in program.batches:
        return
    for frame in op.frames:
        place = program.call_at(frame.span)
        first = place[1].args[0] if place is not None and place[1].args else None
        if place is None or not isinstance(first, ast.Name):
            continue
        pair = _find_pair(place[0], first)
        if pair is not None:
            names = [place[0].written(name) for name in pair]
            edits = tuple(
                Edit(place[0].span(node), name)
                for node, name in zip(pair, reversed(names), strict=True)
            )
            yield Fix("fits", f"`{names[1]}, {names[0]}`, as they come", edits)
            return


def _find_pair(text: SourceText, name: ast.Name) -> list[ast.expr] | None:
    """Return the two targets of the loop around a name that it is one of."""
    node: ast.AST | None = name
    while node is not None and not isinstance(node, FUNCTIONS):
        if isinstance(node, ast.For):
            for target in ast.walk(node.target):
                names = getattr(target, "elts", [])
                is_plain = all(isinstance(part, ast.Name) for part in names)
                own = [getattr(part, "id", "") for part in names]
                if len(names) == 2 and is_plain and name.id in own:
                    return list(names)
        node = text.parent(node)
    return None


def suggest_reversed_maps(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `zip(self.ups, skips[::-1])` and `skips.pop()` where a decoder takes the
    maps of its encoder from the first on.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code not in OF_MAPS:
        return
    op = program.trace.ops[failure.op]
    places = [program.node(op.span), *(program.node(f.span) for f in op.frames)]
    seen: set[ast.AST] = set()
    for place in places:
        if place is None:
            continue
        text, node = place[0], place[1]
        scope = text.around(node, *FUNCTIONS)
        loop = text.around(node, ast.For)
        if loop is None or scope is None or loop in seen:
            continue
        seen.add(loop)
        lists = _collect_lists(scope)
        if isinstance(loop, ast.For):
            yield from _iter_reversed(text, loop, lists)


def _collect_lists(scope: ast.AST) -> set[str]:
    """Return the lists of a function to which something is appended."""
    return {
        receiver.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Call) and get_called_name(node) == "append"
        for receiver in [get_receiver(node)]
        if isinstance(receiver, ast.Name)
    }


def _iter_reversed(text: SourceText, loop: ast.For, lists: set[str]) -> Iterator[Fix]:
    """Yield the ways to take the items of a list of maps from its end."""
    sources = loop.iter.args if isinstance(loop.iter, ast.Call) else [loop.iter]
    for source in sources:
        if isinstance(source, ast.Name) and source.id in lists:
            edit = Edit(text.span(source).end, "[::-1]")
            yield Fix("fits", f"`{source.id}[::-1]`", (edit,))
    counters = collect_names(loop.target)
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and get_called_name(node) == "pop":
            receiver = get_receiver(node)
            is_first = [text.written(argument) for argument in node.args] == ["0"]
            if isinstance(receiver, ast.Name) and receiver.id in lists and is_first:
                edit = Edit(text.span(node.args[0]), "")
                yield Fix("fits", f"`{receiver.id}.pop()`", (edit,))
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            continue
        index = node.slice
        is_counter = isinstance(index, ast.Name) and index.id in counters
        if node.value.id in lists and is_counter:
            new = f"-1 - {text.written(index)}"
            shown = f"`{node.value.id}[{new}]`"
            yield Fix("fits", shown, (Edit(text.span(index), new),))


def suggest_items_of_samples(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `pair[:, 0], pair[:, 1]` for `pair[0], pair[1]` where each sample is a
    pair, and the first two samples of the batch are read.
    """
    unmet = failure.unmet
    if unmet is None:
        return
    done: set[ast.AST] = set()
    for op in program.trace.ops[: failure.op]:
        source = op.inputs[0] if len(op.inputs) == 1 else None
        place = program.node(op.span)
        if source is None or place is None or source.tensor not in program.batches:
            continue
        text, node = place
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            continue
        scope = text.around(node, *FUNCTIONS) or text.tree
        if scope is None or scope in done or source.ndim < 3:
            continue
        done.add(scope)
        reads = [
            part
            for part in ast.walk(scope)
            if isinstance(part, ast.Subscript)
            and isinstance(part.value, ast.Name)
            and part.value.id == node.value.id
            and isinstance(part.ctx, ast.Load)
        ]
        numbers = {
            part.slice.value
            for part in reads
            if isinstance(part.slice, ast.Constant) and type(part.slice.value) is int
        }
        if len(numbers) == source.shape[1] > 1 and numbers == {*range(len(numbers))}:
            name = node.value.id
            edits = tuple(Edit(text.span(part.slice).start, ":, ") for part in reads)
            shown = ", ".join(f"{name}[:, {number}]" for number in sorted(numbers))
            yield Fix("fits", f"`{shown}`", edits)
            return
