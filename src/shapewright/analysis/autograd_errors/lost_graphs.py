"""Where the graph of a loss ends before it reaches anything trainable."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.autograd_errors.constant_losses import find_constant_term
from shapewright.analysis.autograd_errors.history import History
from shapewright.analysis.autograd_errors.unused_heads import find_unused_head
from shapewright.analysis.program_run import Program
from shapewright.analysis.refused_calls.recomputed_parts import find_checkpoint_of
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    get_receiver,
    join_lines,
)
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_name,
)
from shapewright.record.ops import Op

FOLLOWED = 400
"""Calls that are followed back from a loss."""
DRAWS = operators_with("is_random") & operators_with("is_sized_factory")
INDICES = operators_with("returns_indices")
DETACHING = operators_with("leaves_graph") - {"cpu"}
COPIES = operators_with("takes_program_data")
TO_NUMPY = frozenset({"cpu", "data", "detach", "numpy"})
"""Methods and attributes on the way from a tensor to an array."""
WITHOUT = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})


@dataclass(frozen=True, slots=True)
class GraphEnd:
    """The place where a graph ends, and why; `op` is None where it never began."""

    op: Op | None
    reason: str
    label: str
    names: tuple[str, ...] = ()
    span: Span | None = None


def find_cut(history: History, failing: Op) -> GraphEnd | None:
    """Find the call nearest to a loss that took its graph away."""
    program = history.program
    waiting = [fact.tensor for fact in failing.inputs]
    seen: set[int] = set()
    made_anew: list[Op] = []
    rootless: list[Op] = []
    frozen: list[str] = []
    buffers = {s.fact.tensor for s in program.trace.states if s.buffer}
    while waiting and len(seen) < FOLLOWED:
        tensor = waiting.pop(0)
        if tensor in seen:
            continue
        seen.add(tensor)
        if tensor in program.states:
            if tensor not in buffers:
                frozen.append(program.states[tensor])
            continue  # how it was initialized says nothing
        for op in reversed(history.makers.get(tensor, ())):
            if op.index >= failing.index:
                continue
            if any(fact.requires_grad for fact in op.inputs):
                return describe_cut(history, op)
            if not op.inputs:
                made_anew.append(op)
            elif not any(fact.tensor in history.makers for fact in op.inputs):
                rootless.append(op)
            waiting += [fact.tensor for fact in op.inputs]
    if frozen:  # what the data were copied from would have had no graph
        more = _count_parameters(program, failing, buffers) - 1
        return _describe_frozen(history, frozen, more)
    for op in made_anew:
        cut = describe_copy(history, op)
        if cut is not None:
            return cut
    for op in rootless:
        cut = describe_numbers(history, op)
        if cut is not None:
            return cut
    for op in made_anew:
        cut = _describe_draw(history, op) or _describe_constant(history, op)
        if cut is not None:
            return cut
    return None


def _describe_constant(history: History, op: Op) -> GraphEnd | None:
    """Describe a number that is made anew where nothing of the model is used."""
    term = find_constant_term(history.program, op)
    if term is None:
        return None
    line = f" at line {op.span.line}" if op.span is not None else ""
    reason = f"{_write_call(history, op)}{line} is a new constant"
    return GraphEnd(op, reason + term.describe_branch(), "the constant is made here")


def _describe_draw(history: History, op: Op) -> GraphEnd | None:
    """Describe random numbers that stand in the place of what a model computes."""
    if op.name.rpartition(".")[2] not in DRAWS or history.program.node(op.span) is None:
        return None
    if not op.outputs[0].dtype.startswith(("float", "bfloat")):
        return None
    reason = f"{_write_call(history, op)} draws numbers that require no gradient"
    return GraphEnd(op, reason, "no parameter is part of this")


def describe_cut(history: History, op: Op) -> GraphEnd:
    """Describe a call with an input that has a graph and outputs without one."""
    name = op.name.rpartition(".")[2]
    line = f" at line {op.span.line}" if op.span is not None else ""
    call = _write_call(history, op)
    constant = _describe_constant(history, op)
    if constant is not None:
        return constant
    if name in DETACHING:
        return GraphEnd(op, f"{call}{line} removes it", "the graph ends here")
    if op.name.endswith("autograd.grad"):
        reason = f"{call}{line} gives a gradient without a graph of its own, as it is"
        reason += " not called with `create_graph=True`"
        return GraphEnd(op, reason, "the graph ends here")
    block = find_block(history, op)
    if block is not None:
        words, span = block
        reason = f"{call}{line} runs under `{words}`"
        return GraphEnd(op, reason, f"`{words}` is here", span=span)
    checkpoint = find_checkpoint_of(history.program, op)
    if checkpoint is not None:
        return _describe_checkpoint(op, *checkpoint)
    if op.outputs and name in INDICES:
        reason = f"`{name}`{line} gives indices, which have no gradient"
        return GraphEnd(op, reason, "the graph ends here")
    if op.outputs and not op.outputs[0].dtype.startswith(
        ("float", "bfloat", "complex")
    ):
        reason = f"{call}{line} gives {op.outputs[0].dtype}, which has no gradient"
        return GraphEnd(op, reason, "the graph ends here")
    return GraphEnd(op, f"{call}{line} takes it away", "the graph ends here")


def _describe_checkpoint(op: Op, text: SourceText, call: ast.Call) -> GraphEnd:
    """Describe a checkpoint of the reentrant kind whose inputs require no gradient."""
    inputs = [join_lines(text.written(argument)) for argument in call.args[1:]]
    name = f"`{inputs[0]}`" if len(inputs) == 1 else "one of its inputs"
    reason = f"a checkpoint with `use_reentrant=True`, at line {call.lineno}, keeps a"
    reason += f" graph only where {name} requires a gradient"
    return GraphEnd(op, reason, "the graph ends here", span=text.span(call))


RANDOM_NUMBERS = re.compile(r"\brandom\.|\brand(n|int)?\(")
"""How arrays of random numbers are written."""


def describe_copy(history: History, op: Op) -> GraphEnd | None:
    """Describe a tensor that was made anew from the values of others."""
    text_and_node = history.program.node(op.span)
    name = op.name.rpartition(".")[2]
    if text_and_node is None or name not in COPIES:
        return None
    if op.outputs and not op.outputs[0].dtype.startswith(
        ("float", "bfloat", "complex")
    ):
        return None  # whole numbers have no gradient anywhere
    text, node = text_and_node
    if not isinstance(node, ast.Call) or not node.args:
        return None
    if not any(
        isinstance(child, ast.Name | ast.Call) for child in ast.walk(node.args[0])
    ):
        return None
    if RANDOM_NUMBERS.search(text.written(node.args[0])):
        return None  # no values of the program's
    line = f" at line {op.span.line}" if op.span is not None else ""
    reason = f"{_write_call(history, op)}{line} copies values into a new tensor"
    return GraphEnd(op, reason, "the graph ends here", (text.written(node.args[0]),))


def describe_numbers(history: History, op: Op) -> GraphEnd | None:
    """Describe a call whose tensor was made of an array that numpy had computed."""
    text_and_node = history.program.node(op.span)
    if text_and_node is None:
        return None
    text, node = text_and_node
    for place in (node, *_iter_definitions(text, node)):
        copy = find_copy(place)
        if copy is None:
            continue
        span = text.span(copy)
        reason = f"`{text.line_of(copy)}` at line {span.line} copies values into a new"
        written = write_without_numpy(text, copy.args[0])
        names = (written,) if written else ()
        return GraphEnd(op, f"{reason} tensor", "the graph ends here", names, span)
    return None


def _iter_definitions(text: SourceText, node: ast.AST) -> Iterator[ast.expr]:
    """Yield what the names in an expression were last set to above it."""
    for name in ast.walk(node):
        if isinstance(name, ast.Name):
            values = [
                value
                for value in find_defining(text, name.id)
                if value.lineno < name.lineno
            ]
            yield from values[-1:]


def find_copy(node: ast.AST) -> ast.Call | None:
    """Return the call within an expression that makes a tensor of numbers."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and part.args and get_called_name(part) in COPIES:
            return part
    return None


def write_without_numpy(text: SourceText, node: ast.expr) -> str:
    """Write an expression of tensors without its way through numpy: `out[kept]` for
    `out.cpu().data.numpy()[kept]`; empty where there is none.
    """
    if isinstance(node, ast.Subscript):
        base = write_without_numpy(text, node.value)
        return f"{base}[{text.written(node.slice)}]" if base else ""
    through = False
    while True:
        call = node.func if isinstance(node, ast.Call) and not node.args else node
        if not isinstance(call, ast.Attribute) or call.attr not in TO_NUMPY:
            return text.written(node) if through else ""
        through = through or call.attr == "numpy"
        node = call.value


def _count_parameters(program: Program, failing: Op, buffers: set[int]) -> int:
    """Return how many parameters a backward pass would reach."""
    needed = {fact.tensor for fact in failing.inputs}
    for op in reversed(program.trace.ops[: failing.index]):
        if any(fact.tensor in needed for fact in op.outputs):
            needed |= {fact.tensor for fact in op.inputs}
    return len((needed & program.states.keys()) - buffers)


def _describe_frozen(history: History, frozen: list[str], more: int) -> GraphEnd:
    """Describe a loss all of whose parameters, of which `more` are not named, are
    frozen.
    """
    span, words, also = None, "", ""
    head = find_unused_head(history.program)
    if head is not None:
        line = head.statement.lineno
        reason = f"`{head.written}`, set at line {line}, is called nowhere, and"
        if head.meant:
            reason += f" `{head.meant}`, in which the model ends, is frozen"
        else:
            reason += " all that the model computes with is frozen"
        label = "the new layer, which no call reads"
        where = head.text.span(head.statement)
        return GraphEnd(None, reason, label, (head.written,), where)
    for file in history.program.trace.sources:
        text = history.program.text(file)
        if text is not None:
            place = find_freezing(text)
            if place is not None:
                span, words = text.span(place), join_lines(text.written(place))
                replaced = find_frozen_head(text, place)
                if replaced is not None:
                    layer = text.written(replaced.head.targets[0])
                    also = f", with those of `{join_lines(layer)}`,"
                    also += f" which line {replaced.head.lineno} sets before"
    reason = f"no parameter that it is computed from requires a gradient: `{frozen[0]}`"
    reason += f" and {more} more" if more > 0 else ""
    label = f"the parameters are frozen here{also}"
    return GraphEnd(None, reason, label, (words,), span)


@dataclass(frozen=True, slots=True)
class _FrozenHead:
    """A statement that freezes all of a model, and the one above it that gives the
    model a new layer.
    """

    statement: ast.stmt
    model: str
    head: ast.Assign


def find_frozen_head(text: SourceText, node: ast.AST) -> _FrozenHead | None:
    """Return the new layer that the statement around a node freezes, or None."""
    loop = text.around(node, ast.For)
    statement: ast.stmt | None = loop
    frozen = loop.iter if loop is not None else node
    if loop is None:
        statement = text.statement_of(node) if isinstance(node, ast.expr) else None
    owner = get_receiver(frozen) if isinstance(frozen, ast.Call) else None
    if statement is None or owner is None:
        return None
    model = text.written(owner)
    for other in text.nodes:
        if (
            isinstance(other, ast.Assign)
            and isinstance(other.targets[0], ast.Attribute | ast.Subscript)
            and text.written(other.targets[0]).startswith((f"{model}.", f"{model}["))
            and isinstance(other.value, ast.Call)
            and other.lineno < statement.lineno
            and text.parent(other) is text.parent(statement)
        ):
            return _FrozenHead(statement, model, other)
    return None


def find_freezing(text: SourceText) -> ast.stmt | ast.expr | None:
    """Return the statement of a file that turns gradients of parameters off."""
    for node in text.nodes:
        value = node.value if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(value, ast.Constant):
            named = get_last_name(node.targets[0]) == "requires_grad"
            if named and value.value is False:
                return node
        if get_called_name(node) == "requires_grad_" and isinstance(node, ast.Call):
            argument = node.args[0] if node.args else None
            if isinstance(argument, ast.Constant) and argument.value is False:
                return node
    return None


def find_block(history: History, op: Op) -> tuple[str, Span] | None:
    """Return the `with torch.no_grad()` or the decorator that a call runs under."""
    for frame in reversed(op.frames):
        text_and_statement = history.find_text(frame.span)
        if text_and_statement is None:
            continue
        text, statement = text_and_statement
        for around in [statement, *text.outwards(statement)]:
            heads: list[ast.expr] = []
            if isinstance(around, ast.With | ast.AsyncWith):
                heads = [item.context_expr for item in around.items]
            elif isinstance(around, ast.FunctionDef):
                heads = list(around.decorator_list)
            for head in heads:
                name = get_called_name(head) or get_last_name(head)
                if name in WITHOUT:
                    return text.written(head), text.span(head)
    return None


def _write_call(history: History, op: Op) -> str:
    """Return the text of a call, or its name if that is long."""
    text_and_node = history.program.node(op.span)
    if text_and_node is not None:
        written = join_lines(text_and_node[0].written(text_and_node[1]))
        if len(written) <= 48:
            return f"`{written}`"
    return f"`{op.name}`"
