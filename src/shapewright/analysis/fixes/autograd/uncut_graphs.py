"""Edits for a graph that was cut before it reached anything trainable."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.autograd_errors import Cause
from shapewright.analysis.autograd_errors.constant_losses import is_constant_call
from shapewright.analysis.autograd_errors.history import History
from shapewright.analysis.autograd_errors.lost_graphs import (
    DRAWS,
    find_copy,
    find_frozen_head,
    write_without_numpy,
)
from shapewright.analysis.fixes.autograd.constant_terms import (
    suggest_graph_of_constant,
)
from shapewright.analysis.fixes.autograd.unconnected_parts import (
    suggest_used_head,
)
from shapewright.analysis.fixes.autograd.uncut_losses import suggest_scores_for_loss
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.statements import cut_lines, write_after, write_before
from shapewright.analysis.program_run import Program
from shapewright.analysis.refused_calls.recomputed_parts import FLAG, suggest_other_kind
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    get_receiver,
    join_lines,
)
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_dotted_name,
    get_last_line,
    iter_assignments,
)

COPIES = ("tensor", "as_tensor")
CUTTING = operators_with("leaves_graph", "returns_indices", "has_zero_gradient")
"""Methods without which a tensor has its graph."""


def suggest_uncut_graph(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest to leave out the call that took a graph away."""
    yield from suggest_scores_for_loss(history.program, cause)
    program, cut = history.program, cause.other
    if FLAG in cause.message:
        yield from suggest_other_kind(program)
        return
    text_and_node = program.node(cut.span) if cut is not None else None
    if any(place_note.message.startswith("`torch.") for place_note in cause.related):
        yield from _suggest_enabling(history, cause)
    for related in cause.related:
        yield from _suggest_without_block(program, related.span)
    if text_and_node is None or cut is None:
        return
    text, node = text_and_node
    if is_constant_call(node):
        yield from suggest_graph_of_constant(program, cut)
        return
    if cut.name.endswith("autograd.grad") and isinstance(node, ast.Call):
        yield from _suggest_own_graph(text, node)
        return
    if isinstance(node, ast.Compare):
        yield _read_scores(text, node)
    if isinstance(node, ast.Call) and get_called_name(node) in COPIES:
        yield from _suggest_stack(text, node)
    name = cut.name.rpartition(".")[2]
    if name in DRAWS and isinstance(node, ast.Call):
        yield with_keyword(text, node, "requires_grad=True")
        return
    if name == "data" and isinstance(node, ast.Attribute):
        span = text.span(node)
        inner = text.owner_span(node)
        edit = Edit(Span(span.file, *_get_end(inner), *_get_end(span)), "")
        yield Fix("fits", f"`{join_lines(text.written(node.value))}`", (edit,))
    for related in cause.related:
        copied = program.call_at(related.span)
        if copied is not None:
            yield from _suggest_tensors_for_arrays(*copied)
    if isinstance(node, ast.Call) and get_called_name(node) == "state_dict":
        yield _read_parameters(text, node)
        return
    if isinstance(node, ast.Call) and cause.names:
        new = cause.names[0].removesuffix(".item()")
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    if name in CUTTING:
        inner, span = text.owner_span(node.func), text.span(node)
        edit = Edit(Span(span.file, *_get_end(inner), *_get_end(span)), "")
        yield Fix("fits", f"`{join_lines(text.at(inner))}`", (edit,))


def _suggest_stack(text: SourceText, call: ast.Call) -> Iterator[Fix]:
    """Suggest `torch.stack([a, b])` for `torch.tensor([a, b])`, which copies them."""
    values = call.args[0] if call.args else None
    if not isinstance(values, ast.List | ast.Tuple | ast.ListComp | ast.Name):
        return
    if isinstance(values, ast.Name) and not _is_list_name(text, values.id):
        return
    owner = text.written(call.func).rpartition(".")[0]
    name = f"{owner}.stack" if owner else "stack"
    new = f"{name}({text.written(values)})"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))


def _is_list_name(text: SourceText, name: str) -> bool:
    """Return whether a name stands for a list that the program fills."""
    if any(isinstance(v, ast.List | ast.ListComp) for v in find_defining(text, name)):
        return True
    owners = (
        get_receiver(node)
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) == "append"
    )
    return any(isinstance(owner, ast.Name) and owner.id == name for owner in owners)


def _suggest_own_graph(text: SourceText, call: ast.Call) -> Iterator[Fix]:
    """Suggest `create_graph=True` for gradients that are differentiated again."""
    for word in call.keywords:
        if word.arg in ("create_graph", "retain_graph"):
            edit = Edit(text.span(word.value), "True")
            if word.arg == "retain_graph":
                edit = Edit(text.span(word.value).end, ", create_graph=True")
            yield Fix("fits", "`create_graph=True`", (edit,))
            return
    yield with_keyword(text, call, "create_graph=True")


def _read_scores(text: SourceText, node: ast.Compare) -> Fix:
    """Return `probs` for `(probs > 0.5).float()`, which has no gradient."""
    place: ast.expr = node
    method, call = text.parent(node), None
    if isinstance(method, ast.Attribute) and method.attr in ("float", "double", "int"):
        call = text.parent(method)
    if isinstance(call, ast.Call):
        place = call
    new = text.written(node.left)
    return Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(place), new),))


def _read_parameters(text: SourceText, node: ast.Call) -> Fix:
    """Return `dict(model.named_parameters())` for `model.state_dict()`, whose tensors
    have no graph.
    """
    func, around = node.func, text.parent(node)
    owner = text.written(func.value) if isinstance(func, ast.Attribute) else ""
    new = f"{owner}.named_parameters()"
    call = text.parent(around)
    if isinstance(around, ast.Attribute) and around.attr == "items":
        place = call if isinstance(call, ast.Call) else node
        return Fix("fits", f"`{new}`", (Edit(text.span(place), new),))
    if not isinstance(around, ast.Call):
        new = f"dict({new})"
    return Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def _suggest_tensors_for_arrays(text: SourceText, node: ast.Call) -> Iterator[Fix]:
    """Suggest the tensors themselves in all calls like one that makes them anew of
    arrays: `out[kept]` for `torch.from_numpy(out.data.numpy()[kept])`, with what is
    around it, which may cut the graph as well, or in its place alone.
    """
    scope = text.around(node, *FUNCTIONS)
    whole, alone, first = [], [], ""
    for call in text.nodes:
        if not isinstance(call, ast.Call) or find_copy(call) is not call:
            continue
        if text.around(call, *FUNCTIONS) is not scope:
            continue
        new = write_without_numpy(text, call.args[0])
        statement = text.statement_of(call)
        if new and text.written(call.func) == text.written(node.func):
            first = first or new
            alone.append(Edit(text.span(call), new))
            value = statement.value if isinstance(statement, ast.Assign) else call
            whole.append(Edit(text.span(value), new))
    for edits in (whole, alone):
        if edits:
            yield Fix("fits", f"`{join_lines(first)}`", tuple(edits))


def _get_end(span: Span) -> tuple[int, int]:
    """Return the line and column at which a span ends."""
    return span.end_line, span.end_column


def _suggest_enabling(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `@torch.enable_grad()` for the function that goes backward, if another
    one runs it without gradients.
    """
    text_and_statement = history.find_text(cause.failing.span)
    if text_and_statement is None:
        return
    text, statement = text_and_statement
    function = text.around(statement, ast.FunctionDef)
    own = function is not None and any(
        function.lineno <= place_note.span.line <= get_last_line(function)
        or place_note.span.line in [d.lineno for d in function.decorator_list]
        for place_note in cause.related
        if place_note.span.file == text.file
        and place_note.message.startswith("`torch.")
    )
    if function is not None and not own:
        new = "@torch.enable_grad()"
        yield Fix("fits", f"`{new}`", (write_before(text, function, new),))


def _suggest_without_block(program: Program, span: Span) -> Iterator[Fix]:
    """Suggest `torch.enable_grad()` for a `torch.no_grad()` around a computation."""
    text_and_node = program.node(span)
    if text_and_node is None:
        return
    text, node = text_and_node
    name = get_called_name(node)
    if name in ("no_grad", "inference_mode") and isinstance(node, ast.Call):
        holder = text.parent(node)
        if isinstance(holder, ast.FunctionDef):
            line = text.span(node).line
            edit = Edit(Span(span.file, line, 1, line + 1, 1), "")
            yield Fix("fits", f"without `@{text.written(node)}`", (edit,))
            return
        new = "torch.enable_grad()"
        yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def suggest_training(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest the layer that a new head is to replace, or `requires_grad = True` for
    parameters that are all frozen.
    """
    heads = list(suggest_used_head(history, cause))
    yield from heads
    if heads:
        return
    for related in cause.related:
        text_and_node = history.program.node(related.span)
        if text_and_node is None:
            continue
        text, node = text_and_node
        earlier = _move_before_head(text, node)
        if earlier is not None:
            yield earlier
            return  # else what was to stay frozen would be trained, too
        head = _write_trained_head(text, node, cause.message)
        if head is not None:
            yield head
            return
        flags = [n for n in ast.walk(node) if isinstance(n, ast.Constant)]
        for flag in flags:
            if flag.value is False:
                shown = text.written(node).replace("False", "True")
                yield Fix("fits", f"`{shown}`", (Edit(text.span(flag), "True"),))


def _move_before_head(text: SourceText, node: ast.AST) -> Fix | None:
    """Return the fix that freezes a model before it gets a new head, if the statement
    that freezes all of it stands below the one that gives it the head.
    """
    frozen = find_frozen_head(text, node)
    if frozen is None:
        return None
    shown = join_lines(text.written(frozen.head.targets[0]))
    edits = (
        write_before(text, frozen.head, text.written(frozen.statement)),
        cut_lines(text, frozen.statement),
    )
    return Fix("fits", f"freeze `{frozen.model}` before `{shown}` is replaced", edits)


FROZEN = re.compile(r"requires a gradient: `\w+\.([\w.]+)\.\w+`")
"""The parameter nearest to the loss, of those that are all frozen."""


def _write_trained_head(text: SourceText, node: ast.AST, message: str) -> Fix | None:
    """Return the fix that trains the last layer of a model, all of which a loop over
    its parameters freezes.
    """
    loop, words = text.around(node, ast.For), FROZEN.search(message)
    call = loop.iter if loop is not None else None
    owner = get_receiver(call) if isinstance(call, ast.Call) else None
    if loop is None or words is None or owner is None:
        return None
    if get_called_name(loop.iter) != "parameters" or text.around(node, ast.If):
        return None
    head = text.written(owner)
    for part in words[1].split("."):
        head += f"[{part}]" if part.isdigit() else f".{part}"
    indent = " " * loop.col_offset
    new = f"for p in {head}.parameters():\n{indent}    p.requires_grad = True"
    message = f"`{head}` stays trainable, behind the loop"
    return Fix("fits", message, (write_after(text, loop, new),))


def suggest_requiring(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest to ask for gradients where what is differentiated by is made, or before
    the forward pass that records them.
    """
    yield from _suggest_requiring_where_made(history, cause)
    text_and_statement = history.find_text(
        cause.maker.span if cause.maker is not None else None
    )
    if text_and_statement is None:
        return
    text, statement = text_and_statement
    for node in ast.walk(statement):
        called = node.func if isinstance(node, ast.Call) else None
        name = get_dotted_name(called) if isinstance(called, ast.Name) else ""
        if name and not name[0].isupper():
            new = f"{name}.requires_grad_(True)"
            yield Fix("fits", f"`{new}`", (write_before(text, statement, new),))


def _suggest_requiring_where_made(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `.requires_grad_(True)` behind what the names of `inputs=` are set to, or
    above the forward pass for what a function is handed.
    """
    text_and_call = history.program.call_at(cause.failing.span)
    fact = cause.fact
    if text_and_call is None or fact is None or fact.tensor in history.program.states:
        return
    text, call = text_and_call
    wanted = [word.value for word in call.keywords if word.arg == "inputs"]
    wanted = wanted or call.args[1:2]
    if len(wanted) == 1 and isinstance(wanted[0], ast.List | ast.Tuple):
        wanted = wanted[0].elts
    if len(wanted) != 1 or not isinstance(wanted[0], ast.Name):
        return
    name = wanted[0].id
    function = text.around(call, ast.FunctionDef)
    values = [
        value
        for target, value in iter_assignments(function or text.tree)
        if isinstance(target, ast.Name) and target.id == name
        if value.lineno <= call.lineno
        if text.around(value, ast.FunctionDef) is function
    ]
    if values:
        last = max(values, key=lambda value: value.lineno)
        yield append_method(text, last, ".requires_grad_(True)")
        return
    handed = [argument.arg for argument in function.args.args] if function else []
    if function is not None and name in handed:
        yield from _suggest_requiring_handed(text, function, handed, call)


def _suggest_requiring_handed(
    text: SourceText, function: ast.FunctionDef, handed: list[str], call: ast.Call
) -> Iterator[Fix]:
    """Suggest `x.requires_grad_(True)` above the statement of a function that first
    reads it, for each of its parameters by which it differentiates.
    """
    wanted = [
        node.args[1].id
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and text.written(node.func) == text.written(call.func)
        and node.args[1:2]
        and isinstance(node.args[1], ast.Name)
    ]
    keywords = [
        word.value.id
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        for word in node.keywords
        if word.arg == "inputs" and isinstance(word.value, ast.Name)
    ]
    names = [name for name in handed if name in (*wanted, *keywords)]
    first = next(
        (body for body in function.body if collect_names(body, ast.Load) & {*names}),
        None,
    )
    if first is None:
        return
    lines = [f"{name}.requires_grad_(True)" for name in names]
    edits = tuple(write_before(text, first, line) for line in lines)
    shown = " and ".join(f"`{line}`" for line in lines)
    yield Fix("fits", shown, edits)
