"""What a gradient does not reach as meant: parts cut off an input, a head that no call
reads, what the program's own `backward` returns.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.autograd_errors import Cause
from shapewright.analysis.autograd_errors.custom_functions import find_wrong_gradient
from shapewright.analysis.autograd_errors.history import History
from shapewright.analysis.autograd_errors.unused_heads import find_unused_head
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.findings.finding import Edit, Fix
from shapewright.program.syntax_nodes import get_called_name


def suggest_used_head(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `model.fc` for `model.classifier`, a layer that the model never calls."""
    head = find_unused_head(history.program)
    if head is None or not head.meant or cause.kind != "frozen":
        return
    edits = tuple(Edit(head.text.span(node), head.meant) for node in head.places)
    yield Fix("fits", f"`{head.meant}` for `{head.written}`", edits)


def suggest_fitting_gradient(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest what the program's own `backward` is to return."""
    failing = cause.failing
    for failure in history.program.failures:
        if failure.op == failing.index:
            message = failure.torch_message
            gradient = find_wrong_gradient(history.program, failing.span, message)
            yield from gradient.fixes if gradient is not None else ()


def suggest_unused_parameters(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `allow_unused=True` for `torch.autograd.grad` by parameters of which the
    loss does not use all, with zeros for their gradients where None is not expected.
    """
    fact = cause.fact
    if fact is None or fact.tensor not in history.program.states:
        yield from _suggest_joined_parts(history, cause)
        return
    text_and_call = history.program.call_at(cause.failing.span)
    if text_and_call is None or get_called_name(text_and_call[1]) != "grad":
        return
    text, call = text_and_call
    if any(word.arg in (None, "allow_unused") for word in call.keywords):
        return
    yield with_keyword(text, call, "allow_unused=True")
    yield with_keyword(text, call, "allow_unused=True, materialize_grads=True")


def _suggest_joined_parts(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `net(torch.cat([x, t], dim=1))` where a network was given the whole that
    `x` and `t` were cut from.
    """
    maker = cause.maker
    text_and_node = history.find_text(maker.span if maker is not None else None)
    if maker is None or text_and_node is None or not maker.inputs:
        return
    text, statement = text_and_node
    body = getattr(text.parent(statement), "body", [])
    whole = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(whole, ast.Subscript) or statement not in body:
        return
    owner = text.written(whole.value)
    parts = [
        other.targets[0].id
        for other in body
        if isinstance(other, ast.Assign)
        and isinstance(other.value, ast.Subscript)
        and text.written(other.value.value) == owner
        and isinstance(other.targets[0], ast.Name)
    ]
    joined = f"torch.cat([{', '.join(parts)}], dim={len(maker.inputs[0].shape) - 1})"
    for other in body[body.index(statement) + 1 :]:
        for node in ast.walk(other):
            if not isinstance(node, ast.Call) or len(parts) < 2:
                continue
            for argument in node.args:
                if isinstance(argument, ast.Name) and argument.id == owner:
                    new = f"{text.written(node.func)}({joined})"
                    edit = Edit(text.span(argument), joined)
                    yield Fix("fits", f"`{new}`", (edit,))
