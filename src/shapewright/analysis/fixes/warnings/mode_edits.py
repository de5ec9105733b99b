"""Edits for a model in the wrong mode: `eval()` where it is evaluated, `train()` where
it is trained.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import (
    cut_lines,
    find_block,
    wrap_in_no_grad,
    write_after,
    write_before,
)
from shapewright.analysis.fixes.warnings.training_edits import find_owners
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import EVALUATED_IN_TRAINING_MODE
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    iter_assignments,
)
from shapewright.record.ops import ModuleCall


def suggest_mode(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `model.eval()` or `model.train()` before the loop that needs it."""
    method = "eval" if finding.code == EVALUATED_IN_TRAINING_MODE else "train"
    called = node if isinstance(node, ast.Call) else None
    if "is loaded and used" in finding.message:
        fixes = list(_suggest_loaded_mode(program, finding, text, node))
        yield from fixes
        if fixes:
            return
    if "put into training mode" in finding.message:
        yield from _suggest_other_mode(program, finding)
        return
    if "trained by nothing" in finding.message:
        yield from _suggest_evaluation(program, finding.message.split("`")[1])
        return
    if "is compared with" in finding.message:
        yield from _suggest_one_mode(text, node)
        return
    names = find_owners(text, "parameters") + find_owners(text, "eval")
    if called is not None and isinstance(called.func, ast.Name):
        names.insert(0, called.func.id)
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    own = _find_model_call(program, text, statement)
    if own is not None and f"`{own[0].class_name}`" in finding.message:
        names = list(filter(None, [get_dotted_name(own[1].func)])) or names
    loop: ast.For | ast.While | None = None
    for around in text.outwards(node):
        if isinstance(around, ast.For | ast.While):
            loop = around
            break
    if loop is not None and method == "eval":
        statement = loop
    if method == "train" and loop is not None:
        yield from _suggest_training_again(program, finding, text, loop)
    for name in dict.fromkeys(names):
        if isinstance(statement, ast.stmt):
            new = f"{name}.{method}()"
            place = write_before(text, statement, new)
            if method == "train" and loop is not None:
                place = write_before(text, loop.body[0], new)
            yield Fix("fits", f"`{new}`", (place,))
    if method == "eval" and own is not None:
        yield from _suggest_both_modes(program, text, *own)


def _suggest_training_again(
    program: Program, finding: Finding, text: SourceText, loop: ast.For | ast.While
) -> Iterator[Fix]:
    """Suggest `model.train()` behind the call of a function that leaves the model in
    evaluation mode, where this call stands in the loop that trains.
    """
    place = program.call_at(finding.related[0].span) if finding.related else None
    owner = get_receiver(place[1]) if place is not None else None
    if place is None or owner is None or place[0].file != text.file:
        return
    function = text.around(place[1], *FUNCTIONS)
    if not isinstance(function, ast.FunctionDef) or loop in list(
        text.outwards(place[1])
    ):
        return
    calls = [
        call
        for call in ast.walk(loop)
        if isinstance(call, ast.Call) and get_called_name(call) == function.name
    ]
    name = get_dotted_name(owner)
    for call in calls:
        model = _name_at_call(function, call, name)
        if model:
            new = f"{model}.train()"
            edit = write_after(text, text.statement_of(call), new)
            shown = f"`{new}` after `{join_lines(text.written(call))}`"
            yield Fix("fits", shown, (edit,))


def _name_at_call(function: ast.FunctionDef, call: ast.Call, name: str) -> str:
    """Return the name that an object of a function has where the function is called:
    that of the argument for a parameter, of `trainer.model` for `self.model`.
    """
    first, dot, rest = name.partition(".")
    names = [argument.arg for argument in function.args.args]
    is_method = names[:1] == ["self"] and isinstance(call.func, ast.Attribute)
    passed = dict(zip(names[is_method:], call.args, strict=False))
    passed |= {word.arg: word.value for word in call.keywords if word.arg}
    if is_method and isinstance(call.func, ast.Attribute):
        passed["self"] = call.func.value
    if first not in names:
        return name
    outer = get_dotted_name(passed[first]) if first in passed else ""
    return f"{outer}{dot}{rest}" if outer else ""


def _suggest_evaluation(program: Program, name: str) -> Iterator[Fix]:
    """Suggest `network.eval()` behind the statement that builds it."""
    places = [
        (text, text.statement_of(target), get_called_name(value)[:1].isupper())
        for text in program.own_texts()
        for target, value in iter_assignments(text.tree, annotated=True)
        if text.written(target) == name and isinstance(value, ast.Call)
    ]
    places = [place for place in places if place[2]] or places
    if len(places) == 1:
        text, statement, _ = places[0]
        edit = write_after(text, statement, f"{name}.eval()")
        yield Fix("fits", f"`{name}.eval()`", (edit,))


def _suggest_loaded_mode(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `model.eval()` behind the statement that loads a model, also with
    `torch.no_grad()` around the loop that uses it.
    """
    loop = text.around(node, ast.For)
    around = wrap_in_no_grad(text, loop) if isinstance(loop, ast.For) else None
    for loaded in finding.related:
        text_and_call = program.call_at(loaded.span)
        owner = get_receiver(text_and_call[1]) if text_and_call is not None else None
        if text_and_call is None or owner is None:
            continue
        where, load = text_and_call
        new = f"{where.written(owner)}.eval()"
        edit = write_after(where, where.statement_of(load), new)
        yield Fix("fits", f"`{new}`", (edit,))
        if around is not None:
            shown = f"`{new}`, `with torch.no_grad():` around the loop"
            yield Fix("fits", shown, (edit, around))
        return


def _suggest_other_mode(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest `model.eval()` for the `model.train()` of a model that only predicts."""
    for related in finding.related:
        place = program.call_at(related.span)
        owner = get_receiver(place[1]) if place is not None else None
        if place is not None and owner is not None:
            text, call = place
            new = f"{text.written(owner)}.eval()"
            edit = Edit(text.span(call), new)
            yield Fix("fits", f"`{join_lines(new)}`", (edit,))


def _suggest_one_mode(text: SourceText, node: ast.AST) -> Iterator[Fix]:
    """Suggest to leave out the `model.train()` above a call, or `model.eval()`."""
    name = get_dotted_name(node.func) if isinstance(node, ast.Call) else ""
    if not isinstance(node, ast.Call) or not name:
        return
    statement = text.statement_of(node)
    above = [part for part in find_block(text, statement) if part.lineno < node.lineno]
    for part in reversed(above):
        if isinstance(part, ast.Expr) and text.written(part) == f"{name}.train()":
            message = f"without `{name}.train()`"
            yield Fix("fits", message, (cut_lines(text, part),))
            return
    new = f"{name}.eval()"
    yield Fix("fits", f"`{new}`", (write_before(text, statement, new),))


def _suggest_both_modes(
    program: Program, text: SourceText, first: ModuleCall, node: ast.Call
) -> Iterator[Fix]:
    """Suggest `model.eval()` where a model is evaluated and `model.train()` where it is
    trained, if it is trained again behind the evaluation.
    """
    calls, span = program.trace.calls, first.span
    later = next(
        (
            call
            for call in calls[first.index + 1 :]
            if call.path == first.path
            and call.span != span
            and _is_trained(program, call)
        ),
        None,
    )
    where = program.call_at(later.span) if later is not None else None
    if where is None:
        return
    names = get_dotted_name(node.func), get_dotted_name(where[1].func)
    train = f"{names[1]}.train()"
    if not all(names) or train in where[0].text:
        return
    edits = (
        _write_mode(text, node, f"{names[0]}.eval()"),
        _write_mode(*where, train),
    )
    shown = f"`{names[0]}.eval()` before this, `{train}` before the training"
    yield Fix("fits", shown, edits)


def _find_model_call(
    program: Program, text: SourceText, statement: ast.AST
) -> tuple[ModuleCall, ast.Call] | None:
    """Return the first call of a model that a statement writes, or None."""
    parts = [part for part in ast.walk(statement) if isinstance(part, ast.Call)]
    written = {text.span(part): part for part in parts}
    for call in program.trace.calls:
        if call.span is not None and call.span in written:
            return call, written[call.span]
    return None


def _is_trained(program: Program, call: ModuleCall) -> bool:
    """Return whether a call of a model records a graph."""
    ops = program.trace.ops[slice(*call.ops)]
    return any(fact.requires_grad for op in ops for fact in op.outputs)


def _write_mode(text: SourceText, call: ast.Call, new: str) -> Edit:
    """Return the edit that sets the mode before a call of a model: first in the
    function that is given the model, else before the loop over batches around the
    call, or before the statement.
    """
    outwards = list(text.outwards(call))
    loops = [outer for outer in outwards if isinstance(outer, ast.For)]
    function = text.around(call, *FUNCTIONS)
    if isinstance(function, ast.FunctionDef) and len(loops) < 2:
        body = function.body
        start = 1 if ast.get_docstring(function) is not None and body[1:] else 0
        names = [argument.arg for argument in function.args.args]
        if new.partition(".")[0] in names:
            return write_before(text, body[start], new)
    if len(loops) > 1 or (loops and function is not None):
        return write_before(text, loops[0], new)
    until = outwards.index(loops[0]) if loops else len(outwards)
    blocks = [outer for outer in outwards[:until] if isinstance(outer, ast.With)]
    return write_before(text, blocks[-1] if blocks else text.statement_of(call), new)


def suggest_frozen_mode(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `backbone.eval()` behind the `train()` of a partly frozen model."""
    model = get_receiver(node) if isinstance(node, ast.Call) else None
    if model is None or not isinstance(node, ast.Call):
        return
    owner = text.written(model)
    for part, freezing in _iter_frozen_parts(text):
        name = part
        if part.startswith("self.") and owner != "self":
            name = f"{owner}{part[4:]}"
        if name == owner:
            continue
        calls = [f"{name}.eval()"]
        if _is_run_before(text, node, freezing):
            calls.insert(0, f"{name}.train(next({name}.parameters()).requires_grad)")
        for call in calls:
            edit = write_after(text, text.statement_of(node), call)
            yield Fix("fits", f"`{call}`", (edit,))


def _is_run_before(text: SourceText, node: ast.AST, freezing: ast.AST) -> bool:
    """Return whether the function around a call is called above the statement that
    freezes a module, too, where it is to train that module.
    """
    function = text.around(node, ast.FunctionDef)
    return function is not None and any(
        get_called_name(call) == function.name
        and call.lineno < freezing.lineno  # type: ignore[attr-defined]
        and text.around(call, *FUNCTIONS) is text.around(freezing, *FUNCTIONS)
        for call in text.nodes
        if isinstance(call, ast.Call)
    )


def _iter_frozen_parts(text: SourceText) -> Iterator[tuple[str, ast.AST]]:
    """Yield the modules whose parameters the text freezes, and where; those that a loop
    goes through one by one.
    """
    for node in text.nodes:
        if not isinstance(node, ast.Call):
            continue
        owner = get_receiver(node)
        if owner is None:
            continue
        loop = text.parent(node)
        is_frozen = False
        if get_called_name(node) == "requires_grad_" and node.args:
            value = node.args[0]
            is_frozen = isinstance(value, ast.Constant) and value.value is False
        if get_called_name(node) == "parameters" and isinstance(loop, ast.For):
            written = text.written(loop)
            is_frozen = "requires_grad" in written and "False" in written
        for part in _list_turns(text, owner) if is_frozen else ():
            yield text.written(part), node


def _list_turns(text: SourceText, owner: ast.expr) -> list[ast.expr]:
    """Return the modules that a loop gives to a name: `for m in (net.stem, net.body)`;
    other expressions as they are.
    """
    written = ast.unparse(owner)
    for loop in text.outwards(owner):
        if isinstance(loop, ast.For) and ast.unparse(loop.target) == written:
            is_listed = isinstance(loop.iter, ast.Tuple | ast.List)
            return loop.iter.elts if is_listed else [owner]  # type: ignore[attr-defined]
    return [owner]
