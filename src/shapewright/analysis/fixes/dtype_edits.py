"""Casts of tensors of another dtype than a call needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.created_tensors import MAKERS
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.operands import (
    append_method,
    iter_handed_arguments,
    with_method_where_made,
)
from shapewright.analysis.fixes.scope_tensors import list_scope_facts
from shapewright.analysis.fixes.statements import wrap_in_condition
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.array_dtypes import find_item_value
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import DTYPE_MISMATCH
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure, Repair
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import collect_names, get_called_name
from shapewright.record.ops import Fact, Op

CLASS_LOSSES = operators_with("takes_class_indices")
ADDITIONS = frozenset({"+", "add"})
PRODUCTS = frozenset({"*", "mul"})
CASTS = {
    "float32": "float", "int64": "long", "float64": "double", "float16": "half",
    "bfloat16": "bfloat16", "bool": "bool", "int32": "int",
}  # fmt: skip


def fix_dtype(program: Program, failure: Failure) -> Iterator[Fix]:
    """Cast an operand to the dtype of the others."""
    if failure.unmet is not None and "dtype" not in failure.unmet.code:
        return  # a cast would hide what is wrong
    op = program.trace.ops[failure.op]
    repairs = [r for r in failure.repairs if r.kind == "dtype" and not r.parameter]

    def widens_outputs(repair: Repair) -> bool:
        """Return whether what a model gives would become float64, as its data are."""
        return repair.new == "float64" and op.inputs[repair.tensor].requires_grad

    for repair in sorted(repairs, key=widens_outputs):
        if repair.new in CASTS:
            fact = op.inputs[repair.tensor]
            if _is_written_copy(program, failure, repair.tensor):
                continue
            if widens_outputs(repair) and _find_state(program, op, "float64"):
                continue  # weights of a loss are cast, not what a model gives
            if fact.requires_grad and repair.new in ("int32", "int64", "bool"):
                continue  # no gradient would come back
            cast = _find_cast_of_numbers(program, fact)
            if cast is not None and fact.dtype in ROUNDED:
                continue  # numbers from 256 or 2048 are others by then
            parts = _find_mixed_labels(program, failure, fact)
            if parts:
                yield from _suggest_mixed_classes(program, failure, parts)
                continue
            without = list(_suggest_without_cast(program, op, repair))
            yield from without
            if without:
                continue
            # A cast of a complex number would throw its imaginary part away.
            of_complex = fact.dtype.startswith("complex")
            yield from with_method_where_made(
                program,
                failure,
                repair.tensor,
                ".abs()" if of_complex else f".{CASTS[repair.new]}()",
                kinds=(ast.Call, ast.Compare, ast.BinOp),
            )


def _find_state(program: Program, op: Op, dtype: str) -> str:
    """Return the path of a parameter or buffer of another dtype that a call reads."""
    for fact in op.inputs:
        path = program.states.get(fact.tensor, "")
        if path and fact.dtype == dtype and not fact.requires_grad:
            return path
    return ""


def suggest_cast_of_weights(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `weight.float()` for the weights that a loss was built with."""
    op = program.trace.ops[failure.op]
    unmet = failure.unmet
    if unmet is None or unmet.code != DTYPE_MISMATCH:
        return
    owner, _, word = _find_state(program, op, "float64").rpartition(".")
    built = program.built.get(owner)
    place = program.call_at(built.span) if built is not None else None
    for keyword in place[1].keywords if place is not None else ():
        if keyword.arg == word and place is not None:
            yield append_method(place[0], keyword.value, ".float()")


def _suggest_without_cast(program: Program, op: Op, repair: Repair) -> Iterator[Fix]:
    """Suggest `y` for `y.float()`, where `y` has the dtype that the call needs."""
    text_and_node = program.node(op.span)
    expressions = find_tensor_expressions(program, op)
    place = expressions[repair.tensor] if repair.tensor < len(expressions) else None
    if text_and_node is None or place is None or not isinstance(place[0], ast.Call):
        return
    text, call = text_and_node[0], place[0]
    maker = program.producers.get(op.inputs[repair.tensor].tensor)
    owner = get_receiver(call)
    if owner is None or maker is None or get_called_name(call) not in CASTS.values():
        return
    if maker.inputs and maker.inputs[0].dtype == repair.new:
        written = text.line_of(owner)
        yield Fix("fits", f"`{written}`", (Edit(text.span(call), written),))


def suggest_cast_of_floats(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `dtype if x.is_floating_point() else None` where all tensors of a batch
    are cast, and whole numbers with them.
    """
    op = program.trace.ops[failure.op]
    for repair in failure.repairs:
        is_whole = repair.kind == "dtype" and repair.new in ("int64", "int32")
        cast = (
            _find_cast_of_numbers(program, op.inputs[repair.tensor])
            if is_whole
            else None
        )
        where = program.call_at(cast.span) if cast is not None else None
        owner = get_receiver(where[1]) if where is not None else None
        if cast is None or where is None or owner is None:
            continue
        text, call = where
        others = (
            other.inputs[0].dtype
            for other in program.trace.ops
            if other.span == cast.span and other.inputs
        )
        if all(dtype in INDICES for dtype in others):
            continue
        condition = f"{text.written(owner)}.is_floating_point()"
        wanted = next((w.value for w in call.keywords if w.arg == "dtype"), None)
        wanted = call.args[1] if wanted is None and len(call.args) == 2 else wanted
        if wanted is not None:
            new = f"{text.written(wanted)} if {condition} else None"
            edit = Edit(text.span(wanted), new)
        else:
            new = f"{text.written(call)} if {condition} else {text.written(owner)}"
            edit = Edit(text.span(call), f"({new})")
        yield Fix("fits", f"`{join_lines(new)}`", (edit,))


def _find_cast_of_numbers(program: Program, fact: Fact) -> Op | None:
    """Return the call that made floats of whole numbers, without anything else."""
    if fact.dtype in INDICES:
        return None
    for maker in iter_first_makers(program, fact):
        if not maker.inputs or len(maker.inputs) > 1:
            return None
        if maker.inputs[0].dtype in INDICES - {"bool"}:
            return maker if maker.name.rpartition(".")[2] in CASTING else None
    return None


CASTING = frozenset({"to", "type", "float", "half", "bfloat16", "double"})
ROUNDED = frozenset({"float16", "bfloat16"})
"""Dtypes that do not hold all ids of a vocabulary."""


def suggest_floats_between(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `F.interpolate(mask.float(), ...).long()` for class numbers, which are
    resized to their nearest neighbours and stay class numbers.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    where = program.call_at(op.span)
    if (unmet is not None and unmet.code != DTYPE_MISMATCH) or where is None:
        return
    text, call = where
    values = [text.written(argument) for argument in call.args]
    values += [text.written(word.value) for word in call.keywords]
    is_nearest = any("nearest" in value for value in values) or "mode" not in {
        word.arg for word in call.keywords
    }
    fact = op.inputs[0] if op.inputs else None
    if op.name.rpartition(".")[2] not in RESIZING or not call.args or fact is None:
        return
    if not is_nearest or fact.dtype not in ("int64", "int32", "bool"):
        return
    data = call.args[0]
    shown = join_lines(text.written(data))
    back = CASTS[fact.dtype]
    message = f"`{get_called_name(call)}({shown}.float(), ...).{back}()`"
    edits = (
        append_method(text, data, ".float()").edits[0],
        Edit(text.span(call).end, f".{back}()"),
    )
    yield Fix("fits", message, edits)


RESIZING = frozenset({"interpolate", "upsample"})
"""Functions that have no kernel for integers."""


def _find_mixed_labels(program: Program, failure: Failure, fact: Fact) -> list[Op]:
    """Return the products of class indices that are added up to the target of a loss
    over classes: a mean of two classes is no class.
    """
    loss = program.trace.ops[failure.op]
    if loss.name.rpartition(".")[2] not in CLASS_LOSSES or loss.inputs[0].ndim < 2:
        return []
    total = program.producers.get(fact.tensor)
    if total is None or total.name not in ADDITIONS or len(total.inputs) != 2:
        return []
    parts = [program.producers.get(part.tensor) for part in total.inputs]
    return [
        part
        for part in parts
        if part is not None
        and part.name in PRODUCTS
        and any(fact.dtype == "int64" for fact in part.inputs)
    ]


def _suggest_mixed_classes(
    program: Program, failure: Failure, parts: list[Op]
) -> Iterator[Fix]:
    """Suggest to mix rows of `F.one_hot`, which a loss over classes takes, too."""
    classes = program.trace.ops[failure.op].inputs[0].shape[1]
    products: list[tuple[SourceText, ast.BinOp]] = []
    tensors: set[str] = set()
    for part in parts:
        place = program.node(part.span)
        if place is None or not isinstance(place[1], ast.BinOp):
            return
        products.append((place[0], place[1]))
        tensors |= set(list_scope_facts(program, part, *products[-1]))
    edits, shown = [], ""
    for text, node in products:
        sides = (node.left, node.right)
        labels = [side for side in sides if collect_names(side) & tensors]
        if len(labels) != 1:
            return
        written = text.written(labels[0])
        owner = "F" if "functional as F" in text.text else "torch.nn.functional"
        new = f"{owner}.one_hot({written}, {classes}).float()"
        shown = shown or join_lines(new)
        edits.append(Edit(text.span(labels[0]), new))
    yield Fix("fits", f"`{shown}`", tuple(dict.fromkeys(edits)))


def _is_written_copy(program: Program, failure: Failure, at: int) -> bool:
    """Return whether an operand is written in place and nothing takes the result, so
    that a cast of it would only be written to and thrown away.
    """
    op = program.trace.ops[failure.op]
    place = program.node(op.span)
    if at != 0 or place is None or not _is_in_place(op):
        return False
    statement = place[0].statement_of(place[1])
    return isinstance(statement, ast.Expr)


def _is_in_place(op: Op) -> bool:
    """Return whether a call is a method that writes its tensor."""
    return op.name.endswith("_") and not op.name.endswith("__")


def suggest_floating_entries(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `if average.is_floating_point():` above a write of floats into the
    counter of a batch norm, which a state dict holds too.
    """
    op = program.trace.ops[failure.op]
    place = program.node(op.span)
    floats = any(r.kind == "dtype" and "float" in str(r.new) for r in failure.repairs)
    if place is None or not floats or not _is_written_copy(program, failure, 0):
        return
    text, node = place
    written = find_tensor_expressions(program, op)[0]
    loop = text.around(node, ast.For)
    if written is None or loop is None:
        return
    condition = f"{text.written(written[0])}.is_floating_point()"
    edit = wrap_in_condition(text, text.statement_of(node), condition)
    yield Fix("fits", f"`if {condition}:`", (edit,))


def fix_shared_dtype(program: Program, failure: Failure) -> Iterator[Fix]:
    """Cast the tensor that several operands of a wrong dtype were taken from:
    `pairs[:, 2:4].long()` for the two columns that are both indices.
    """
    op = program.trace.ops[failure.op]
    wrong = [
        fact for fact in op.inputs[1:] if op.name == "[]" and fact.dtype not in INDICES
    ]
    if len(wrong) < 2:
        return
    lines: list[list[int]] = []
    for fact in wrong:
        makers = iter_first_makers(program, fact)
        lines.append([maker.index for maker in makers if maker.inputs])
    shared = [at for at in lines[0] if all(at in line for line in lines)]
    for at in shared[:2]:
        text_and_node = program.node(program.trace.ops[at].span)
        if text_and_node is not None and isinstance(text_and_node[1], ast.expr):
            yield append_method(text_and_node[0], text_and_node[1], ".long()")


def suggest_casts_together(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `return user.long(), item.long()` in a data set, whose values several
    calls refuse for the same dtype, else a cast of each where it is passed in or read.
    """
    wanted = _find_casts(failure)
    levels: list[dict[Span, Fix]] = [{}, {}, {}]
    seen: set[Span | None] = set()
    name = program.trace.ops[failure.op].name
    for other in program.failures if wanted else ():
        op = program.trace.ops[other.op]
        span = op.span
        if span in seen or len(seen) == MOST_CALLS or op.name != name:
            continue
        if _find_casts(other) != wanted:
            continue
        seen.add(span)
        for repair in other.repairs:
            if repair.kind == "dtype" and not repair.parameter:
                for level, fix in _iter_levels(program, other, repair):
                    levels[level].setdefault(fix.edits[0].span, fix)
    for known in levels:
        shown = list(dict.fromkeys(fix.message for fix in known.values()))
        if len(shown) > 1:
            edits = tuple(fix.edits[0] for fix in known.values())
            yield Fix("fits", " and ".join(shown), edits)


def _iter_levels(
    program: Program, failure: Failure, repair: Repair
) -> Iterator[tuple[int, Fix]]:
    """Yield the casts of an operand in the item of a data set, where it is passed in
    by a loop, and at the call: 0, 1 and 2.
    """
    op, method = program.trace.ops[failure.op], f".{CASTS[str(repair.new)]}()"
    place = program.node(op.span)
    expressions = find_tensor_expressions(program, op)
    read = expressions[repair.tensor] if repair.tensor < len(expressions) else None
    if place is not None and read is not None and isinstance(read[0], ast.Name):
        yield 2, append_method(place[0], read[0], method)
    handed = list(iter_handed_arguments(program, op, op.inputs[repair.tensor]))
    for text, node in handed[-1:]:
        yield 1, append_method(text, node, method)
        loop = text.around(node, ast.For)
        if isinstance(loop, ast.For) and isinstance(node, ast.Name):
            value = find_item_value(text, loop, node.id)
            if isinstance(value, ast.Name | ast.Attribute | ast.Subscript):
                yield 0, append_method(text, value, method)


def _find_casts(failure: Failure) -> frozenset[str]:
    """Return the dtypes that a call refused for its dtypes asks for."""
    if failure.unmet is not None and "dtype" not in failure.unmet.code:
        return frozenset()
    news = (r.new for r in failure.repairs if r.kind == "dtype" and not r.parameter)
    return frozenset(str(new) for new in news if new in CASTS)


MOST_CALLS = 8
"""Calls whose operands are cast together."""


def suggest_dtype_where_made(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `dtype=torch.long` where a tensor is made that several calls take for
    whole numbers.
    """
    unmet = failure.unmet
    repairs = [
        repair
        for repair in failure.repairs
        if repair.kind == "dtype" and repair.new == "int64" and not repair.parameter
    ]
    if unmet is None or unmet.code != DTYPE_MISMATCH or not repairs:
        return
    op = program.trace.ops[failure.op]
    maker = _find_maker(program, op.inputs[repairs[0].tensor])
    if maker is None:
        return
    places = {
        program.trace.ops[other.op].span
        for other in program.failures
        if other.unmet is not None
        and other.unmet.code == DTYPE_MISMATCH
        and any(
            _find_maker(program, fact) is maker
            for fact in program.trace.ops[other.op].inputs
        )
    }
    text_and_call = program.call_at(maker.span)
    if len(places) < 2 or text_and_call is None:
        return
    text, call = text_and_call
    if get_called_name(call) in FILLED and all(w.arg != "dtype" for w in call.keywords):
        yield with_keyword(text, call, "dtype=torch.long")


def suggest_floats_where_made(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `dtype=torch.float` where a data set makes the labels that a loss inside
    of a library takes for floats.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    repairs = [r for r in failure.repairs if r.kind == "dtype" and not r.parameter]
    if unmet is None or unmet.code != DTYPE_MISMATCH or not repairs:
        return
    fact = op.inputs[repairs[0].tensor]
    if repairs[0].new != "float32" or fact.dtype != "int64":
        return
    if find_tensor_expressions(program, op)[repairs[0].tensor] is not None:
        return  # a cast in the call says it
    for maker in iter_first_makers(program, fact):
        place = program.call_at(maker.span)
        if place is None or get_called_name(place[1]) not in (*FILLED, "tensor"):
            continue
        text, call = place
        dtypes = [word for word in call.keywords if word.arg == "dtype"]
        if not dtypes:
            yield with_keyword(text, call, "dtype=torch.float")
        elif text.written(dtypes[0].value) in WHOLE:
            edit = Edit(text.span(dtypes[0].value), "torch.float")
            yield Fix("fits", "`dtype=torch.float`", (edit,))
        return


WHOLE = ("torch.long", "torch.int64")


def _find_maker(program: Program, fact: Fact) -> Op | None:
    """Return the call that made a tensor of sizes, through views, writes and moves."""
    for maker in iter_first_makers(program, fact):
        if maker.name.rpartition(".")[2] in MAKERS:
            return maker
        if not maker.inputs or maker.inputs[0].dtype != fact.dtype:
            return None
    return None


FILLED = MAKERS - operators_with("is_random")
"""Functions that make a tensor of numbers that are known."""
INDICES = frozenset({"int64", "int32", "int16", "int8", "uint8", "bool"})
"""Dtypes of which an index is taken."""


def suggest_target_dtype(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest the dtype of the predictions for the targets of losses whose backward
    pass takes no two dtypes.
    """
    edits: dict[Span, Edit] = {}
    shown: list[str] = []
    for op in program.trace.ops:
        if not op.name.endswith("_loss") or len(op.inputs) != 2:
            continue
        prediction, target = op.inputs
        place = program.call_at(op.span)
        if place is None or target.dtype == prediction.dtype:
            continue
        method = f".{CASTS.get(prediction.dtype, '')}()"
        text, call = place
        if method == ".()" or not prediction.requires_grad or len(call.args) < 2:
            continue
        argument = call.args[-1]
        span = text.span(argument)
        if span not in edits:
            edits[span] = Edit(span.end, method)
            shown.append(f"`{join_lines(text.written(argument))}{method}`")
    if edits:
        message = " and ".join(dict.fromkeys(shown))
        yield Fix("fits", message, tuple(edits.values()))
