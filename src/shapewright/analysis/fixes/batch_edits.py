"""A model that is given one sample where it was given batches before, or a last batch
with fewer samples than the others.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.fixes.batches_of_one import iter_batch_sizes_of_one
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.program_run import Program, format_shape
from shapewright.findings.codes import (
    INNER_DIM_MISMATCH,
    NOT_FLATTENED,
    ONE_VALUE_PER_CHANNEL,
    WRONG_RANK,
)
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.facts import operators_with, values_of
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    iter_assignments,
)
from shapewright.record.ops import Fact, ModuleCall, collect_leaves
from shapewright.record.report import LastBatch


@dataclass(frozen=True, slots=True)
class _SingleSample:
    """A call of a model with one sample, and an earlier call with a batch of them."""

    call: ModuleCall
    fact: Fact
    place: int
    earlier: ModuleCall
    batch: Fact


def _find_single_sample(program: Program, op: int | None) -> _SingleSample | None:
    """Return the outermost call of a model around an op, or in which the run ended, if
    an argument lacks the first dim that it had in an earlier call.
    """
    calls = program.trace.calls
    script = bool(calls) and not any(calls[0].inputs)
    around = [
        call
        for call in calls
        if op is not None
        and call.ops[0] <= op < call.ops[1]
        and (call.index > 0 or not script)
    ]
    if op is None:  # what began last, and has not ended
        outer = 0 if script else None
        around = [call for call in calls if call.parent == outer][-1:]
    if not around:
        return None
    call = around[0]
    for earlier in calls[: call.index]:
        if earlier.path != call.path or earlier.parent != call.parent:
            continue
        pairs = zip(call.inputs[0], earlier.inputs[0], strict=False)
        for place, (mine, other) in enumerate(pairs):
            if not isinstance(mine, Fact) or not isinstance(other, Fact):
                continue
            if len(other.shape) > 1 and mine.shape == other.shape[1:]:
                return _SingleSample(call, mine, place, earlier, other)
        if any(collect_leaves(earlier.inputs)):
            return None
    return None


def suggest_batch_of_one(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `model(x.unsqueeze(0))` where the model had batches before."""
    single = _find_single_sample(program, failure.op)
    where = program.call_at(single.call.span) if single is not None else None
    if single is None or where is None or single.place >= len(where[1].args):
        return
    argument = where[1].args[single.place]
    if not isinstance(argument, ast.Starred):
        yield append_method(where[0], argument, ".unsqueeze(0)")


def describe_single_sample(program: Program, op: int | None) -> Related | None:
    """Return where a model is given one sample, and what it was given before."""
    single = _find_single_sample(program, op)
    if single is None or single.call.span is None:
        return None
    name = f"`{single.call.path or single.call.class_name}`"
    line = f" at line {single.earlier.span.line}" if single.earlier.span else ""
    return Related(
        single.call.span,
        f"{name} is given one sample {format_shape(single.fact)} here, and a batch"
        f" {format_shape(single.batch)}{line}",
    )


def describe_unbatched(program: Program, failure: Failure) -> Related | None:
    """Return which image has no dim for the batch, where a flatten behind convolutions
    took its channels for the samples.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code not in OF_ONE_IMAGE:
        return None
    for op in program.trace.ops[: failure.op]:
        rank = UNBATCHED.get(op.name.rpartition(".")[2])
        if rank is None or len(op.inputs[0].shape) != rank:
            continue
        for call in program.trace.calls:
            if call.span is None or not call.ops[0] <= op.index < call.ops[1]:
                continue
            entered = {leaf.tensor for leaf in collect_leaves(list(call.inputs))}
            if op.inputs[0].tensor not in entered:
                return None  # what the model makes of its input may have a batch
            words = (
                f"`{call.path or call.class_name}` is given one sample"
                f" {format_shape(op.inputs[0])} without a dim for the batch: a"
                " convolution takes it, and "
            )
            of_norm = "a norm of batches does not"
            of_flatten = "what flattens from dim 1 takes its channels for samples"
            words += of_norm if unmet.code == WRONG_RANK else of_flatten
            return Related(call.span, words)
    return None


def suggest_counted_batch(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `batch_size = x.shape[0]` in a method that views its tensors with a size
    that is stored, which the last batch does not have.
    """
    op = program.trace.ops[failure.op]
    place = program.call_at(op.span)
    if place is None or not place[1].args:
        return
    text, call = place
    scope = text.around(call, ast.FunctionDef)
    names = [part.arg for part in scope.args.args] if scope is not None else []
    sequence = next((name for name in names if name not in ("self", "cls")), "")
    first = call.args[0]
    size = first.elts[0] if isinstance(first, ast.Tuple | ast.List) else first
    usual = {
        short.usual
        for short in program.remainders
        if short.began <= failure.op < short.ended
    }
    sizes = [value for _, value in op.arguments if type(value) is int][:1]
    if scope is None or not sequence or not sizes or sizes[0] not in usual:
        return
    if not isinstance(size, ast.Name | ast.Attribute):
        return
    written = text.written(size)
    for target, value in iter_assignments(scope):
        if text.written(target) == written and value is not None:
            edit = Edit(text.span(value), f"{sequence}.shape[0]")
            yield Fix("fits", f"`{written} = {sequence}.shape[0]`", (edit,))
            return
    places = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name | ast.Attribute) and text.written(node) == written
    ]
    edits = [Edit(text.span(node), f"{sequence}.shape[0]") for node in places]
    if written not in names:
        yield Fix("fits", f"`{sequence}.shape[0]` for `{written}`", tuple(edits))


def suggest_size_of_loop_batch(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `b = real.size(0)`, or `torch.ones(real.size(0), 1)`, where what a loop
    makes for its batch has a number of rows that is written elsewhere.
    """
    op = program.trace.ops[failure.op]
    place = program.node(op.span)
    rows = {fact.shape[0] for fact in op.inputs[:2] if fact.shape}
    if place is None or len(rows) != 2 or len(op.inputs) < 2:
        return
    text, node = place
    loop = next((n for n in text.outwards(node) if isinstance(n, ast.For)), None)
    targets = [
        name.id
        for name in (ast.walk(loop.target) if loop is not None else ())
        if isinstance(name, ast.Name)
    ]
    if loop is None or not targets or get_called_name(loop.iter) == "range":
        return
    if get_called_name(loop.iter) == "enumerate":
        targets = targets[1:]
    new = f"{targets[0]}.size(0)" if targets else ""
    edits: dict[Span, Edit] = {}
    shown = ""
    for call in (c for c in ast.walk(loop) if get_called_name(c) in FACTORIES):
        for size in call.args[:1] if isinstance(call, ast.Call) and new else ():
            size = size.elts[0] if isinstance(size, ast.Tuple) and size.elts else size
            values = _list_values(text, size) if isinstance(size, ast.Name) else []
            if len(values) != 1 or evaluate_whole_number(values[0]) not in rows:
                continue
            is_own = loop in list(text.outwards(values[0]))
            where = values[0] if is_own else size
            edits[text.span(where)] = Edit(text.span(where), new)
            name = text.written(size)
            shown = f"`{name} = {new}`" if is_own else f"`{new}` for `{name}`"
    parts = _list_parts(text, loop, new, rows) if new else []
    edits |= {edit.span: edit for edit, _ in parts}
    if parts:
        named = " and ".join(dict.fromkeys(f"`{part}`" for _, part in parts))
        shown = f"{named}, {shown}" if shown else named
    if edits:
        yield Fix("fits", shown, tuple(edits.values()))


def _list_values(text: SourceText, name: ast.Name) -> list[ast.expr]:
    """Return what a name is set to, but not where it is passed on by its own name."""
    values = find_defining(text, name.id)
    return [v for v in values if not isinstance(v, ast.Name) or v.id != name.id]


def _list_parts(
    text: SourceText, loop: ast.For, size: str, rows: set[int]
) -> list[tuple[Edit, str]]:
    """Return `ones[:real.size(0)]` for what a loop reads and a call above it has made
    once, with as many rows as a full batch.
    """
    parts: list[tuple[Edit, str]] = []
    for name in ast.walk(loop):
        if not isinstance(name, ast.Name) or not isinstance(name.ctx, ast.Load):
            continue
        values = find_defining(text, name.id)
        factory = values[0] if len(values) == 1 else None
        if not isinstance(factory, ast.Call) or not isinstance(
            text.parent(name), ast.Call
        ):
            continue
        if get_called_name(factory) not in FACTORIES or loop in list(
            text.outwards(factory)
        ):
            continue
        first = factory.args[0] if factory.args else None
        sizes = first.elts if isinstance(first, ast.Tuple) else [first]
        count = next(iter(sizes), None)
        if isinstance(count, ast.Name):
            count = next(iter(_list_values(text, count)), None)
        if count is not None and evaluate_whole_number(count) in rows:
            part = f"{name.id}[:{size}]"
            parts.append((Edit(text.span(name), part), part))
    return parts


FACTORIES = operators_with("is_sized_factory")
"""Calls that make tensors of sizes that they are given."""


def describe_last_batch(program: Program, failure: Failure) -> Related | None:
    """Return which loader ends with a smaller batch, where a call fails with that batch
    alone.
    """
    place = program.trace.ops[failure.op].span
    failing = [f.op for f in program.failures if program.trace.ops[f.op].span == place]
    spans = [(short.began, short.ended) for short in program.remainders]
    if not all(any(b <= op < e for b, e in spans) for op in failing):
        return None
    for short in program.remainders:
        if not short.began <= failure.op < short.ended:
            continue
        if not any(op.span == place for op in program.trace.ops[: short.began]):
            continue
        text = program.text(short.file)
        for node in text.near(short.line) if text is not None else ():
            if text is not None and get_called_name(node) == short.name:
                words = f"the last batch has {short.samples} samples of {short.usual}"
                words += _describe_rest(program, short)
                return Related(text.span(node), words)
    return None


def _describe_rest(program: Program, short: LastBatch) -> str:
    """Return that the items of a data set are no multiple of a batch, if one has as
    many left over as a last batch.
    """
    waiting = [program.rehearsal.story] if program.rehearsal is not None else []
    counts = set()
    while waiting:
        moment = waiting.pop()
        waiting += moment.inner
        number = ITEMS.search(moment.text) if moment.kind == "batches" else None
        items = int(number[1].replace(",", "")) if number is not None else 0
        if items % short.usual == short.samples:
            counts.add(items)
    if len(counts) != 1:
        return ""
    return f": {counts.pop()} is no multiple of {short.usual}"


ITEMS = re.compile(r"\b([\d,]+) items$")
"""How many items a data set has, in the words of a story."""


def suggest_batches_of_one(program: Program) -> Iterator[Fix]:
    """Suggest `unsqueeze(0)` for all that a model was given in the call in which the
    program's own Python raised, where it had batches before.
    """
    single = _find_single_sample(program, None)
    where = program.call_at(single.call.span) if single is not None else None
    if single is None or where is None:
        return
    text, call = where
    places: dict[Span, ast.expr] = {}
    pairs = zip(
        single.call.inputs[0], single.earlier.inputs[0], call.args, strict=False
    )
    for mine, other, argument in pairs:
        facts = zip(collect_leaves(mine), collect_leaves(other), strict=False)
        lacking = [fact for fact, had in facts if fact.shape == had.shape[1:]]
        if isinstance(mine, Fact) and lacking:
            places[text.span(argument)] = argument
            continue
        for fact in lacking:  # what another model made of one sample
            for place in _iter_outer_arguments(program, text, call, fact):
                places[text.span(place)] = place
    edits = [
        edit
        for place in places.values()
        for edit in append_method(text, place, ".unsqueeze(0)").edits
    ]
    if edits:
        names = [f"`{text.written(p)}.unsqueeze(0)`" for p in places.values()]
        yield Fix("fits", " and ".join(names), tuple(edits))


def _iter_outer_arguments(
    program: Program, text: SourceText, beside: ast.Call, fact: Fact
) -> Iterator[ast.expr]:
    """Yield the argument, in the function of a call, that a tensor was made of."""
    maker = program.producers.get(fact.tensor)
    scope = text.around(beside, ast.FunctionDef)
    for frame in maker.frames if maker is not None else ():
        text_and_call = program.call_at(frame.span)
        if text_and_call is None or text_and_call[0].file != text.file:
            continue
        call = text_and_call[1]
        if text.around(call, ast.FunctionDef) is scope and call.args:
            yield call.args[0]
            return


def add_batch(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `image.unsqueeze(0)` where a model is called with one image, whose
    channels a flatten took for the batch.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code not in OF_ONE_IMAGE:
        return
    for op in program.trace.ops[: failure.op]:
        rank = UNBATCHED.get(op.name.rpartition(".")[2])
        if rank is None or len(op.inputs[0].shape) != rank:
            continue
        for frame in op.frames:
            text_and_node = program.node(frame.span)
            for node in ast.walk(text_and_node[1]) if text_and_node is not None else ():
                arguments = node.args[:1] if isinstance(node, ast.Call) else []
                if (
                    text_and_node is not None
                    and arguments
                    and isinstance(
                        arguments[0],
                        ast.Name | ast.Subscript | ast.Attribute | ast.Call,
                    )
                ):
                    yield append_method(text_and_node[0], arguments[0], ".unsqueeze(0)")
        return


OF_ONE_IMAGE = frozenset({INNER_DIM_MISMATCH, NOT_FLATTENED, WRONG_RANK})
"""Codes of what refuses an image without a batch, behind a convolution that takes it:
a linear layer, a batch norm.
"""
UNBATCHED = {name: dims + 1 for name, dims in values_of("spatial_dims").items()}
"""The number of dims of an input without a batch, by the name of a convolution."""


def suggest_larger_batch(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest batches of two where a loader gives one sample at a time to a batch norm
    in training: `batch_size=2`.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != ONE_VALUE_PER_CHANNEL or not op.inputs:
        return
    if op.inputs[0].shape[:1] != (1,):
        return
    for text, _, number, name in iter_batch_sizes_of_one(program):
        edit = Edit(text.span(number), "2")
        yield Fix("fits", f"`{name}=2`", (edit,))
