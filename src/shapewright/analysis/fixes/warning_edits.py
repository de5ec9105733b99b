"""Edits for warnings: what usually mends each, to be tried like the fixes of errors.

An edit is shown only if the run with it has the warning no more, and no other one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import combinations, permutations

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.loss_edits import suggest_loss_edits
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.statements import (
    cut_lines,
    replace_lines,
    wrap_in_no_grad,
    write_after,
    write_before,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import (
    BATCH_AXIS,
    BUILT_IN_FORWARD,
    EINSUM_REDUCTION,
    EVALUATED_IN_TRAINING_MODE,
    EVALUATED_WITH_GRAPH,
    FLAG_WITHOUT_EFFECT,
    GRADIENTS_CLEARED_UNUSED,
    GRADIENTS_NOT_CLEARED,
    GRAPH_KEPT,
    LAYOUT,
    LOSS_INPUT,
    LOST_BATCH,
    MASK_AXIS,
    MEAN_OVER_SAMPLES,
    NOT_IN_OPTIMIZER,
    ONE_SAMPLE,
    OUTER_BROADCAST,
    SCHEDULER_ORDER,
    SUM_AFTER_LOOP,
    TRAINED_IN_EVAL_MODE,
    VIEW_MIXES_DIMS,
    WRONG_AXIS,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    LOOPS,
    get_called_name,
    get_last_line,
)
from shapewright.record.ops import Op

JOINS = operators_with("concatenates")
REPEATING = operators_with("repeats_whole")
MOST = 6
"""Edits of one warning that are tried."""


def suggest_edits(program: Program, finding: Finding) -> list[Fix]:
    """Return the edits that may mend a warning, the likeliest first."""
    suggest = WAYS.get(finding.code)
    found = program.node(finding.span)
    if suggest is None or finding.span is None:
        return []
    if found is None:
        text = program.text(finding.span.file)
        near = text.near(finding.span.line) if text is not None else ()
        if text is None or not near:
            return []
        found = text, near[0]
    seen: dict[object, Fix] = {}
    for fix in suggest(program, finding, *found):
        seen.setdefault(tuple((e.span, e.text) for e in fix.edits), fix)
    return list(seen.values())[:MOST]


Suggest = Callable[[Program, Finding, SourceText, "ast.expr | ast.stmt"], Iterator[Fix]]


def _find_op(program: Program, finding: Finding) -> Op | None:
    """Return the first call at a finding's place."""
    return next((op for op in program.trace.ops if op.span == finding.span), None)


# -- shapes that meet by accident ------------------------------------------------------


def _suggest_equal_ranks(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `pred.squeeze(-1)` or `target.unsqueeze(1)`."""
    for op in program.trace.ops:
        if op.span != finding.span or len(op.inputs) < 2:
            continue
        one, other = op.inputs[0].shape, op.inputs[1].shape
        if len(one) == len(other):
            continue
        long = 0 if len(one) > len(other) else 1
        shape = op.inputs[long].shape
        ones = [dim for dim, size in enumerate(shape) if size == 1]
        places = find_tensor_expressions(program, op)
        if ones and len(places) > 1:
            dim = ones[-1] - len(shape) if ones[-1] == len(shape) - 1 else ones[-1]
            slim, wide = places[1 - long], places[long]
            squeezed = (wide, f".squeeze({dim})")
            widened = (slim, f".unsqueeze({ones[-1]})")
            first = op.inputs[long].requires_grad
            for place, method in (squeezed, widened) if first else (widened, squeezed):
                if place is not None:
                    yield append_method(text, place[0], method)
        return


def _suggest_squeezed_dim(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `squeeze(-1)` for `squeeze()`, or `flatten(1)` for several dims."""
    op = _find_op(program, finding)
    if op is None or not isinstance(node, ast.Call) or not op.inputs:
        return
    shape = op.inputs[0].shape
    ones = [dim for dim, size in enumerate(shape) if size == 1 and dim > 0]
    if not ones or not isinstance(node.func, ast.Attribute):
        return
    if len(ones) > 1:
        span = text.span(node)
        start = text.span(node.func.value)
        edit = Edit(Span(span.file, *_get_end(start), *_get_end(span)), ".flatten(1)")
        yield Fix("fits", f"`{text.at(start)}.flatten(1)`", (edit,))
    for dim in reversed(ones):
        number = dim - len(shape) if dim == len(shape) - 1 else dim
        if not node.args and not node.keywords:
            span = text.span(node)
            end = Span(span.file, span.end_line, span.end_column - 1, *_get_end(span))
            shown = join_lines(text.written(node))[:-1] + f"{number})"
            yield Fix("fits", f"`{shown}`", (Edit(end, f"{number})"),))


def _get_end(span: Span) -> tuple[int, int]:
    """Return the line and column at which a span ends."""
    return span.end_line, span.end_column


def _suggest_transpose(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `permute` for a view, or a transpose before or after it."""
    op = _find_op(program, finding)
    if op is None or not isinstance(node, ast.Call) or not op.outputs:
        return
    if not isinstance(node.func, ast.Attribute):
        return
    before, after = op.inputs[0].shape, op.outputs[0].shape
    owner = text.span(node.func.value)
    span = text.span(node)
    tail = Span(span.file, *_get_end(owner), *_get_end(span))
    rank = len(before)
    if sorted(before) == sorted(after):
        for order in permutations(range(rank)):
            if tuple(before[d] for d in order) == after and order != tuple(range(rank)):
                moved = [at for at, d in enumerate(order) if at != d]
                new = f".permute({', '.join(map(str, order))})"
                if len(moved) == 2:
                    new = f".transpose({moved[0]}, {moved[1]})"
                yield Fix("fits", f"`{text.at(owner)}{new}`", (Edit(tail, new),))
    given = text.at(tail).partition("(")[2]
    for source, target in ((1, rank - 1), (rank - 1, 1)) if rank == 4 else ():
        moved = [d for d in range(rank) if d != source]
        moved.insert(target, source)
        new = f".permute({', '.join(map(str, moved))}).reshape({given}"
        yield Fix("fits", f"`{join_lines(text.at(owner) + new)}`", (Edit(tail, new),))
    for one, other in combinations(range(len(before)), 2):
        if (one, other) != (0, rank - 1) or rank == 2:
            new = f".transpose({one}, {other}).reshape({given}"
            shown = join_lines(text.at(owner) + new)
            yield Fix("fits", f"`{shown}`", (Edit(tail, new),))
    written = [text.written(argument) for argument in node.args]
    if len(written) == len(after) and len(written) > 2:
        for one, other in combinations(range(len(written)), 2):
            turned = list(written)
            turned[one], turned[other] = turned[other], turned[one]
            new = f".{node.func.attr}({', '.join(turned)}).transpose({one}, {other})"
            shown = join_lines(text.at(owner) + new)
            yield Fix("fits", f"`{shown}`", (Edit(tail, new),))


# -- the axis that a call runs along ---------------------------------------------------


def _suggest_other_dim(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the last dim, then the others, for the `dim` of a call; the last step for
    the last sample.
    """
    op = _find_op(program, finding)
    if isinstance(node, ast.Subscript):
        yield from _suggest_last_step(text, node)
        return
    if op is None or not op.inputs:
        return
    rank = len(op.inputs[0].shape)
    for where, call in _iter_calls_with_dim(program, op, text, node):
        place = _find_dim_argument(where, call)
        shape = op.inputs[0].shape
        told = re.search(r"along dim (\d+)$", finding.message)
        own = re.search(r"along dim (\d+)", finding.message)
        wide = [dim for dim in range(rank - 1, -1, -1) if shape[dim] > 1]
        dims = [-1, *wide[1:]] if wide[:1] == [rank - 1] else wide
        if own is not None:
            dims = [dim for dim in dims if dim % rank != int(own[1]) % rank]
        if told is not None and told.start() != (own.start() if own else -1):
            right = int(told[1])
            dims = [-1 if right == rank - 1 else right, *dims]
        dims = list(dict.fromkeys(dims))
        if "without `dim`" in finding.message and own is not None:
            dims = [int(own[1])]
        if op.name.rpartition(".")[2] in JOINS:
            dims = [1, -1]
        for dim in dims:
            if place is None:
                yield with_keyword(where, call, f"dim={dim}")
            elif where.written(place) != str(dim):
                span = where.span(place)
                shown = join_lines(where.written(call))
                old = where.written(place)
                shown = shown.replace(old, str(dim)) if shown.count(old) == 1 else ""
                said = f"`{shown}`" if shown else f"`dim={dim}`"
                yield Fix("fits", said, (Edit(span, str(dim)),))


def _iter_calls_with_dim(
    program: Program, op: Op, text: SourceText, node: ast.AST
) -> Iterator[tuple[SourceText, ast.Call]]:
    """Yield the call that has a dim: of the function, or where its layer is built."""
    layer = program.layer(op)
    if layer is not None and layer.path in program.built:
        found = program.call_at(program.built[layer.path].span)
        if found is not None:
            yield found
    elif isinstance(node, ast.Call):
        yield text, node


def _find_dim_argument(text: SourceText, call: ast.Call) -> ast.expr | None:
    """Return the `dim` of a call, if the text has one."""
    for word in call.keywords:
        if word.arg in ("dim", "axis"):
            return word.value
    for argument in call.args:
        inner = argument.operand if isinstance(argument, ast.UnaryOp) else argument
        if isinstance(inner, ast.Constant) and type(inner.value) is int:
            return argument
    return None


def _suggest_last_step(text: SourceText, node: ast.Subscript) -> Iterator[Fix]:
    """Suggest `out[:, -1]` for `out[-1]`, and `h[-1]` for `h[:, -1]`."""
    index = text.written(node.slice)
    owner = text.written(node.value)
    items = [part.strip() for part in index.split(",")]
    if items[0] != ":":
        new = f"{owner}[:, {index}]"
    else:
        new = f"{owner}[{', '.join(items[1:])}]"
    yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def _suggest_interleaving(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `mask.repeat_interleave(heads, dim=0)` for `mask.repeat(heads, 1, 1)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    if node.args and get_called_name(node) in REPEATING:
        first = node.args[0]
        count = first.elts[0] if isinstance(first, ast.Tuple) else first
        owner = text.written(node.func.value)
        new = f"{owner}.repeat_interleave({text.written(count)}, dim=0)"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def _suggest_batch_first(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `batch_first=True` where the layer is built, or a transpose around it."""
    op = _find_op(program, finding)
    layer = program.layer(op) if op is not None else None
    path = layer.path if layer is not None else ""
    while path:
        found = program.built.get(path)
        call = program.call_at(found.span) if found is not None else None
        if call is not None:
            given = {word.arg: word.value for word in call[1].keywords}
            if "batch_first" not in given and found is not None:
                yield with_keyword(*call, "batch_first=True")
            elif isinstance(given.get("batch_first"), ast.Constant):
                edit = Edit(call[0].span(given["batch_first"]), "True")
                yield Fix("fits", "`batch_first=True`", (edit,))
        path = path.rpartition(".")[0]
    for file in program.trace.sources:
        where = program.text(file)
        for each in where.nodes if where is not None else ():
            named = get_called_name(each) in ORDERED
            if where is None or not named or not isinstance(each, ast.Call):
                continue
            if all(word.arg != "batch_first" for word in each.keywords):
                yield with_keyword(where, each, "batch_first=True")
    if isinstance(node, ast.Call) and len(node.args) > 0:
        first = node.args[0]
        yield append_method(text, first, ".transpose(0, 1)")


ORDERED = (
    "TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer",
    "MultiheadAttention", "LSTM", "GRU", "RNN",
)  # fmt: skip
"""Layers with `batch_first`."""


def _suggest_arrow(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest an equation with an arrow that keeps the letter all operands share."""
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return
    terms = [term.strip() for term in first.value.split(",")]
    if "->" in first.value or len(terms) < 2:
        return
    letters = [c for c in dict.fromkeys("".join(terms)) if c.isalpha()]
    front = terms[0][0] if all(term.startswith(terms[0][0]) for term in terms) else ""
    once = [c for c in letters if "".join(terms).count(c) == 1]
    out = "".join(dict.fromkeys([*front, *once]))
    quote = text.written(first)[0]
    new = f"{quote}{first.value} -> {out}{quote}"
    yield Fix("fits", f"`{new}`", (Edit(text.span(first), new),))


# -- the loop of a training ------------------------------------------------------------


def _suggest_value(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `loss.item()` for a loss that is kept with its graph."""
    name = finding.message.partition("`")[2].partition("`")[0]
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if not isinstance(statement, ast.stmt):
        return
    value = getattr(statement, "value", None)
    uses = [
        each
        for each in ast.walk(value if value is not None else statement)
        if isinstance(each, ast.Name)
        and each.id == name
        and isinstance(each.ctx, ast.Load)
        and not isinstance(text.parent(each), ast.Attribute)
    ]
    use: ast.expr | None = uses[-1] if uses else None
    while use is not None and isinstance(text.parent(use), ast.Subscript):
        outer = text.parent(use)
        if not isinstance(outer, ast.Subscript) or outer.value is not use:
            break
        use = outer
    for method in (".item()", ".detach()"):
        if use is not None:
            yield append_method(text, use, method)


def _suggest_count_of_batches(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to divide a sum of batch means by the number of batches, or to weigh each
    mean by the samples of its batch.
    """
    divisor = None
    if isinstance(node, ast.BinOp):
        divisor = node.right
    elif isinstance(node, ast.AugAssign):
        divisor = node.value
    if isinstance(divisor, ast.Call) and get_called_name(divisor) == "len":
        inner = divisor.args[0]
        if isinstance(inner, ast.Attribute) and inner.attr == "dataset":
            new = f"len({text.written(inner.value)})"
            if "sampler" in finding.message:
                new = f"len({text.written(inner.value)}.sampler)"
            yield Fix("fits", f"`{new}`", (Edit(text.span(divisor), new),))
    for related in finding.related:
        found = program.node(related.span)
        if found is None:
            continue
        where, statement = found
        loop = where.around(statement, *LOOPS)
        value = getattr(statement, "value", None)
        batch = _find_batch(loop)
        if isinstance(value, ast.expr) and batch:
            new = f" * {batch}.size(0)"
            shown = join_lines(where.written(statement)) + new
            yield Fix("fits", f"`{shown}`", (Edit(where.span(value).end, new),))


def _find_batch(loop: ast.AST | None) -> str:
    """Return the name of the first tensor that a loop over batches unpacks."""
    target = getattr(loop, "target", None)
    names = [
        each.id
        for each in ast.walk(target if target is not None else ast.Pass())
        if isinstance(each, ast.Name)
    ]
    plain = [
        name for name in names if name not in ("i", "idx", "step", "batch_idx", "_")
    ]
    return plain[0] if plain else ""


def _suggest_inside_loop(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to indent a sum into the loop above it."""
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if not isinstance(statement, ast.stmt):
        return
    first, last = statement.lineno, get_last_line(statement)
    rows = [f"    {row}" for row in text.lines[first - 1 : last]]
    said = f"`{join_lines(text.written(statement))}` inside the loop"
    yield Fix("fits", said, (replace_lines(text, statement, "\n".join(rows)),))


def _suggest_clearing(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `optimizer.zero_grad()` before the backward pass."""
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    for owner in _find_owners(text, "step"):
        new = f"{owner}.zero_grad()"
        if isinstance(statement, ast.stmt):
            yield Fix("fits", f"`{new}`", (write_before(text, statement, new),))


def _find_owners(text: SourceText, method: str) -> list[str]:
    """Return the names whose method a file calls, schedulers left out."""
    found = [
        text.written(node.func.value)
        for node in text.nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == method
        and "sched" not in text.written(node.func.value)
    ]
    return list(dict.fromkeys(found))


def _suggest_later_clearing(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to clear gradients before the backward pass, not between it and the
    step; and the step itself, where there is none.
    """
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if not isinstance(statement, ast.stmt):
        return
    written = text.written(statement)
    for related in finding.related:
        found = program.node(related.span)
        if found is None or found[0].file != text.file:
            continue
        backward = text.statement_of(found[1])
        if backward.lineno < statement.lineno:
            edits = (write_before(text, backward, written), cut_lines(text, statement))
            said = f"`{written}` before `{join_lines(text.written(backward))}`"
            yield Fix("fits", said, edits)
        owner = written.partition(".zero_grad")[0]
        new = f"{owner}.step()"
        yield Fix("fits", f"`{new}`", (write_after(text, backward, new),))


def _suggest_mode(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `model.eval()` or `model.train()` before the loop that needs it."""
    method = "eval" if finding.code == EVALUATED_IN_TRAINING_MODE else "train"
    called = node if isinstance(node, ast.Call) else None
    names = _find_owners(text, "parameters") + _find_owners(text, "eval")
    if called is not None and isinstance(called.func, ast.Name):
        names.insert(0, called.func.id)
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    loop: ast.For | ast.While | None = None
    for around in text.outwards(node):
        if isinstance(around, ast.For | ast.While):
            loop = around
            break
    if loop is not None and method == "eval":
        statement = loop
    for name in dict.fromkeys(names):
        if isinstance(statement, ast.stmt):
            new = f"{name}.{method}()"
            place = write_before(text, statement, new)
            if method == "train" and loop is not None:
                place = write_before(text, loop.body[0], new)
            yield Fix("fits", f"`{new}`", (place,))


def _suggest_last_batch(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `drop_last=True` where a last batch is one sample."""
    for short in program.remainders:
        where = program.text(short.file)
        for call in where.near(short.line) if where is not None else ():
            own = isinstance(call, ast.Call) and get_called_name(call) == short.name
            words = call.keywords if own and isinstance(call, ast.Call) else []
            told = any(word.arg == "drop_last" for word in words)
            if own and not told and where is not None and isinstance(call, ast.Call):
                yield with_keyword(where, call, "drop_last=True")


def _suggest_registration(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `nn.ModuleList` for a list of layers, or the optimizer after the model is
    whole.
    """
    from shapewright.analysis.mixed_devices import find_module_list, find_own_module

    for related in finding.related:
        for find in (find_module_list, find_own_module):
            fix = find(program, related.span)
            if fix is not None:
                yield fix
        found = program.node(related.span)
        if found is None or found[0].file != text.file:
            continue
        made = text.statement_of(found[1])
        built = text.statement_of(node) if isinstance(node, ast.expr) else node
        if not isinstance(built, ast.stmt) or text.parent(made) is not text.parent(
            built
        ):
            continue
        if built.lineno < made.lineno and isinstance(made, ast.Assign):
            written = text.written(built)
            edits = (cut_lines(text, built), write_after(text, made, written))
            said = f"`{join_lines(written)}` after line {made.lineno}"
            yield Fix("fits", said, edits)


def _suggest_no_grad(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `with torch.no_grad():` around a loop."""
    for loop in text.outwards(node):
        edit = wrap_in_no_grad(text, loop) if isinstance(loop, ast.For) else None
        if edit is not None:
            yield Fix("fits", "`with torch.no_grad():` around the loop", (edit,))
            return


def _suggest_flag(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the flag of parameters, or `requires_grad_` of a module."""
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if not isinstance(statement, ast.Assign):
        return
    target = statement.targets[0]
    if isinstance(target, ast.Attribute):
        owner, value = text.written(target.value), text.written(statement.value)
        new = f"{owner}.requires_grad = {value}"
        if "of a module" in finding.message:
            new = f"{owner}.requires_grad_({value})"
        yield Fix("fits", f"`{new}`", (Edit(text.span(statement), new),))


def _suggest_own_module(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to build a layer in `__init__`."""
    from shapewright.analysis.mixed_devices import find_own_module

    fix = find_own_module(program, finding.span) if finding.span is not None else None
    if fix is not None:
        yield fix


def _suggest_order_of_steps(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to step a scheduler after its optimizer."""
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if not isinstance(statement, ast.stmt):
        return
    written = text.written(statement)
    for each in text.nodes:
        if isinstance(each, ast.Expr) and each.lineno > statement.lineno:
            call = each.value
            if isinstance(call, ast.Call) and get_called_name(call) == "step":
                named = text.written(call.func)
                if "sched" not in named:
                    edits = (
                        cut_lines(text, statement),
                        write_after(text, each, written),
                    )
                    said = f"`{written}` after `{text.written(each)}`"
                    yield Fix("fits", said, edits)
                    return


WAYS: dict[str, Suggest] = {
    OUTER_BROADCAST: _suggest_equal_ranks,
    LOST_BATCH: _suggest_squeezed_dim,
    LOSS_INPUT: suggest_loss_edits,
    BUILT_IN_FORWARD: _suggest_own_module,
    MASK_AXIS: _suggest_interleaving,
    VIEW_MIXES_DIMS: _suggest_transpose,
    WRONG_AXIS: _suggest_other_dim,
    BATCH_AXIS: _suggest_other_dim,
    LAYOUT: _suggest_batch_first,
    EINSUM_REDUCTION: _suggest_arrow,
    ONE_SAMPLE: _suggest_last_batch,
    GRAPH_KEPT: _suggest_value,
    MEAN_OVER_SAMPLES: _suggest_count_of_batches,
    SUM_AFTER_LOOP: _suggest_inside_loop,
    GRADIENTS_NOT_CLEARED: _suggest_clearing,
    GRADIENTS_CLEARED_UNUSED: _suggest_later_clearing,
    EVALUATED_IN_TRAINING_MODE: _suggest_mode,
    EVALUATED_WITH_GRAPH: _suggest_no_grad,
    FLAG_WITHOUT_EFFECT: _suggest_flag,
    TRAINED_IN_EVAL_MODE: _suggest_mode,
    NOT_IN_OPTIMIZER: _suggest_registration,
    SCHEDULER_ORDER: _suggest_order_of_steps,
}
"""What suggests edits, by the code of a warning."""
