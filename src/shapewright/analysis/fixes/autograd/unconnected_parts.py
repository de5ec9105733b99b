"""What a gradient does not reach as meant: parts cut off an input, a head that no call
reads, what the program's own `backward` returns.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.autograd_errors import Cause
from shapewright.analysis.autograd_errors.custom_functions import find_wrong_gradient
from shapewright.analysis.autograd_errors.history import History
from shapewright.analysis.autograd_errors.inference_tensors import (
    MODE,
    find_inference_tensor,
)
from shapewright.analysis.autograd_errors.unused_heads import find_unused_head
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.statements import cut_lines, write_before
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    pair_targets,
)


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
    `x` and `t` were cut from; what is cut behind the network comes before it.
    """
    maker = cause.maker
    text_and_node = history.find_text(maker.span if maker is not None else None)
    if maker is None or text_and_node is None or not maker.inputs:
        return
    text, statement = text_and_node
    body = getattr(text.parent(statement), "body", [])
    if not isinstance(statement, ast.Assign) or statement not in body:
        return
    owners = [
        text.written(value.value)
        for _, value in pair_targets(statement.targets[0], statement.value)
        if isinstance(value, ast.Subscript)
    ]
    if not owners:
        return
    owner = owners[0]
    cuts = [other for other in body if _list_cuts(text, other, owner)]
    parts = [name for other in cuts for name in _list_cuts(text, other, owner)]
    if len(parts) < 2:
        return
    joined = f"torch.cat([{', '.join(parts)}], dim={len(maker.inputs[0].shape) - 1})"
    for other in body:
        late = [cut for cut in cuts if cut.lineno >= other.lineno]
        if other in cuts or _is_setting(other, owner):
            continue
        for node in ast.walk(other):
            for argument in node.args if isinstance(node, ast.Call) else ():
                if not isinstance(argument, ast.Name) or argument.id != owner:
                    continue
                new = f"{text.written(node.func)}({joined})"  # type: ignore[attr-defined]
                edits = [Edit(text.span(argument), joined)]
                if late:
                    indent = " " * other.col_offset
                    rows = f"\n{indent}".join(text.written(cut) for cut in late)
                    edits.append(write_before(text, other, rows))
                    edits += [cut_lines(text, cut) for cut in late]
                yield Fix("fits", f"`{new}`", tuple(edits))


def _list_cuts(text: SourceText, statement: ast.stmt, owner: str) -> list[str]:
    """Return the names that a statement gives to parts of a tensor, and to nothing
    else.
    """
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    names = []
    for target, value in pair_targets(statement.targets[0], statement.value):
        is_cut = isinstance(value, ast.Subscript) and isinstance(target, ast.Name)
        if not is_cut or text.written(value.value) != owner:  # type: ignore[attr-defined]
            return []
        names.append(target.id)  # type: ignore[attr-defined]
    return names


def _is_setting(statement: ast.stmt, name: str) -> bool:
    """Return whether a statement sets a name."""
    return name in collect_names(statement, ast.Store)


def suggest_no_grad(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `no_grad` for inference mode, whose tensors a graph can keep."""
    tensor = find_inference_tensor(history.program, cause.failing, cause.message)
    if tensor is None:
        return
    text, mode = tensor.text, tensor.mode
    name = mode.func if isinstance(mode, ast.Call) else mode
    new = f"{text.written(name).removesuffix(MODE)}no_grad"
    new += "()" if isinstance(mode, ast.Call) else ""
    shown = f"`{new}` for `{text.written(mode)}`"
    yield Fix("fits", shown, (Edit(text.span(mode), new),))
