"""Fixes that change the operands of a failing call: transpose, cast or cut them, or add
or remove dims.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.fixes.listed_tensors import collect_listed
from shapewright.analysis.fixes.suspect_lines import (
    Line,
    iter_nodes_on,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import (
    find_tensor_expressions,
    is_namespace,
)
from shapewright.analysis.provenance.origins import find_constructor
from shapewright.findings.codes import (
    LENGTHS_ON_GPU,
    ONE_VALUE_PER_CHANNEL,
    TARGET_SHAPE,
    TO_NUMPY,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import RANK_KINDS, Failure, Repair
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_shape_owner,
    list_arguments,
)
from shapewright.record.ops import Fact, Op, collect_leaves

TIGHT = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
"""Expressions that a method call can follow without parentheses."""


def with_method(
    program: Program, failure: Failure, tensor: int, method: str
) -> Iterator[Fix]:
    """Append `method` to an operand, at the call or where the tensor is passed in."""
    op = program.trace.ops[failure.op]
    text_and_node = program.node(op.span)
    expressions = find_tensor_expressions(program, op)
    place = expressions[tensor] if tensor < len(expressions) else None
    if text_and_node is not None and place is not None:
        yield append_method(text_and_node[0], place[0], method)
    for text, node in iter_handed_arguments(program, op, op.inputs[tensor]):
        yield append_method(text, node, method)


def with_method_where_made(
    program: Program,
    failure: Failure,
    tensor: int,
    method: str,
    kinds: tuple[type[ast.expr], ...] = (ast.Call,),
) -> Iterator[Fix]:
    """Append `method` to an operand as `with_method` does, then to the expression that
    made it, if it is of one of the kinds.
    """
    yield from with_method(program, failure, tensor, method)
    op = program.trace.ops[failure.op]
    number = op.inputs[tensor].tensor
    before = program.trace.ops[: op.index]
    makers = [o for o in before if any(out.tensor == number for out in o.outputs)]
    for maker in reversed(makers):  # the last handed it on unchanged
        text_and_node = program.node(maker.span)
        if text_and_node is None or maker.span == op.span:
            continue
        if isinstance(text_and_node[1], kinds):
            yield append_method(text_and_node[0], text_and_node[1], method)


def iter_handed_arguments(
    program: Program, op: Op, fact: Fact
) -> Iterator[tuple[SourceText, ast.expr]]:
    """Yield the arguments by which a tensor was passed into the modules around a call.

    What only changed its elements on the way counts as the same tensor.
    """
    same = {fact.tensor}
    for _ in range(FOLLOWED):
        maker = program.producers.get(fact.tensor)
        before = maker.inputs[0] if maker is not None and maker.inputs else None
        if before is None or before.shape != fact.shape:
            break
        fact = before
        same.add(fact.tensor)
    call = program.call_of(op)
    while call is not None and call.parent is not None:
        text_and_call = program.call_at(call.span)
        if text_and_call is not None:
            values = [*call.inputs[0], *call.inputs[1].values()]
            for value, node in zip(
                values, list_arguments(text_and_call[1]), strict=False
            ):
                if isinstance(value, Fact) and value.tensor in same:
                    yield text_and_call[0], node
        call = program.trace.calls[call.parent]


FOLLOWED = 6
"""Ops that are followed back from an operand."""


def append_method(text: SourceText, node: ast.expr, method: str) -> Fix:
    """Append a method call to an expression."""
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
    return Fix("fits", f"`{join_lines(shown)}`", edits)


def fix_for_numpy(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x.detach().cpu()` for a tensor that NumPy reads."""
    op = program.trace.ops[failure.op]
    if failure.unmet is not None and failure.unmet.code == LENGTHS_ON_GPU:
        yield from with_method(program, failure, 1, ".cpu()")
    if failure.unmet is None or failure.unmet.code != TO_NUMPY:
        return
    fact = op.inputs[0]
    method = ".detach()" if fact.requires_grad else ""
    method += ".cpu()" if fact.device != "cpu" else ""
    method += ".float()" if fact.dtype == "bfloat16" else ""
    text_and_node = program.node(op.span)
    if text_and_node is None:
        return
    if fact.requires_grad and not fact.shape:
        yield from _suggest_number_of_sum(program, fact)
    text, node = text_and_node
    func = node.func if isinstance(node, ast.Call) else None
    if op.name.endswith(".numpy") and isinstance(func, ast.Attribute):
        yield append_method(text, func.value, method)
    elif isinstance(node, ast.Call):
        computes = fact.requires_grad and get_called_name(node) in OF_BOTH
        lists = [collect_listed(text, argument) for argument in node.args]
        computes &= not any(lists)
        own = list(_suggest_functions_of_torch(text, node)) if computes else []
        yield from own
        for argument, kept in zip(node.args, lists, strict=True) if not own else ():
            if kept:
                taken = ".item()" if not fact.shape else method
                edits = [append_method(text, item, taken) for item in kept]
                yield replace(
                    edits[0], edits=tuple(edit for fix in edits for edit in fix.edits)
                )
            else:
                yield append_method(text, argument, method)


def _suggest_number_of_sum(program: Program, fact: Fact) -> Iterator[Fix]:
    """Suggest `loss.item()` where losses are added up to what NumPy reads."""
    for _ in range(FARTHEST):
        maker = program.producers.get(fact.tensor)
        place = program.node(maker.span) if maker is not None else None
        if maker is None or place is None or fact.shape or not maker.inputs:
            return
        statement = place[0].statement_of(place[1])
        if isinstance(statement, ast.AugAssign):
            if isinstance(statement.value, ast.Name | ast.Call):
                yield append_method(place[0], statement.value, ".item()")
            return
        fact = maker.inputs[0]


FARTHEST = 4
"""Calls between a sum and what is read of it."""
OF_BOTH = operators_with("computes_each_element", "reduces_dims")
"""Functions that NumPy has too, by the same name and for the same arguments."""


def _suggest_functions_of_torch(text: SourceText, node: ast.Call) -> Iterator[Fix]:
    """Suggest `torch.log1p(x) - torch.log1p(y)` for the functions of NumPy in a
    statement, which keep no graph.
    """
    edits, names = [], []
    for call in ast.walk(text.statement_of(node)):
        func = call.func if isinstance(call, ast.Call) else None
        if not isinstance(func, ast.Attribute) or func.attr not in OF_BOTH:
            continue
        if text.written(func.value) in ("np", "numpy"):
            edits.append(Edit(text.span(func), f"torch.{func.attr}"))
            names.append(f"`torch.{func.attr}`")
    if edits:
        shown = " and ".join(dict.fromkeys(names))
        yield Fix("fits", f"{shown}, which keep the graph", tuple(edits))


def fix_storage(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `reshape` in place of `view`, or a call of `contiguous` before the
    `view`.
    """
    op = program.trace.ops[failure.op]
    if not any(repair.kind == "contiguous" for repair in failure.repairs):
        return
    text_and_call = program.call_at(op.span)
    if text_and_call is not None:
        text, node = text_and_call
        if isinstance(node.func, ast.Attribute) and node.func.attr == "view":
            end = text.span(node.func)
            start = end.end_column - len("view")
            name = Span(end.file, end.end_line, start, end.end_line, end.end_column)
            yield from _suggest_split_dim(program, failure, text, node)
            shown = join_lines(text.written(node))
            yield Fix(
                "safe",
                f"`reshape` instead of `view` in `{shown}`",
                (Edit(name, "reshape"),),
            )
    for repair in failure.repairs:
        if repair.kind == "contiguous":
            yield from with_method(program, failure, repair.tensor, ".contiguous()")


def _suggest_split_dim(
    program: Program, failure: Failure, text: SourceText, node: ast.Call
) -> Iterator[Fix]:
    """Suggest `x.view(B, T, heads, width).transpose(1, 2)` for
    `x.view(B, heads, T, width)`.
    """
    shape = program.trace.ops[failure.op].inputs[0].shape
    outputs = program.trace.ops[failure.op].outputs
    after = outputs[0].shape if outputs else ()
    written = [text.written(argument) for argument in node.args]
    if len(after) != len(shape) + 1 or len(written) != len(after):
        return
    for at in range(1, len(shape) - 1):
        turned = [*after]
        turned[at], turned[at + 1] = turned[at + 1], turned[at]
        if tuple(turned[: len(shape) - 1]) == shape[:-1] and after[at] != shape[at]:
            written[at], written[at + 1] = written[at + 1], written[at]
            new = f"view({', '.join(written)}).transpose({at}, {at + 1})"
            span, inner = text.span(node), text.span(node.func)
            start = inner.end_column - len("view")
            place = Span(
                span.file, inner.end_line, start, span.end_line, span.end_column
            )
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(place, new),))
            return


def fix_rank(program: Program, failure: Failure) -> Iterator[Fix]:
    """Remove or add a dim, or merge dims; fixes that remove dims come first."""
    op = program.trace.ops[failure.op]
    first = _get_batch_size(program)
    for kind in RANK_KINDS:
        repairs = [r for r in failure.repairs if r.kind == kind and not r.parameter]
        if kind == "squeeze":  # dim 0 may be a batch of one
            repairs.sort(key=lambda r: r.dim == 0)
        if kind == "unsqueeze":
            most = max((len(fact.shape) for fact in op.inputs), default=0)
            alone = len(op.inputs) < 2 or program.layer(op) is not None
            repairs = [
                r for r in repairs if alone or len(op.inputs[r.tensor].shape) < most
            ]  # of two operands with as many dims it would make every pair
            repairs.sort(
                key=lambda r: _rank_new_dim(op.inputs[r.tensor].shape, r, first)
            )
        for repair in repairs:
            method = f".{kind}({repair.dim})"
            if kind == "flatten" and _is_of_classes(failure, op, repair):
                continue
            if kind == "flatten" and _is_of_image(op, repair):
                continue
            if repair.new is not None and _is_mask_of_queries(op, repair):
                continue
            if repair.new is not None:
                rank = len(op.inputs[repair.tensor].shape) + 2
                items = ["None" if d in repair.new else ":" for d in range(rank)]
                method = f"[{', '.join(items)}]"
            yield from with_method_where_made(program, failure, repair.tensor, method)


def _is_of_classes(failure: Failure, op: Op, repair: Repair) -> bool:
    """Return whether the scores of several places would become those of as many more
    classes: (samples, tokens, classes) for one label of each sample.
    """
    if failure.unmet is None or failure.unmet.code != TARGET_SHAPE:
        return False
    if op.name.rpartition(".")[2] not in ("cross_entropy", "nll_loss"):
        return False
    merged = op.inputs[repair.tensor].shape[repair.dim or 0 :]
    return repair.tensor == 0 and sum(size > 1 for size in merged) > 1


def _is_of_image(op: Op, repair: Repair) -> bool:
    """Return whether rows and columns of an image, or of a volume, would be merged."""
    merged = op.inputs[repair.tensor].shape[repair.dim or 0 :]
    is_windowed = op.name.rpartition(".")[2] in ("conv2d", "conv3d")
    return is_windowed and sum(size > 1 for size in merged) > 1


def _is_mask_of_queries(op: Op, repair: Repair) -> bool:
    """Return whether two new dims would lay one number for each token along the rows of
    scores, which are as many as the columns: a mask of padding is for what is read.
    """
    shape, places = op.inputs[repair.tensor].shape, set(repair.new)
    others = [fact.shape for n, fact in enumerate(op.inputs) if n != repair.tensor]
    is_square = any(len(other) > 2 and other[-1] == other[-2] for other in others)
    return is_square and len(shape) == 2 and len(shape) + 1 in places


def _get_batch_size(program: Program) -> int | None:
    """Return the size of the first dim of the program's input."""
    if not program.trace.calls:
        return None
    args, kwargs = program.trace.calls[0].inputs
    facts = collect_leaves([args, kwargs])
    return facts[0].shape[0] if facts and facts[0].shape else None


def _rank_new_dim(shape: tuple[int, ...], repair: Repair, batch: int | None) -> int:
    """Return a sort key for the place of a new dim: right after the batch dim if there
    is one, else in front.
    """
    dim = repair.dim or 0
    if shape and shape[0] == batch:
        return {1: 0, len(shape): 1}.get(dim, 2 + dim)
    return dim


def drop_norm(program: Program, failure: Failure) -> Iterator[Fix]:
    """Remove a norm of 1 x 1 maps, or its call; not one that a batch of one reaches."""
    op = program.trace.ops[failure.op]
    unmet = failure.unmet
    if unmet is None or unmet.code != ONE_VALUE_PER_CHANNEL:
        return
    if not op.inputs or op.inputs[0].shape[:1] == (1,):
        return
    layer = program.layer(op)
    text_and_call = find_constructor(program, layer.path) if layer is not None else None
    if text_and_call is not None:
        text, call = text_and_call
        yield Fix("fits", "`nn.Identity()`", (Edit(text.span(call), "nn.Identity()"),))
    text_and_call = program.call_at(op.span)
    if text_and_call is not None:
        yield from _drop_call(*text_and_call)


def _drop_call(text: SourceText, call: ast.Call) -> Iterator[Fix]:
    """Replace a call by its argument."""
    if len(call.args) == 1 and not call.keywords:
        kept = text.written(call.args[0])
        yield Fix("fits", f"`{kept}`", (Edit(text.span(call), kept),))


def suggest_flatten_dim(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """Suggest `flatten(1)` for `flatten()`, which merges the batch into one row."""
    for text, node in iter_nodes_on(program, lines, ast.Call):
        func = node.func
        if not isinstance(func, ast.Attribute) or node.keywords:
            continue
        function = is_namespace(func.value)
        if func.attr != "flatten" or len(node.args) != int(function):
            continue
        inside = text.span(node).end
        place = replace(inside, column=inside.column - 1, end_column=inside.column - 1)
        word = ", 1" if function else "1"
        message = f"`{text.written(node)[:-1]}{word})`"
        yield Fix("fits", message, (Edit(place, word),))


def fix_unpacking(program: Program, finding: Finding) -> Iterator[Fix]:
    """Change the rank of `x` where `x` is defined, to fit the unpacking `B, N, C =
    x.shape`.
    """
    too_many = re.search("too many values to unpack", finding.message)
    too_few = re.search("not enough values to unpack", finding.message)
    if not (too_many or too_few) or finding.span is None:
        return
    text = program.text(finding.span.file)
    for node in text.near(finding.span.line) if text is not None else ():
        source = get_shape_owner(node.value) if isinstance(node, ast.Assign) else None
        if source is None:
            continue
        assert text is not None
        sources = list(_iter_sources(text, source, node.lineno, DEEP))
        for methods in (FEWER, FEWER_STILL) if too_many else (MORE,):
            for method in methods:
                for place in sources:
                    yield append_method(text, place, method)


FEWER = (".flatten(2).transpose(1, 2)", ".flatten(1)", ".squeeze(1)", ".squeeze(0)")
FEWER_STILL = (".flatten(2)", ".squeeze(-1)", "[0]", ".mean(dim=1)")
MORE = (".unsqueeze(1)", ".unsqueeze(0)", ".unsqueeze(-1)")
DEEP = 4
"""How many assignments and calls a tensor is followed back through."""


def fix_sources(program: Program, failure: Failure) -> Iterator[Fix]:
    """Transpose the operands of the failing call, or change their rank, where they are
    defined.
    """
    op = program.trace.ops[failure.op]
    text_and_node = program.node(op.span)
    if text_and_node is None:
        return
    text, node = text_and_node
    sources: dict[int, ast.expr] = {}
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            for place in _iter_sources(text, child, child.lineno, 2):
                if not isinstance(place, ast.Constant):
                    sources.setdefault(id(place), place)
    for method in TURNS:
        for place in list(sources.values())[:MOST]:
            yield append_method(text, place, method)


TURNS = (".transpose(1, 2)", ".unsqueeze(1)", ".unsqueeze(-1)", ".squeeze(1)", ".T")
MOST = 5
"""Places of one kind that are tried."""


def _iter_sources(
    text: SourceText, node: ast.expr, line: int, deep: int
) -> Iterator[ast.expr]:
    """Yield the expressions that define a name: calls, and arguments passed to it."""
    if isinstance(node, ast.Call | ast.Subscript):
        yield node
    if isinstance(node, ast.List | ast.Tuple):
        for item in node.elts:
            if not isinstance(item, ast.Starred | ast.Constant):
                yield item
                yield from _iter_sources(text, item, line, deep - 1)
    if not isinstance(node, ast.Name) or not deep:
        return
    sources = list(find_defining(text, node.id))
    near = [source for source in sources if source.lineno < line]
    for source in [
        *reversed(near),
        *(source for source in sources if source not in near),
    ][:6]:
        if (
            isinstance(source, ast.Name)
            and source.id == node.id
            and source.lineno == line
        ):
            continue
        yield source
        yield from _iter_sources(text, source, source.lineno, deep - 1)
