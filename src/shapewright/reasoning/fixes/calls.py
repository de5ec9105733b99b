"""Changes at the failing call: an operand turned, cast, with a dim more or less."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.findings.fix import Edit, Fix
from shapewright.reasoning.naming import tensor_expressions
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure, Repair
from shapewright.source.expressions import Text, flat
from shapewright.source.span import Span
from shapewright.trace.fact import Fact
from shapewright.trace.module import leaves
from shapewright.trace.op import Op

TIGHT = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
"""Expressions that a method call can follow without parentheses."""
CASTS = {
    "float32": "float", "int64": "long", "float64": "double", "float16": "half",
    "bfloat16": "bfloat16", "bool": "bool", "int32": "int",
}  # fmt: skip


def with_method(
    program: Program, failure: Failure, tensor: int, method: str
) -> Iterator[Fix]:
    """The operand with `.method(...)` after it, at the call or where it came in."""
    op = program.trace.ops[failure.op]
    found = program.node(op.span)
    expressions = tensor_expressions(program, op)
    place = expressions[tensor] if tensor < len(expressions) else None
    if found is not None and place is not None:
        yield after(found[0], place[0], method)
    for text, node in handed_in(program, op, op.inputs[tensor]):
        yield after(text, node, method)


def handed_in(program: Program, op: Op, fact: Fact) -> Iterator[tuple[Text, ast.expr]]:
    """The arguments by which a tensor came into the modules around a call.

    What only changed its elements on the way counts as the same tensor.
    """
    same = {fact.tensor}
    for _ in range(FOLLOWED):
        made = program.producers.get(fact.tensor)
        before = made.inputs[0] if made is not None and made.inputs else None
        if before is None or before.shape != fact.shape:
            break
        fact = before
        same.add(fact.tensor)
    call = program.call_of(op)
    while call is not None and call.parent is not None:
        found = program.node(call.span)
        if found is not None and isinstance(found[1], ast.Call):
            values = [*call.inputs[0], *call.inputs[1].values()]
            nodes = [*found[1].args, *(word.value for word in found[1].keywords)]
            for value, node in zip(values, nodes, strict=False):
                if isinstance(value, Fact) and value.tensor in same:
                    yield found[0], node
        call = program.trace.calls[call.parent]


FOLLOWED = 6
"""Ops that are followed back from an operand."""


def after(text: Text, node: ast.expr, method: str) -> Fix:
    """An expression followed by a method call."""
    span, written = text.span(node), text.written(node)
    if isinstance(node, TIGHT):
        end = Span(
            span.file, span.end_line, span.end_column, span.end_line, span.end_column
        )
        edits: tuple[Edit, ...] = (Edit(end, method),)
        shown = f"{written}{method}"
    else:
        shown = f"({written}){method}"
        edits = (Edit(span, shown),)
    return Fix("fits", f"`{flat(shown)}`", edits)


def of_dtype(program: Program, failure: Failure) -> Iterator[Fix]:
    """A cast of one operand to the dtype of the others."""
    if failure.unmet is not None and "dtype" not in failure.unmet.code:
        return  # a cast would hide what is wrong
    for repair in failure.repairs:
        if repair.kind == "dtype" and repair.new in CASTS and not repair.parameter:
            method = f".{CASTS[repair.new]}()"
            yield from with_method(program, failure, repair.tensor, method)


def of_storage(program: Program, failure: Failure) -> Iterator[Fix]:
    """`reshape` for `view`, or `contiguous` before it."""
    op = program.trace.ops[failure.op]
    if not any(repair.kind == "contiguous" for repair in failure.repairs):
        return
    found = program.node(op.span)
    if found is not None and isinstance(found[1], ast.Call):
        text, node = found[0], found[1]
        if isinstance(node.func, ast.Attribute) and node.func.attr == "view":
            end = text.span(node.func)
            start = end.end_column - len("view")
            name = Span(end.file, end.end_line, start, end.end_line, end.end_column)
            shown = flat(text.written(node))
            yield Fix(
                "safe", f"`reshape` for `view` in `{shown}`", (Edit(name, "reshape"),)
            )
    for repair in failure.repairs:
        if repair.kind == "contiguous":
            yield from with_method(program, failure, repair.tensor, ".contiguous()")


def of_order(program: Program, failure: Failure, sure: bool) -> Iterator[Fix]:
    """Dims in another order. Sure where only that brings a size to its place."""
    op = program.trace.ops[failure.op]
    layer = program.layer(op) is not None
    for repair in failure.repairs:
        if layer and not sure:
            return  # a layer's input begins with the batch
        if repair.kind != "permute":
            continue
        equal = turned_equal(op.inputs, repair)
        unmet = failure.unmet
        vague = unmet is not None and unmet.code in VAGUE
        if ((keeps_batch(repair) or equal) and not vague) == sure:
            order = repair.new
            moved = [at for at, dim in enumerate(order) if at != dim]
            if len(moved) == 2:
                method = f".transpose({moved[0]}, {moved[1]})"
            else:
                method = f".permute({', '.join(map(str, order))})"
            yield from with_method(program, failure, repair.tensor, method)


VAGUE = frozenset({"shuffled-sizes", "element-count-mismatch", "does-not-divide"})
"""Codes where that another order fits says little."""


def turned_equal(inputs: tuple[Fact, ...], repair: Repair) -> bool:
    """Whether the dims in their new order are those of another operand."""
    shape = tuple(inputs[repair.tensor].shape[d] for d in repair.new)
    others = (fact.shape for n, fact in enumerate(inputs) if n != repair.tensor)
    return len(set(shape)) > 1 and any(shape == other for other in others)


def keeps_batch(repair: Repair) -> bool:
    """Whether the first dim stays: dims of an image or a sequence changed places."""
    order = repair.new
    return len(order) > 2 and order[0] == 0


def of_rank(program: Program, failure: Failure) -> Iterator[Fix]:
    """A dim more, a dim less, dims made one: what takes away before what adds."""
    op = program.trace.ops[failure.op]
    first = batch_of(program)
    for kind in ("squeeze", "flatten", "unsqueeze"):
        found = [r for r in failure.repairs if r.kind == kind and not r.parameter]
        if kind == "unsqueeze":
            most = max((len(fact.shape) for fact in op.inputs), default=0)
            alone = len(op.inputs) < 2 or program.layer(op) is not None
            found = [
                r for r in found if alone or len(op.inputs[r.tensor].shape) < most
            ]  # of two operands with as many dims it would make every pair
            found.sort(key=lambda r: behind(op.inputs[r.tensor].shape, r, first))
        for repair in found:
            method = f".{kind}({repair.dim})"
            if repair.new is not None:
                rank = len(op.inputs[repair.tensor].shape) + 2
                items = ["None" if d in repair.new else ":" for d in range(rank)]
                method = f"[{', '.join(items)}]"
            yield from with_method(program, failure, repair.tensor, method)


def batch_of(program: Program) -> int | None:
    """The size of the first dim of what the program was given."""
    if not program.trace.calls:
        return None
    args, kwargs = program.trace.calls[0].inputs
    facts = leaves([args, kwargs])
    return facts[0].shape[0] if facts and facts[0].shape else None


def behind(shape: tuple[int, ...], repair: Repair, batch: int | None) -> int:
    """A new dim stands behind the batch where there is one, else in front."""
    dim = repair.dim or 0
    if shape and shape[0] == batch:
        return {1: 0, len(shape): 1}.get(dim, 2 + dim)
    return dim
