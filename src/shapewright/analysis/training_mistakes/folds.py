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
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_own_attribute,
    list_parameters,
)

FOLDS = re.compile(
    r"fold|\bkf\b|skf|cross_val|held_?out|leave_one|loso"
    r"|(train|tr)_(idx|index|indices|ids), (test|val|valid|te|va)_",
    re.I,
)
RESETTING = ("load_state_dict", "reset_parameters", "apply", "deepcopy")
"""Calls in a loop that give a model its first weights again."""
RESET = re.compile(r"reset|re_?init", re.I)
"""Parts of names of functions that do so."""
DEPTH = 3
"""How many functions are left on the way from a step to the loop over folds."""


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
    its model; the steps may stand in a function that they call.
    """
    for optimizer in scene.training.optimizers:
        text = scene.program.text(optimizer.built[0])
        stepped = scene.program.node(scene.span(optimizer.stepped, "step"))
        if text is None or stepped is None or stepped[0] is not text:
            continue
        loops = list(_iter_fold_loops(text, stepped[1]))
        for node in text.near(optimizer.built[1]):
            statement = text.statement_of(node)
            if get_called_name(node) != optimizer.name:
                continue
            loop = _find_loop_below(text, statement, loops)
            names = collect_names(node) | _list_own_attributes(node)
            built = _find_model(text, names, loop) if loop is not None else None
            if built is None or loop is None:
                continue
            optimizer_place = text.span(statement), "its optimizer is built here"
            yield _tell_kept(text, built, loop, optimizer_place)
            break


def _find_loop_below(
    text: SourceText, built: ast.stmt, loops: list[tuple[ast.For, set[str]]]
) -> ast.For | None:
    """Return the loop in which the optimizer that a statement builds is stepped, if the
    statement runs once, before it.
    """
    targets = built.targets if isinstance(built, ast.Assign) else []
    written = {ast.unparse(target) for target in targets}
    return next(
        (
            loop
            for loop, names in loops
            if written & names and _is_built_above(text, built, loop)
        ),
        None,
    )


def _is_built_above(text: SourceText, statement: ast.stmt, loop: ast.For) -> bool:
    """Return whether a statement runs once, before a loop: above it in a function
    around it, or in the constructor of its object.
    """
    if statement.lineno > loop.lineno or text.around(statement, ast.For) is not None:
        return False
    function = text.around(statement, *FUNCTIONS)
    if isinstance(function, ast.FunctionDef) and function.name == "__init__":
        return text.around(function, ast.ClassDef) is text.around(loop, ast.ClassDef)
    return function is None or function in list(text.outwards(loop))


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
    yield from _iter_loops_outwards(text, node, names, DEPTH)


def _iter_loops_outwards(
    text: SourceText, node: ast.AST, names: set[str], depth: int
) -> Iterator[tuple[ast.For, set[str]]]:
    """Yield the loops over folds around a node, or around calls of its function."""
    loop = _find_fold_loop(text, node)
    if loop is not None:
        yield loop, names
        return
    function = text.around(node, ast.FunctionDef)
    if function is None or len(text.functions(function.name)) != 1 or depth == 0:
        return
    for call in text.nodes:
        if not isinstance(call, ast.Call) or get_called_name(call) != function.name:
            continue
        passed = match_arguments(function, call)
        own = (
            names - set(list_parameters(function)) - collect_names(function, ast.Store)
        )
        there = own | {passed[name] for name in names if name in passed}
        yield from _iter_loops_outwards(text, call, there, depth - 1)


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
            is_reset = calls & set(RESETTING) or any(map(RESET.search, calls))
            return None if is_reset else loop
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
