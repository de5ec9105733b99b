"""Edits for tensors that are not what they are used for: the last step of two
directions, scores for classes, weights that are no parameters.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import (
    suggest_samples_first,
    with_keyword,
)
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.fixes.warnings.direction_edits import ONE_DIRECTION
from shapewright.analysis.fixes.warnings.layer_edits import suggest_move_inside
from shapewright.analysis.hazards.moved_parameters import get_move
from shapewright.analysis.hazards.padded_means import KEPT
from shapewright.analysis.hazards.recurrent_steps import get_pair_read_last
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    iter_assignments,
)

FLATTENING = operators_with("regroups_dims")


def suggest_last_states(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the last state of each direction, from the output or the states; for the
    first step of one direction its last one.
    """
    if ONE_DIRECTION in finding.message:
        return
    if "the pair of hidden and cell state" in finding.message:
        yield from _suggest_hidden_state(text, node)
        return
    if "the first step of" in finding.message and isinstance(node, ast.Subscript):
        index = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) else node.slice
        while isinstance(node.slice, ast.Tuple) and text.written(index) == ":":
            index = node.slice.elts[node.slice.elts.index(index) - 1]
        shown = text.written(node)[: -len(text.written(node.slice)) - 1]
        new = text.written(node.slice).replace("0", "-1", 1)
        yield Fix("fits", f"`{shown}{new}]`", (Edit(text.span(index), "-1"),))
        return
    for related in finding.related:
        text_and_call = program.call_at(related.span)
        if text_and_call is None or not isinstance(node, ast.Subscript):
            continue
        where, call = text_and_call
        names = _get_state_names(where, call)
        if names and where is text:
            new = f"torch.cat([{names}[-2], {names}[-1]], dim=-1)"
            yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
        owner, width = (
            text.written(node.value),
            f"{where.written(call.func)}.hidden_size",
        )
        if not isinstance(call.func, ast.Attribute | ast.Name) or where is not text:
            width = f"{owner}.size(-1) // 2"
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        first = len(items) > 1 and text.written(items[0]) == ":"
        last = f"[:, -1, :{width}]" if first else f"[-1, :, :{width}]"
        start = f"[:, 0, {width}:]" if first else f"[0, :, {width}:]"
        new = f"torch.cat([{owner}{last}, {owner}{start}], dim=-1)"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def _suggest_hidden_state(text: SourceText, node: ast.AST) -> Iterator[Fix]:
    """Suggest `_, (hidden, _) = lstm(x)` where a program reads `hidden[-1]`, or
    `hidden[0]` where it reads what it takes for the states of all layers.
    """
    pair = get_pair_read_last(text, node) if isinstance(node, ast.Call) else None
    if pair is None or not isinstance(node, ast.Call):
        return
    scope = text.around(node, *FUNCTIONS) or text.tree
    reads = [
        around
        for name in (ast.walk(scope) if scope is not None else ())
        if isinstance(name, ast.Name)
        and name.id == pair.id
        and name is not pair
        and isinstance(around := text.parent(name), ast.Subscript)
    ]
    if any(_is_of_layers(text, read) for read in reads):
        edits = tuple(Edit(text.span(read.slice), "0") for read in reads)
        yield Fix("fits", f"`{pair.id}[0]`", edits)
        return
    new = f"({pair.id}, _)"
    target = text.parent(pair)
    assert isinstance(target, ast.Tuple)
    shown = f"{text.written(target.elts[0])}, {new} = {text.line_of(node)}"
    yield Fix("fits", f"`{shown}`", (Edit(text.span(pair), new),))


def _is_of_layers(text: SourceText, read: ast.Subscript) -> bool:
    """Return whether the dim of layers is still there in what is read of a state."""
    around = text.parent(read)
    if isinstance(around, ast.Attribute):
        return around.attr in OF_DIMS
    return isinstance(around, ast.Subscript) and around.value is read


OF_DIMS = FLATTENING | operators_with("transposes_dims", "reduces_dims") | {"permute"}
"""What is asked of a state of all layers, before the last is taken."""


def _get_state_names(text: SourceText, call: ast.Call) -> str:
    """Return the name that a recurrent layer's last states have: `h` of
    `out, (h, c) = lstm(x)`.
    """
    statement = text.statement_of(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return ""
    states = target.elts[1]
    if isinstance(states, ast.Tuple) and states.elts:
        states = states.elts[0]
    elif "LSTM" in text.text:
        return ""  # one name for both states
    is_name = isinstance(states, ast.Name) and states.id != "_"
    return states.id if is_name and isinstance(states, ast.Name) else ""


def suggest_mode_of_module(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `training=self.training`, in the place of a mode that is written."""
    if not isinstance(node, ast.Call):
        return
    modes = [word.value for word in node.keywords if word.arg == "training"]
    for mode in [*modes, *node.args[2:3]]:
        message = "`self.training` as its mode"
        yield Fix("fits", message, (Edit(text.span(mode), "self.training"),))
        return
    yield with_keyword(text, node, "training=self.training")


def suggest_parameter(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `nn.Parameter(...)` around the value of an attribute, and a buffer for a
    random one that is to be loaded.
    """
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.expr):
        return
    if "which no state dict" in finding.message:
        if not isinstance(statement, ast.Assign):
            return
        target = statement.targets[0]
        if isinstance(target, ast.Attribute):
            new = f'self.register_buffer("{target.attr}", {text.written(value)})'
            edit = Edit(text.span(statement), new)
            yield Fix("fits", f"`{join_lines(new)}`", (edit,))
        return
    if "is no `nn.Module`" in finding.message:
        fix = _make_module(text, node)
        if fix is not None:
            yield fix
        return
    if "is a plain dict" in finding.message or "is a plain list" in finding.message:
        if isinstance(statement, ast.Assign):
            yield from _suggest_holder(text, statement)
        return
    move = get_move(value)
    if move is not None:
        yield from suggest_move_inside(text, move)
        return
    if get_called_name(value) == "Variable" and isinstance(value, ast.Call):
        value = value.args[0]
    words = {node.id for node in text.nodes if isinstance(node, ast.Name)}
    name = "nn.Parameter" if "nn" in words else "torch.nn.Parameter"
    new = f"{name}({text.written(value)})"
    span = text.span(getattr(statement, "value", value))
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(span, new),))


def _suggest_holder(text: SourceText, statement: ast.Assign) -> Iterator[Fix]:
    """Suggest `nn.ParameterDict()` for a dict of parameters, `nn.ParameterList()` for a
    list of them.
    """
    value = statement.value
    is_list = isinstance(value, ast.List | ast.ListComp)
    kind = "nn.ParameterList" if is_list else "nn.ParameterDict"
    if not any(
        isinstance(node, ast.Attribute) and text.written(node).startswith("nn.")
        for node in text.nodes
    ):
        kind = f"torch.{kind}"
    is_empty = text.written(value) in ("{}", "[]", "dict()")
    new = f"{kind}({'' if is_empty else text.written(value)})"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(value), new),))


def _make_module(text: SourceText, node: ast.AST) -> Fix | None:
    """Return the fix that makes a class a module, or None if it has a `__call__`."""
    kind = node if isinstance(node, ast.ClassDef) else text.around(node, ast.ClassDef)
    init = next(
        (method for method in (kind.body if kind is not None else ())
         if isinstance(method, ast.FunctionDef) and method.name == "__init__"), None,
    )  # fmt: skip
    if kind is None or init is None:
        return None
    words = {
        name_node.id for name_node in text.nodes if isinstance(name_node, ast.Name)
    }
    base = "nn.Module" if "nn" in words else "torch.nn.Module"
    line = text.lines[kind.lineno - 1]
    column = line.index(kind.name) + len(kind.name) + 1
    head = line[column - 1 :].partition(":")[0]
    end = column + len(head)
    span = Span(text.file, kind.lineno, column, kind.lineno, end)
    edits = (
        Edit(span, f"({base})"),
        write_before(text, init.body[0], "super().__init__()"),
    )
    return Fix("fits", f"`class {kind.name}({base})`", edits)


def suggest_probability(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the sigmoid of logits that meet a threshold, or are rounded."""
    operand: ast.expr | None = None
    if isinstance(node, ast.Compare):
        operand = node.left
    elif isinstance(node, ast.Call):
        receiver = get_receiver(node)
        is_method = receiver is not None and text.written(receiver) != "torch"
        operand = receiver if is_method else next(iter(node.args), None)
    if operand is not None:
        yield append_method(text, operand, ".sigmoid()")


def suggest_classes(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the indices of `max` for its values, and `argmax` of scores."""
    for related in finding.related:
        text_and_call = program.call_at(related.span)
        if text_and_call is None:
            continue
        where, call = text_and_call
        parent = where.parent(call)
        if isinstance(parent, ast.Subscript) and where.written(parent.slice) == "0":
            span = where.span(parent.slice)
            yield Fix("fits", f"`{where.written(call)}[1]`", (Edit(span, "1"),))
        target = parent.targets[0] if isinstance(parent, ast.Assign) else None
        if isinstance(target, ast.Tuple) and len(target.elts) == 2:
            first, second = (where.written(element) for element in target.elts)
            new = f"{second}, {first}"
            edits = (
                Edit(where.span(target.elts[0]), second),
                Edit(where.span(target.elts[1]), first),
            )
            yield Fix("fits", f"`{new} = {join_lines(where.written(call))}`", edits)
    op = program.op_at(finding.span, finding.module)
    if op is None:
        return
    for place, fact in zip(
        find_tensor_expressions(program, op), op.inputs, strict=False
    ):
        if place is not None and fact.dtype.startswith("float"):
            yield append_method(text, place[0], ".argmax(dim=1)")


def suggest_one_order(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest a transpose before the predictions or the targets are flattened, or the
    samples first where a packed sequence is padded.
    """
    op = program.op_at(finding.span, finding.module)
    for fact in op.inputs[:2] if op is not None else ():
        yield from suggest_samples_first(program, fact)
    places = find_tensor_expressions(program, op) if op is not None else []
    for place in reversed(places[:2]):
        call = _find_flattening(text, place[0]) if place is not None else None
        if call is None or not isinstance(call.func, ast.Attribute):
            continue
        owner = text.written(call.func.value)
        arguments = ", ".join(text.written(argument) for argument in call.args)
        new = f"{owner}.transpose(0, 1).reshape({arguments or '-1'})"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))


def _find_flattening(text: SourceText, node: ast.expr) -> ast.Call | None:
    """Return the call of `view`, `reshape` or `flatten` that an expression is, or that
    its name was set to last.
    """
    if isinstance(node, ast.Call):
        return node if get_called_name(node) in FLATTENING else None
    function = text.around(node, ast.FunctionDef, ast.Module)
    flattening = None
    for target, value in iter_assignments(function, before=node.lineno):
        same = isinstance(target, ast.Name) and isinstance(node, ast.Name)
        if same and target.id == node.id and isinstance(value, ast.Call):  # type: ignore[attr-defined]
            flattening = value if get_called_name(value) in FLATTENING else None
    return flattening


MASK = re.compile(r"(attention_|attn_|input_|token_)?mask")


def suggest_masked_mean(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest a mean over the steps that a mask of the function keeps, and one over
    the positions that were not set to zero.
    """
    if "set to zero" in finding.message and isinstance(node, ast.Call):
        new = _write_mean_of_kept(program, finding, text, node)
        if new:
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
        return
    function = text.around(node, ast.FunctionDef)
    if function is None or not isinstance(node, ast.Call):
        return
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    states = node.args[0] if text.written(node.func) == "torch.mean" else owner
    if isinstance(states, ast.Name):
        yield from _suggest_mean_of_lengths(text, function, node, states.id)
    if "the mask of the tokens that is here" in finding.message:
        if isinstance(states, ast.expr) and finding.related:
            yield from _suggest_mean_of_kept(program, finding, text, node, states)
        return
    if isinstance(states, ast.Name) and get_called_name(node) == "mean":
        yield from _suggest_mean_behind_attention(text, function, node, states.id)
    names = [argument.arg for argument in function.args.args]
    names += [
        target.id  # made above, of what is to be kept
        for target, value in iter_assignments(function, node.lineno)
        if isinstance(target, ast.Name) and KEPT.search(text.line_of(value))
    ]
    for mask in (name for name in names if MASK.fullmatch(name)):
        if isinstance(states, ast.expr):
            kept = f"({text.written(states)} * {mask}.unsqueeze(-1)).sum(dim=1)"
            new = f"{kept} / {mask}.sum(dim=1, keepdim=True)"
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def _suggest_mean_behind_attention(
    text: SourceText, function: ast.FunctionDef, node: ast.Call, states: str
) -> Iterator[Fix]:
    """Suggest a mean over the steps that the padding mask of an attention keeps, where
    the mask has a name.
    """
    masks = {
        word.value.id
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        for word in call.keywords
        if (word.arg or "").endswith("key_padding_mask")
        and isinstance(word.value, ast.Name)
    }
    dims = [*node.args, *(word.value for word in node.keywords if word.arg == "dim")]
    is_of_steps = bool(dims) and evaluate_whole_number(dims[-1]) == 1
    if len(masks) != 1 or not is_of_steps:
        return
    kept = f"~{masks.pop()}"
    new = f"({states} * ({kept}).unsqueeze(-1)).sum(1) / ({kept}).sum(1, keepdim=True)"
    if isinstance(text.parent(node), ast.BinOp | ast.Attribute | ast.UnaryOp):
        new = f"({new})"
    yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def _suggest_mean_of_kept(
    program: Program, finding: Finding, text: SourceText, node: ast.Call,
    states: ast.expr,
) -> Iterator[Fix]:  # fmt: skip
    """Suggest a mean over the steps that a mask keeps that nothing reads yet."""
    place = program.node(finding.related[0].span)
    holder = text.parent(place[1]) if place is not None else None
    if not isinstance(holder, ast.Assign) or get_called_name(node) != "mean":
        return
    if any(word.arg != "dim" for word in node.keywords):
        return
    mask, written = text.written(holder.targets[0]), text.written(states)
    op = program.op_at(text.span(holder.value))
    has_features = op is not None and bool(op.outputs) and op.outputs[0].ndim > 2
    kept = mask if has_features else f"{mask}.unsqueeze(-1)"
    count = f"{mask}.sum(dim=1{'' if has_features else ', keepdim=True'})"
    new = f"({written} * {kept}).sum(dim=1) / {count}.clamp(min=1)"
    outer = text.parent(node)
    if isinstance(outer, ast.BinOp | ast.Attribute | ast.UnaryOp):
        new = f"({new})"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def _suggest_mean_of_lengths(
    text: SourceText, function: ast.FunctionDef, node: ast.Call, states: str
) -> Iterator[Fix]:
    """Suggest to divide the sum of unpacked states, which are zero behind the end of
    each sequence, by the lengths that the unpacking returns beside them.
    """
    dims = {ast.unparse(word.value) for word in node.keywords if word.arg == "dim"}
    dims |= {ast.unparse(argument) for argument in node.args}
    if any(word.arg != "dim" for word in node.keywords):
        return
    for target, value in iter_assignments(function, before=node.lineno):
        dim = next((dim for dim in ("0", "1") if dim in dims), "")
        if get_called_name(value) != "pad_packed_sequence" or not dim:
            continue
        parts = target.elts if isinstance(target, ast.Tuple) else []
        names = [ast.unparse(part) for part in parts]
        if len(names) != 2 or names[0] != states or names[1].startswith("_"):
            continue
        counts = f"{names[1]}.unsqueeze(1).to({states}.device)"
        new = f"{states}.sum(dim={dim}) / {counts}"
        yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def _write_mean_of_kept(
    program: Program, finding: Finding, text: SourceText, node: ast.Call
) -> str:
    """Return `loss.sum() / (~padding).sum()` for a mean of losses that a mask has set
    to zero, or an empty text.
    """
    is_function = text.written(node.func) == "torch.mean"
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    losses = node.args[0] if is_function and node.args else owner
    span = finding.related[0].span if finding.related else None
    zeroing = program.op_at(span) if span is not None else None
    if losses is None or zeroing is None:
        return ""
    places = find_tensor_expressions(program, zeroing)
    masks = [
        place[0]
        for place, fact in zip(places, zeroing.inputs, strict=False)
        if place is not None and not fact.requires_grad
    ]
    if len(masks) != 1 or not isinstance(masks[0], ast.Name | ast.Attribute):
        return ""
    mask = text.written(masks[0])
    is_hiding = zeroing.name.rpartition(".")[2].startswith("masked_fill")
    kept = f"(~{mask}).sum()" if is_hiding else f"{mask}.sum()"
    whole = text.written(losses)
    if isinstance(losses, ast.BinOp):
        whole = f"({whole})"
    return f"{whole}.sum() / {kept}"
