"""A model that is put in evaluation mode for one sample, of which a batch norm in
training has no statistics: a policy that acts, a prediction behind the training.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after, write_before
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import ONE_VALUE_PER_CHANNEL
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.spans import is_installed
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
)
from shapewright.record.ops import ModuleCall, Op, collect_leaves


def suggest_evaluation(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `model.eval()` above the call with one sample that no loss is computed
    from, and `model.train()` behind it, or where the model is trained, unless the
    program says so itself.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != ONE_VALUE_PER_CHANNEL:
        return
    call = _find_model_call(program, op)
    place = program.call_at(call.span) if call is not None else None
    if call is None or place is None:
        return
    text, node = place
    name = _get_model_name(text, node)
    if not name or (_is_trained(program, op) and not _is_without_grad(program, op)):
        return
    statement = text.statement_of(node)
    new = f"{name}.eval()"
    edits = [write_before(text, statement, new)]
    message = f"`{new}`"
    trained = _find_trained_call(program, call)
    is_again = trained is None or _is_trained_again(program, op, trained)
    if trained is None and not program.trace.complete:
        is_again = _has_training_mode(program)
    if not is_again:
        back = _write_training(program, trained, text, statement, name)
        if back is None:
            return
        edit, words = back
        edits.append(edit)
        message = f"{message}, and {words}"
    yield Fix("fits", message, tuple(edits))


def describe_training_mode(program: Program, op: Op) -> Related | None:
    """Return where a model in training mode is given one sample, which a batch norm
    refused.
    """
    call = _find_model_call(program, op)
    if call is None or call.span is None or not op.inputs:
        return None
    if op.inputs[0].shape[:1] != (1,):
        return None
    name = f"`{call.path or call.class_name}`"
    return Related(call.span, f"{name} is in training mode here, and gets one sample")


def _find_model_call(program: Program, op: Op) -> ModuleCall | None:
    """Return the outermost call of a model around an op that the program makes."""
    calls = program.trace.calls
    script = bool(calls) and not any(calls[0].inputs)
    for call in calls:
        is_around = call.ops[0] <= op.index < call.ops[1]
        if not is_around or (call.index == 0 and script):
            continue
        is_own = call.span is not None and not is_installed(call.span.file)
        return call if is_own else None
    return None


def _get_model_name(text: SourceText, node: ast.Call) -> str:
    """Return the model that is called: `self` where a module calls a part of itself."""
    name = get_dotted_name(node.func)
    if name != "self" and not name.startswith("self."):
        return name
    owner = text.around(node, ast.ClassDef)
    bases = owner.bases if owner is not None else []
    is_module = any(get_dotted_name(base).endswith("Module") for base in bases)
    return "self" if is_module else name if name != "self" else ""


def _is_without_grad(program: Program, op: Op) -> bool:
    """Return whether a layer that is trained ran without a graph, as in `no_grad`."""
    learned = any(fact.requires_grad for fact in op.inputs[1:])
    return learned and not any(fact.requires_grad for fact in op.outputs)


def _find_trained_call(program: Program, call: ModuleCall) -> ModuleCall | None:
    """Return a later call of the same model whose results have a graph."""
    for other in program.trace.calls[call.index + 1 :]:
        outputs = collect_leaves(other.output)
        if other.path != call.path or other.span in (None, call.span):
            continue
        if any(fact.requires_grad for fact in outputs):
            return other
    return None


def _is_trained_again(program: Program, op: Op, trained: ModuleCall) -> bool:
    """Return whether the program puts a model in training mode behind a call with one
    sample, each time before it is trained.
    """
    place = program.call_at(trained.span)
    if place is None:
        return False
    text, node = place
    name = _get_model_name(text, node)
    function = text.around(node, *FUNCTIONS)
    spans = [frame.span for frame in op.frames if frame.span.file == text.file]
    inside = [
        single
        for single in map(text.node, spans)
        if single is not None and text.around(single, *FUNCTIONS) is function
    ]
    return any(
        isinstance(call, ast.Call)
        and get_called_name(call) == "train"
        and get_dotted_name(call.func) in (f"{name}.train", "self.train")
        and text.around(call, *FUNCTIONS) is function
        and all(
            single.lineno < call.lineno
            and _list_loops(text, single) <= _list_loops(text, call)
            for single in inside
        )
        for call in text.nodes
    )


def _list_loops(text: SourceText, node: ast.AST) -> set[ast.AST]:
    """Return the loops around a node, in its function."""
    loops: set[ast.AST] = set()
    for outer in text.outwards(node):
        if isinstance(outer, FUNCTIONS):
            break
        if isinstance(outer, ast.For | ast.While):
            loops.add(outer)
    return loops


def _write_training(
    program: Program,
    trained: ModuleCall | None,
    text: SourceText,
    statement: ast.stmt,
    name: str,
) -> tuple[Edit, str] | None:
    """Return the edit that puts a model in training mode again, and that in words."""
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr | ast.AnnAssign):
        new = f"{name}.train()"
        return write_after(text, statement, new), f"`{new}` behind the call"
    place = program.call_at(trained.span) if trained is not None else None
    if place is None:
        return None
    other, node = place
    new = f"{_get_model_name(other, node)}.train()"
    edit = write_before(other, other.statement_of(node), new)
    return edit, f"`{new}` at line {node.lineno}, for the training"


def _has_training_mode(program: Program) -> bool:
    """Return whether each function with a backward pass sets the training mode, where a
    run did not come so far.
    """
    for text in program.own_texts():
        for node in text.nodes:
            if get_called_name(node) != "backward":
                continue
            scope = text.around(node, *FUNCTIONS) or text.tree
            inside = ast.walk(scope) if scope is not None else ()
            if not any(get_called_name(call) == "train" for call in inside):
                return False
    return True


def _is_trained(program: Program, op: Op) -> bool:
    """Return whether a backward pass runs in a loop or function around a call, or
    around one that leads to it.
    """
    for frame in op.frames:
        place = program.node(frame.span)
        if place is not None and _is_trained_around(*place):
            return True
    return False


def _is_trained_around(text: SourceText, call: ast.AST) -> bool:
    """Return whether a backward pass runs in a loop or function around a call."""
    around: ast.AST | None = call
    while around is not None:
        around = text.around(around, ast.For, ast.While, *FUNCTIONS)
        for node in ast.walk(around) if around is not None else ():
            if isinstance(node, ast.Call) and get_called_name(node) == "backward":
                return True
    return False
