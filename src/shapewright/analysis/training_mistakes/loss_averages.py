"""Find losses that are summed or averaged wrongly: means divided by the number of
samples, and sums placed after their loop.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    StoryLoop,
    build_finding,
)
from shapewright.findings.codes import MEAN_OVER_SAMPLES, SUM_AFTER_LOOP, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    LOOPS,
    collect_names,
    get_called_name,
    get_last_line,
    iter_assignments,
)
from shapewright.record.ops import Op

COLLECTING = operators_with("takes_program_data") | {"array", "stack"}
LOSSES = operators_with("is_loss")


def _find_sample_division(
    scene: RehearsalContext, loop: StoryLoop
) -> Iterator[Finding]:
    """Find a sum of batch means that is divided by the number of samples."""
    text = loop.text
    if _is_of_single_samples(loop):
        return
    for node in ast.walk(loop.node):
        if not isinstance(node, ast.stmt) or text.around(node, *LOOPS) is not loop.node:
            continue  # a loop within goes over something else than batches
        total, added, is_list = get_addition(node)
        if not total or added is None:
            continue
        if _find_mean(scene, text, loop.node, added) is None:
            continue
        for place, divided, divisor in iter_divisions(text, loop.node):
            same = is_sum_of(divided, total) if is_list else is_same(divided, total)
            if not same or is_set_between(text, loop.node, total, place):
                continue
            if _is_sample_count(text, divisor, place, (loop.node, node)):
                yield build_finding(
                    MEAN_OVER_SAMPLES,
                    f"`{total}` {'holds' if is_list else 'is a sum of'} means, one for "
                    "each batch, divided by the number of samples: "
                    f"`{ast.unparse(divisor)}`",
                    text.span(place),
                    (text.span(node), "the mean of a batch is added here"),
                )
                return


def _is_of_single_samples(loop: StoryLoop) -> bool:
    """Return whether every batch of a loop holds a single sample."""
    shapes = [
        shape
        for event in loop.moment.inner
        if event.kind == "batches" and event.line == loop.moment.line
        for shape in event.shapes
    ]
    firsts = re.findall(r"\((\d+)", " ".join(shapes))
    return bool(firsts) and set(firsts) == {"1"}


def get_addition(node: ast.stmt) -> tuple[str, ast.expr | None, bool]:
    """Return the total that a statement adds to, the value added, and whether the total
    is a list.
    """
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return ast.unparse(node.target), node.value, False
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        target, value = ast.unparse(node.targets[0]), node.value
        if isinstance(value.op, ast.Add):
            if ast.unparse(value.left) == target:
                return target, value.right, False
            if ast.unparse(value.right) == target:
                return target, value.left, False
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if get_called_name(call) == "append" and isinstance(call.func, ast.Attribute):
            added = call.args[0] if call.args else None
            return ast.unparse(call.func.value), added, True
    return "", None, False


def iter_divisions(
    text: SourceText, loop: ast.For
) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr, ast.expr]]:
    """Yield the divisions below a loop, `a / b` and `a /= b`, with their dividends and
    divisors.
    """
    for node in _iter_nodes_after(text, loop):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            yield node, node.left, node.right
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            yield node, node.target, node.value


def is_same(node: ast.expr, total: str) -> bool:
    """Return whether a node is a total, or a conversion of it to a number."""
    while isinstance(node, ast.Call) and get_called_name(node) in (*VALUES, "float"):
        inner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if inner is None and not node.args:
            return False
        node = inner if inner is not None else node.args[0]
    return ast.unparse(node) == total


def is_sum_of(node: ast.expr, total: str) -> bool:
    """Return whether a node is the sum of a list: `sum(losses)`,
    `torch.stack(losses).sum()`.
    """
    if not isinstance(node, ast.Call):
        return False
    if get_called_name(node) in VALUES and isinstance(node.func, ast.Attribute):
        return is_sum_of(node.func.value, total)
    if get_called_name(node) not in ("sum", "fsum"):
        return False
    if node.args:
        return ast.unparse(node.args[0]) == total
    collection = node.func.value if isinstance(node.func, ast.Attribute) else None
    return (
        isinstance(collection, ast.Call)
        and bool(collection.args)
        and get_called_name(collection) in COLLECTING
        and ast.unparse(collection.args[0]) == total
    )


def is_set_between(
    text: SourceText, loop: ast.For, total: str, place: ast.expr | ast.stmt
) -> bool:
    """Return whether a total is reassigned between its loop and a place below."""
    return any(
        isinstance(node, ast.Assign)
        and get_last_line(node) < place.lineno
        and any(ast.unparse(target) == total for target in node.targets)
        for node in _iter_nodes_after(text, loop)
    )


def _find_mean(
    scene: RehearsalContext, text: SourceText, loop: ast.For, value: ast.expr
) -> ast.expr | None:
    """Return the mean loss that is added if the value is just `loss.item()`, or
    None.
    """
    inner = value
    while isinstance(inner, ast.Call):
        if isinstance(inner.func, ast.Attribute) and inner.func.attr in VALUES:
            inner = inner.func.value
        elif isinstance(inner.func, ast.Name) and inner.func.id == "float":
            inner = inner.args[0] if inner.args else inner.func
        else:
            break
        if isinstance(inner, ast.Attribute) and inner.attr == "data":
            inner = inner.value
    loss: ast.expr | None = None
    if isinstance(inner, ast.Name):
        for target, value in iter_assignments(loop):
            if isinstance(target, ast.Name) and target.id == inner.id:
                loss = value
    elif isinstance(inner, ast.Call):
        loss = inner
    return loss if loss is not None and is_mean_loss_at(scene, text, loss) else None


VALUES = operators_with("leaves_graph")


def is_mean_loss_at(scene: RehearsalContext, text: SourceText, loss: ast.expr) -> bool:
    """Return whether a call is one of torch's losses with mean reduction."""
    if isinstance(loss, ast.BinOp) and isinstance(loss.op, ast.Add):
        return is_mean_loss_at(scene, text, loss.left)
    if not isinstance(loss, ast.Call):
        return False
    lines = range(loss.lineno, get_last_line(loss) + 1)
    loss_ops = [
        op
        for op in scene.program.trace.ops
        if op.name.rpartition(".")[2] in LOSSES
        and any(
            frame.span.file == text.file and frame.span.line in lines
            for frame in op.frames
        )
    ]
    if not loss_ops:
        return _is_own_mean(scene, text, lines)
    return bool(loss_ops) and all(
        _is_mean_loss(op)
        and (op.span is None or op.span.line in lines or _is_returned(scene, op))
        for op in loss_ops
    )


def _is_own_mean(scene: RehearsalContext, text: SourceText, lines: range) -> bool:
    """Return whether a loss that the program writes itself ends in a mean."""
    scalar_ops = [
        op
        for op in scene.program.trace.ops
        if op.outputs
        and not op.outputs[0].shape
        and op.span is not None
        and op.span.line not in lines
        and any(
            frame.span.file == text.file and frame.span.line in lines
            for frame in op.frames
        )
    ]
    names = {op.name.rpartition(".")[2] for op in scalar_ops}
    return "mean" in names and "sum" not in names


def _is_returned(scene: RehearsalContext, op: Op) -> bool:
    """Return whether the function that computes a loss returns that same loss."""
    text = scene.program.text(op.span.file) if op.span is not None else None
    node = text.node(op.span) if text is not None and op.span is not None else None
    if text is None or node is None:
        return False
    holder = text.parent(node)
    if isinstance(holder, ast.Assign) and isinstance(holder.targets[0], ast.Name):
        name = holder.targets[0].id
        function = text.around(holder, ast.FunctionDef)
        inside = list(ast.walk(function)) if function is not None else []
        set_at = [
            name_node
            for name_node in inside
            if isinstance(name_node, ast.Name)
            and name_node.id == name
            and isinstance(name_node.ctx, ast.Store)
        ]
        back = [
            statement.value for statement in inside if isinstance(statement, ast.Return)
        ]
        return len(set_at) == 1 and any(
            isinstance(returned_value, ast.Name) and returned_value.id == name
            for returned_value in back
        )
    return isinstance(holder, ast.Return)


def _is_mean_loss(op: Op) -> bool:
    """Return whether a loss is the mean over its samples."""
    arguments = dict(op.arguments)
    is_mean = arguments.get("reduction", "mean") == "mean"
    return is_mean and bool(op.outputs) and not op.outputs[0].shape


def _is_sample_count(
    text: SourceText, value: ast.expr, at: ast.AST, grown_in: tuple[ast.For, ast.stmt]
) -> bool:
    """Return whether a number is the number of samples.

    It is `len(loader.dataset)`, or `n` that a loop counts beside the total:
    `n += len(labels)`.
    """
    if isinstance(value, ast.Call) and get_called_name(value) in (
        "float",
        "int",
        "max",
    ):
        return any(
            _is_sample_count(text, argument, at, grown_in) for argument in value.args
        )
    if isinstance(value, ast.Call) and get_called_name(value) == "len" and value.args:
        arg = value.args[0]
        if isinstance(arg, ast.Attribute) and arg.attr in ("dataset", "sampler"):
            return True
        return ast.unparse(arg) in _find_data_sets(text)
    if not isinstance(value, ast.Name | ast.Attribute):
        return False
    if _is_counted(text, ast.unparse(value), *grown_in):
        return True
    function = text.around(at, ast.FunctionDef, ast.Module)
    for target, expression in iter_assignments(function):
        if ast.unparse(target) == ast.unparse(value):
            own = not isinstance(expression, ast.Name | ast.Attribute)
            return own and _is_sample_count(text, expression, target, grown_in)
    return False


def _is_counted(text: SourceText, name: str, loop: ast.For, beside: ast.stmt) -> bool:
    """Return whether a name counts the samples of the batches in a loop where a total
    grows.
    """
    names = collect_names(loop, ast.Store)
    for node in ast.walk(loop):
        if not isinstance(node, ast.stmt) or get_addition(node)[0] != name:
            continue
        if text.parent(node) is text.parent(beside):
            return _is_size(get_addition(node)[1], names)
    return False


def _is_size(value: ast.expr | None, loop_names: set[str]) -> bool:
    """Return whether a node is `len(x)`, `x.size(0)` or `x.shape[0]`, where a loop sets
    `x`.
    """
    if isinstance(value, ast.Call) and get_called_name(value) == "len" and value.args:
        return _is_of(value.args[0], loop_names)
    if isinstance(value, ast.Call) and get_called_name(value) == "size":
        first = ast.unparse(value.args[0]) if value.args else ""
        func = value.func
        return (
            first == "0"
            and isinstance(func, ast.Attribute)
            and _is_of(func.value, loop_names)
        )
    if isinstance(value, ast.Subscript) and ast.unparse(value.slice) == "0":
        shape = value.value
        is_shape = isinstance(shape, ast.Attribute) and shape.attr == "shape"
        return is_shape and _is_of(shape.value, loop_names)  # type: ignore[attr-defined]
    return False


def _is_of(value: ast.expr, names: set[str]) -> bool:
    """Return whether a node is one of these names, or an item of one of them."""
    while isinstance(value, ast.Subscript):
        value = value.value
    return isinstance(value, ast.Name) and value.id in names


def _find_data_sets(text: SourceText) -> set[str]:
    """Return the data sets that are passed to a `DataLoader`, as written in the
    text.
    """
    data_sets = [
        (node.args or [k.value for k in node.keywords if k.arg == "dataset"])[:1]
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) == "DataLoader"
    ]
    named = [argument for arguments in data_sets for argument in arguments]
    return {
        ast.unparse(data_set)
        for data_set in named
        if isinstance(data_set, ast.Name | ast.Attribute)
    }


def _iter_nodes_after(text: SourceText, loop: ast.For) -> Iterator[ast.expr | ast.stmt]:
    """Yield the nodes below the loop in the same function."""
    function = text.around(loop, ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.expr | ast.stmt) and node.lineno > get_last_line(loop):
            yield node


@looks_for(SUM_AFTER_LOOP, MEAN_OVER_SAMPLES)
def find_wrong_sums(scene: RehearsalContext) -> Iterator[Finding]:
    """Find wrong averages and misplaced sums of every loop."""
    seen: set[tuple[str, int]] = set()
    for loop in scene.loops():
        place = loop.moment.file, loop.moment.line
        if place in seen or (loop.moment.total or 2) < 2:
            continue
        seen.add(place)
        yield from _find_sum_after(loop)
        yield from _find_larger_data_set(loop)
        yield from _find_sample_division(scene, loop)


def _find_larger_data_set(loop: StoryLoop) -> Iterator[Finding]:
    """Find sums over a loader with a sampler that are divided by the size of the whole
    data set.
    """
    text = loop.text
    name = ast.unparse(loop.node.iter)
    sampled = [
        node
        for node in text.nodes
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == name
        and get_called_name(node.value) == "DataLoader"
        and isinstance(node.value, ast.Call)
        and any(
            word.arg == "sampler" and "istributed" not in ast.unparse(word.value)
            for word in node.value.keywords
        )
    ]
    totals = {
        get_addition(node)[0]
        for node in ast.walk(loop.node)
        if isinstance(node, ast.stmt)
    }
    for place, divided, divisor in iter_divisions(text, loop.node):
        same = ast.unparse(divided) in totals - {""}
        if sampled and same and ast.unparse(divisor) == f"len({name}.dataset)":
            yield build_finding(
                MEAN_OVER_SAMPLES,
                f"`{ast.unparse(divided)}` adds up what the sampler of `{name}` gives,"
                f" and is divided by the whole data set: `{ast.unparse(divisor)}`",
                text.span(place),
                (text.span(sampled[0]), "the loader has a sampler"),
            )


def _find_sum_after(loop: StoryLoop) -> Iterator[Finding]:
    """Find `total += loss.item()` after the loop, which counts only the last batch."""
    block = _find_block(loop.text, loop.node)
    at = next((n for n, statement in enumerate(block) if statement is loop.node), None)
    if at is None:
        return
    names = collect_names(loop.node, ast.Store)
    started = {
        name
        for statement in block[:at]
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for name in collect_names(target)
    }
    grown = {
        child.target.id
        for child in ast.walk(loop.node)
        if isinstance(child, ast.AugAssign) and isinstance(child.target, ast.Name)
    }
    for statement in block[at + 1 :]:
        if not isinstance(statement, ast.AugAssign) or not isinstance(
            statement.op, ast.Add
        ):
            continue
        name = statement.target.id if isinstance(statement.target, ast.Name) else ""
        used = collect_names(statement.value) & names
        if name in started - grown and used:
            batch = ", ".join(f"`{used_name}`" for used_name in sorted(used))
            yield build_finding(
                SUM_AFTER_LOOP,
                f"`{name}` is increased after the loop over batches, so only the last "
                f"batch counts: {batch} is of that batch",
                loop.text.span(statement),
                (loop.text.span(loop.node.target), "the loop that it follows"),
            )


def _find_block(text: SourceText, node: ast.stmt) -> list[ast.stmt]:
    """Return the statements of the block that contains a statement, including those
    around a `with`.
    """
    parent = text.parent(node)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and any(statement is node for statement in block):
            if isinstance(parent, ast.With | ast.AsyncWith):
                around = _find_block(text, parent)
                place = next(
                    n for n, statement in enumerate(around) if statement is parent
                )
                return [*around[:place], *block, *around[place + 1 :]]
            return block
    return []
