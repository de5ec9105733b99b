"""Find models that a cross validation goes on training from fold to fold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.batch_loops import match_arguments
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import MODEL_KEPT_OVER_FOLDS, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_own_attribute,
)

FOLDS = re.compile(
    r"fold|\bkf\b|skf|cross_val|held_?out|leave_one|loso"
    r"|(train|tr)_(idx|index|indices|ids), (test|val|valid|te|va)_",
    re.I,
)
RESETTING = ("load_state_dict", "reset_parameters", "apply", "deepcopy")
"""Calls in a loop that give a model its first weights again."""


@looks_for(MODEL_KEPT_OVER_FOLDS)
def find_kept_models(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loops over folds that build optimizers of one model again and again, or go
    on with one.
    """
    yield from _find_kept_trainings(scene)
    seen: set[object] = set()
    for optimizer in scene.training.optimizers:
        text = scene.program.text(optimizer.built[0])
        if text is None or not optimizer.is_twin or optimizer.built in seen:
            continue
        seen.add(optimizer.built)
        for node in text.near(optimizer.built[1]):
            default = _find_default(text, node)
            if default is not None:
                yield build_finding(
                    MODEL_KEPT_OVER_FOLDS,
                    f"`{text.line_of(default)}` is built once, when the function is"
                    " defined: each call goes on with the weights of the calls before",
                    text.span(default),
                    (text.span(node), "an optimizer of the same weights is built here"),
                )
                break
            for loop, names in _iter_fold_loops(text, node):
                built = _find_model(text, names, loop)
                if built is None:
                    continue
                label = "an optimizer of the same weights is built here"
                yield _tell_kept(text, built, loop, (text.span(node), label))
                break
            else:
                continue
            break


def _find_kept_trainings(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loops over folds that train by an optimizer which is built above them, with
    its model.
    """
    for optimizer in scene.training.optimizers:
        text = scene.program.text(optimizer.built[0])
        stepped = scene.program.node(scene.span(optimizer.stepped, "step"))
        if text is None or stepped is None or stepped[0] is not text:
            continue
        loop = _find_fold_loop(text, stepped[1])
        for node in text.near(optimizer.built[1]) if loop is not None else ():
            statement = text.statement_of(node)
            is_own = get_called_name(node) == optimizer.name
            if loop is None or not is_own or statement.lineno > loop.lineno:
                continue
            if text.around(statement, ast.For) is not None:
                continue
            names = collect_names(node) | _list_own_attributes(node)
            built = _find_model(text, names, loop)
            if built is None:
                continue
            optimizer_place = text.span(statement), "its optimizer is built here"
            yield _tell_kept(text, built, loop, optimizer_place)
            break


def _tell_kept(
    text: SourceText, built: ast.Assign, loop: ast.For, place: tuple[Span, str]
) -> Finding:
    """Return the finding on a model that is built above a loop over folds."""
    name = text.line_of(built.targets[0])
    return build_finding(
        MODEL_KEPT_OVER_FOLDS,
        f"`{name}` is built once, before the loop over folds: each fold goes on with"
        " weights that have seen its validation samples",
        text.span(built),
        (text.span(loop.iter), "the folds are gone through here"),
        place,
    )


def _find_default(text: SourceText, node: ast.AST) -> ast.Call | None:
    """Return the model that is built as the default of a parameter whose weights an
    optimizer gets.
    """
    function = text.around(node, ast.FunctionDef)
    if function is None or get_called_name(node) == "":
        return None
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    defaults = dict(zip(reversed(names), reversed(arguments.defaults), strict=False))
    for argument, value in zip(
        arguments.kwonlyargs, arguments.kw_defaults, strict=False
    ):
        if value is not None:
            defaults[argument.arg] = value
    weights = [
        owner
        for part in ast.walk(node)
        if isinstance(part, ast.Call)
        and get_called_name(part) in ("parameters", "named_parameters")
        and (owner := get_receiver(part)) is not None
    ]
    calls = [
        match_arguments(function, call)
        for call in text.nodes
        if isinstance(call, ast.Call) and get_called_name(call) == function.name
    ]
    for name in {name for owner in weights for name in collect_names(owner)}:
        value = defaults.get(name)
        if isinstance(value, ast.Call) and not all(name in passed for passed in calls):
            return value
    return None


def _iter_fold_loops(
    text: SourceText, node: ast.AST
) -> Iterator[tuple[ast.For, set[str]]]:
    """Yield the loop over folds around a node, or around a call of its function, with
    the names that the node has there.
    """
    names = collect_names(node) | _list_own_attributes(node)
    loop = _find_fold_loop(text, node)
    if loop is not None:
        yield loop, names
        return
    function = text.around(node, ast.FunctionDef)
    if function is None or len(text.functions(function.name)) != 1:
        return
    for call in text.nodes:
        if not isinstance(call, ast.Call) or get_called_name(call) != function.name:
            continue
        loop = _find_fold_loop(text, call)
        if loop is None:
            continue
        passed = match_arguments(function, call)
        own = {name for name in names if name.startswith("self.")}
        yield loop, own | {passed[name] for name in names if name in passed}


def _list_own_attributes(node: ast.AST) -> set[str]:
    """Return the attributes of `self` in a node: `self.net`."""
    return {
        f"self.{get_own_attribute(part)}"
        for part in ast.walk(node)
        if get_own_attribute(part)
    }


def _find_fold_loop(text: SourceText, node: ast.AST) -> ast.For | None:
    """Return the loop over folds around a node, if nothing in it resets a model."""
    loop = text.around(node, ast.For)
    while loop is not None:
        words = f"{text.written(loop.target)} {text.written(loop.iter)}"
        words += _read_held_part(text, loop)
        if FOLDS.search(words):
            calls = _list_calls(text, loop)
            return None if calls & set(RESETTING) else loop
        loop = text.around(loop, ast.For)
    return None


def _read_held_part(text: SourceText, loop: ast.For) -> str:
    """Return the names of the lists that a loop over numbers takes a part of: `folds`
    of `for k in range(5): held_out = folds[k]`; those of a function whose parts it
    goes through: `split_indices`.
    """
    number = ast.unparse(loop.target)
    names = [
        ast.unparse(node.value)
        for node in ast.walk(loop)
        if isinstance(node, ast.Subscript) and ast.unparse(node.slice) == number
    ]
    for _, function in text.functions(get_called_name(loop.iter)):
        for node in ast.walk(function):
            if isinstance(node, ast.For):
                names += [ast.unparse(node.target), ast.unparse(node.iter)]
    return " ".join(["", *names])


def _list_calls(text: SourceText, loop: ast.For) -> set[str]:
    """Return the names of what a loop calls, itself and in functions of the program."""
    calls = {get_called_name(part) for part in ast.walk(loop)}
    inner = {
        get_called_name(part)
        for name in calls - {""}
        for _, function in text.functions(name)
        for part in ast.walk(function)
    }
    return calls | inner


def _find_model(text: SourceText, names: set[str], loop: ast.For) -> ast.Assign | None:
    """Return the statement above a loop, or in the constructor of its object, that
    builds the model of an optimizer.
    """
    inside = set(ast.walk(loop))
    for statement in reversed(text.nodes):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        if ast.unparse(target) not in names:
            continue
        if statement in inside:
            return None
        is_built = isinstance(statement.value, ast.Call)
        if isinstance(target, ast.Name):
            if is_built and statement.lineno < loop.lineno:
                return statement
            continue
        function = text.around(statement, ast.FunctionDef)
        if function is None or function.name != "__init__" or not is_built:
            return None  # a method that may build it again
        kind = text.around(function, ast.ClassDef)
        if kind is not None and text.around(loop, ast.ClassDef) is kind:
            return statement
    return None
