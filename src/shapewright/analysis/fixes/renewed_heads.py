"""A loss of classes beside a head that is renewed for more of them: a method gives the
model another head and leaves it the loss of two classes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import TARGET_SHAPE
from shapewright.findings.finding import Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    get_own_attribute,
    iter_own_nodes,
)

BINARY = "BCEWithLogitsLoss"
OF_CLASSES = "CrossEntropyLoss"
MAKING = ("__init__", "forward")
"""Methods that renew no head of a model that was trained."""


def suggest_loss_beside_head(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `self.loss = nn.CrossEntropyLoss()` below the line that renews a head for
    several classes, where only the first one chose the loss.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    place = program.call_at(op.span)
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    if unmet is None or unmet.code != TARGET_SHAPE or place is None or built is None:
        return
    scores, labels = (fact.shape for fact in op.inputs[:2])
    is_of_classes = len(scores) > 1 and scores[1] > 1 and labels == (
        scores[0], *scores[2:]
    )  # fmt: skip
    text, call = place
    name = get_own_attribute(call.func)
    around = text.around(call, ast.ClassDef)
    if built.class_name != BINARY or not is_of_classes or not name or around is None:
        return
    if op.inputs[1].dtype != "int64":
        return
    heads = _list_renewed_heads(program, around, name)
    new = _write_loss(text, around, name)
    if len(heads) == 1 and new:
        where, statement, owner = heads[0]
        for choice in dict.fromkeys(new if owner == "self" else new[1:]):
            line = f"{owner}.{name} = {choice}"
            yield Fix("fits", f"`{line}`", (write_after(where, statement, line),))


def _list_renewed_heads(
    program: Program, model: ast.AST, loss: str
) -> list[tuple[SourceText, ast.stmt, str]]:
    """Return the statements that set a layer of a model anew which its `__init__` sets,
    in a function that does not set the loss, with the name of the model.
    """
    first = _list_stores(model, "__init__")
    calls = [part for part in ast.walk(model) if isinstance(part, ast.Call)]
    called = {get_own_attribute(call.func) for call in calls}
    heads: list[tuple[SourceText, ast.stmt, str]] = []
    for text in program.own_texts():
        for node in text.nodes:
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if not isinstance(node, ast.Assign) or not isinstance(
                target, ast.Attribute
            ):
                continue
            scope = text.around(node, *FUNCTIONS)
            owner = get_last_name(target.value)
            is_known = target.attr in first and target.attr in called
            if not is_known or not isinstance(node.value, ast.Call):
                continue
            if isinstance(scope, ast.FunctionDef) and scope.name in MAKING:
                continue
            if isinstance(target.value, ast.Name) and not _has_store(
                scope or text.tree, loss
            ):
                heads.append((text, node, owner))
    return heads


def _list_stores(model: ast.AST, method: str) -> dict[str, list[ast.Assign]]:
    """Return the assignments to own attributes in a method, by their names."""
    stores: dict[str, list[ast.Assign]] = {}
    for function in ast.walk(model):
        if isinstance(function, ast.FunctionDef) and function.name == method:
            for part in iter_own_nodes(function):
                if isinstance(part, ast.Assign) and len(part.targets) == 1:
                    name = get_own_attribute(part.targets[0])
                    stores.setdefault(name, []).append(part)
    stores.pop("", None)
    return stores


def _has_store(scope: ast.AST | None, name: str) -> bool:
    """Return whether a function, or the program outside of all, sets an attribute."""
    return any(
        isinstance(part, ast.Attribute)
        and part.attr == name
        and isinstance(part.ctx, ast.Store)
        for part in (iter_own_nodes(scope) if scope is not None else ())
    )


def _write_loss(text: SourceText, model: ast.AST, name: str) -> tuple[str, str] | None:
    """Return the loss as the model chooses it by its own number of classes, and the one
    of several classes; None where `__init__` does not say one.
    """
    stores = _list_stores(model, "__init__").get(name, [])
    calls = [
        part
        for store in stores
        for part in ast.walk(store.value)
        if isinstance(part, ast.Call)
    ]
    binary = [part for part in calls if get_called_name(part) == BINARY]
    several = [part for part in calls if get_called_name(part) == OF_CLASSES]
    if len(binary) != 1 or len(several) > 1:
        return None
    if not several:
        new = text.written(binary[0].func).replace(BINARY, f"{OF_CLASSES}()")
        plain = not binary[0].args and not binary[0].keywords
        return (new, new) if plain and "." in new else None
    alone = join_lines(text.written(several[0]))
    test = _find_choice(text, several[0], binary[0])
    if test is None:
        return alone, alone
    chosen = f"{alone} if {text.written(test)} else {text.written(binary[0])}"
    return join_lines(chosen), alone


def _find_choice(
    text: SourceText, several: ast.Call, binary: ast.Call
) -> ast.expr | None:
    """Return the condition on which a model takes the loss of several classes, and else
    the other, if it reads nothing but the model.
    """
    for outer in text.outwards(several):
        if not isinstance(outer, ast.If | ast.IfExp):
            continue
        body = outer.body if isinstance(outer.body, list) else [outer.body]
        rest = outer.orelse if isinstance(outer.orelse, list) else [outer.orelse]
        is_first = any(several in list(ast.walk(part)) for part in body)
        is_second = any(binary in list(ast.walk(part)) for part in rest)
        names = {n.id for n in ast.walk(outer.test) if isinstance(n, ast.Name)}
        is_own = names == {"self"} and is_first and is_second
        return outer.test if is_own else None
    return None
