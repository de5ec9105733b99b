"""A recurrent state that a method of the model keeps for another number of samples."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.autograd_errors.names import find_resetting
from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.created_tensors import find_size_nodes
from shapewright.analysis.fixes.state_edits import (
    find_creation,
    find_twins,
    find_wanted_states,
)
from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import HIDDEN_STATE_SHAPE
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import Function, SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_own_attribute,
    iter_assignments,
    list_parameters,
)

BATCH = 1
"""The dim of a state that counts the samples."""


def suggest_state_of_batch(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `self.init_state(x.size(0))` above the call of a recurrent layer whose
    state was made once, for batches of another size, and is not carried on.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    wanted, got = find_sides(failure)
    place = program.call_at(op.span)
    if unmet is None or unmet.code != HIDDEN_STATE_SHAPE or place is None:
        return
    if wanted is None or got is None or got[1] != BATCH:
        return
    text, call = place
    creation = find_creation(program, op.inputs[got[0]])
    where = program.node(creation.span) if creation is not None else None
    owner = text.around(call, ast.ClassDef)
    if where is None or where[0] is not text or owner is None or len(call.args) < 2:
        return
    method = text.around(where[1], ast.FunctionDef)
    states = call.args[1]
    parts = states.elts if isinstance(states, ast.Tuple) else [states]
    kept = {get_own_attribute(part) for part in parts}
    if method is None or "" in kept or method is text.around(call, *FUNCTIONS):
        return
    if text.around(method, ast.ClassDef) is not owner or not _is_of_batch(method):
        return
    if not kept <= set(_iter_set_attributes(method)) or _is_carried(
        text, owner, method, kept
    ):
        return
    samples = op.inputs[wanted[0]].shape[wanted[1]]
    size = _write_batch_size(program, failure, call.args[0], samples)
    if size:
        new = f"self.{method.name}({size})"
        edit = write_before(text, text.statement_of(call), new)
        yield Fix("fits", f"`{new}`", (edit,))


def suggest_batch_of_sequence(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x.size(0)` for the number of samples where a method makes the states,
    which is handed the sequence that the layer gets.
    """
    op = program.trace.ops[failure.op]
    place = program.call_at(op.span)
    for at, wanted in find_wanted_states(program, failure):
        shape, sequence = op.inputs[at].shape, op.inputs[0].shape
        samples = wanted[-2] if len(wanted) > 1 else 0
        dims = [dim for dim in range(2) if sequence[dim : dim + 1] == (samples,)]
        others = [a != b for a, b in zip(shape, wanted, strict=False)].count(True)
        if len(dims) != 1 or others != 1 or place is None or not place[1].args:
            return
        edits: dict[Span, Edit] = {}
        new = ""
        for twin in find_twins(failure, op, at):
            maker = find_creation(program, op.inputs[twin])
            created = program.call_at(maker.span) if maker is not None else None
            nodes = find_size_nodes(*created, len(wanted)) if created else None
            if created is None or nodes is None or created[0] is not place[0]:
                return
            node = nodes[len(wanted) - 2]
            name = _find_handed_sequence(*place, node)
            if not name:
                return
            new = f"{name}.size({dims[0]})"
            edits[place[0].span(node)] = Edit(place[0].span(node), new)
        if edits:
            shown = f"`{new}` for the number of samples"
            yield Fix("fits", shown, tuple(edits.values()))


def _find_handed_sequence(text: SourceText, call: ast.Call, node: ast.expr) -> str:
    """Return the only parameter of the method around a size, where the statement of a
    layer's call hands it what the layer gets.
    """
    method = text.around(node, *FUNCTIONS)
    names = [name for name in list_parameters(method) if name != "self"]
    sequence = text.written(call.args[0])
    is_handed = any(
        get_called_name(inner) == getattr(method, "name", "")
        and [text.written(part) for part in inner.args] == [sequence]
        for inner in ast.walk(text.statement_of(call))
        if isinstance(inner, ast.Call)
    )
    return names[0] if is_handed and len(names) == 1 else ""


def suggest_reset_before_loop(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `model.reset_state()` above a loop over other samples than those of the
    state that a model has kept, where the program resets it above another loop.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    _, got = find_sides(failure)
    place = program.call_at(op.span)
    if unmet is None or unmet.code != HIDDEN_STATE_SHAPE or place is None:
        return
    text, call = place
    if got is None or got[1] != BATCH or len(call.args) < 2:
        return
    attribute = get_own_attribute(call.args[1])
    resets = find_resetting(text, attribute) if attribute else []
    for frame in reversed(op.frames if resets else ()):
        outer = program.call_at(frame.span)
        if outer is None or not isinstance(outer[1].func, ast.Name):
            continue
        loop = outer[0].around(outer[1], ast.For)
        function = outer[0].around(outer[1], *FUNCTIONS)
        if not isinstance(loop, ast.For) or function is None:
            continue
        names = {get_called_name(node) for node in ast.walk(function)}
        new = f"{outer[1].func.id}.{resets[0].name}()"
        if resets[0].name not in names:
            edit = write_before(outer[0], loop, new)
            yield Fix("fits", f"`{new}` above the loop", (edit,))
        return


def _is_of_batch(method: Function) -> bool:
    """Return whether a method needs one number, that of the samples."""
    arguments = method.args
    named = [*arguments.posonlyargs, *arguments.args]
    needed = named[: len(named) - len(arguments.defaults)]
    return len(needed) == 2 and needed[0].arg == "self" and not arguments.vararg


def _iter_set_attributes(scope: ast.AST) -> Iterator[str]:
    """Yield the attributes of `self` that a function sets."""
    for target, _ in iter_assignments(scope, annotated=True):
        for part in ast.walk(target):
            name = get_own_attribute(part)
            if name:
                yield name


def _is_carried(
    text: SourceText, owner: ast.ClassDef, method: Function, kept: set[str]
) -> bool:
    """Return whether a state is set elsewhere, too: what a batch leaves is then what
    the next one begins with.
    """
    for node in text.nodes:
        if not isinstance(node, ast.Attribute) or node.attr not in kept:
            continue
        function = text.around(node, *FUNCTIONS)
        is_first = getattr(function, "name", "") == "__init__"
        if isinstance(node.ctx, ast.Store) and function is not method and not is_first:
            return True
    return False


def _write_batch_size(
    program: Program, failure: Failure, node: ast.expr, samples: int
) -> str:
    """Return how many samples a call is given, as it is read off its first argument."""
    op = program.trace.ops[failure.op]
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    dim = 0 if built is not None and dict(built.values).get("batch_first") else 1
    if not isinstance(node, ast.Name | ast.Attribute) or not op.inputs:
        return ""
    handed = op.inputs[0].shape
    if samples not in handed[:2]:
        return ""
    return f"{ast.unparse(node)}.size({dim})"
