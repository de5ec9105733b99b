"""Find best models that are no copies: `best = model` below the condition of a loop
that goes on to train the same model.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import MODEL_NOT_COPIED
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_dotted_name,
    list_arguments,
    pair_targets,
)

OF_MODULES = frozenset(
    {"parameters", "train", "eval", "state_dict", "named_parameters", "zero_grad"}
)
"""Methods by which a name is seen to stand for a model."""
UPDATING = frozenset({"backward", "step"})
DEPTH = 3
"""How many functions are entered from a loop in search of a step."""


def find_best_models(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `best = model` below a comparison in a loop that trains the model on, where
    `best` is read behind the loop.
    """
    for text in scene.program.own_texts():
        models = _list_models(text)
        for statement in text.nodes:
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                continue
            for target, value in pair_targets(statement.targets[0], statement.value):
                kept, model = get_dotted_name(target), get_dotted_name(value)
                last = model.rpartition(".")[2]
                if kept in ("", model) or last not in models - {""}:
                    continue
                loop = _find_training_loop(scene.program, text, statement, model)
                use = _find_use(text, loop, kept) if loop is not None else None
                if use is None or _has_state_of_its_own(text, kept, model):
                    continue
                yield build_finding(
                    MODEL_NOT_COPIED,
                    f"`{kept}` is the model `{model}` itself, not a copy of it: the"
                    " steps that follow change both, so that nothing is left of the"
                    " best one",
                    text.span(value),
                    (text.span(use), "it is read here, and is what the last step left"),
                )


def _list_models(text: SourceText) -> set[str]:
    """Return the last parts of the names that stand for models: methods of modules are
    called on them.
    """
    return {
        get_dotted_name(get_receiver(node)).rpartition(".")[2]
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) in OF_MODULES
    }


def find_models_kept_by_objects(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `self.best = model` below a comparison in a method that is given the model,
    as of early stopping, where a loop that trains the model on calls the method and the
    attribute is read behind the loop.
    """
    for text in scene.program.own_texts():
        for statement in text.nodes:
            method = text.around(statement, ast.FunctionDef)
            if not isinstance(statement, ast.Assign) or method is None:
                continue
            kept, model = statement.targets[0], statement.value
            condition = text.around(statement, ast.If)
            parameters = [argument.arg for argument in method.args.args[1:]]
            if not isinstance(kept, ast.Attribute) or not isinstance(model, ast.Name):
                continue
            if condition is None or model.id not in parameters:
                continue
            if model.id in collect_names(condition.test):
                continue  # a loss that is compared
            if not _is_of_best(condition, statement):
                continue
            place = parameters.index(model.id)
            use = _find_use_of_object(scene.program, method, place, kept.attr)
            if use is None or _has_state_of_its_own(text, ast.unparse(kept), ""):
                continue
            yield build_finding(
                MODEL_NOT_COPIED,
                f"`{ast.unparse(kept)}` is the model itself, not a copy of it: the"
                " steps that follow change both, so that nothing is left of the best"
                " one",
                text.span(model),
                (
                    use[0].span(use[1]),
                    "it is read here, and is what the last step left",
                ),
            )


def _find_use_of_object(
    program: Program, method: ast.FunctionDef, place: int, attribute: str
) -> tuple[SourceText, ast.expr] | None:
    """Return where an attribute of an object is read behind a loop that trains what its
    method is given at a place.
    """
    for text in program.own_texts():
        for call in text.nodes:
            if not isinstance(call, ast.Call) or len(call.args) <= place:
                continue
            owner = call.func if method.name == "__call__" else get_receiver(call)
            name, model = get_dotted_name(owner), get_dotted_name(call.args[place])
            is_method = method.name in ("__call__", get_called_name(call))
            loop = text.around(call, ast.For, ast.While)
            if not name or not model or not is_method:
                continue
            if model.rpartition(".")[2] not in _list_models(text):
                continue  # the number of the epoch, a score
            if not isinstance(loop, ast.For | ast.While):
                continue
            if not any(_is_training(program, part, model) for part in ast.walk(loop)):
                continue
            use = _find_use(text, loop, f"{name}.{attribute}")
            if use is not None and not _has_state_of_its_own(
                text, f"{name}.{attribute}", model
            ):
                return text, use
    return None


def _find_training_loop(
    program: Program, text: SourceText, statement: ast.Assign, model: str
) -> ast.For | ast.While | None:
    """Return the loop around a condition that trains a model, which it does not build,
    and which goes on where the condition is met.
    """
    condition = text.around(statement, ast.If)
    if condition is None or not _is_of_best(condition, statement):
        return None
    scope = text.around(statement, *FUNCTIONS)
    for loop in text.outwards(condition):
        if loop is scope:
            return None
        if not isinstance(loop, ast.For | ast.While):
            continue
        inside = list(ast.walk(loop))
        if any(_is_set(part, model) for part in inside):
            return None
        ends = any(
            isinstance(part, ast.Break | ast.Return | ast.Raise)
            for part in _list_followers(text, statement, loop)
        )
        if ends:
            return None
        if any(_is_training(program, call, model) for call in inside):
            return loop
    return None


def _is_of_best(condition: ast.If, statement: ast.Assign) -> bool:
    """Return whether a condition asks for the best so far: it compares with a name that
    is set below it, or "best" is written in it or in what is kept.
    """
    orders = [
        part
        for part in ast.walk(condition.test)
        if isinstance(part, ast.Compare)
        and isinstance(part.ops[0], ast.Lt | ast.Gt | ast.LtE | ast.GtE)
    ]
    read = {name for part in orders for name in collect_names(part)}
    below = {name for part in condition.body for name in collect_names(part, ast.Store)}
    if read & below:
        return True
    names = f"{ast.unparse(condition.test)} {ast.unparse(statement.targets[0])}"
    is_flag = isinstance(condition.test, ast.Name)
    return "best" in names.lower() and (bool(orders) or is_flag)


def _list_followers(
    text: SourceText, statement: ast.stmt, loop: ast.stmt
) -> list[ast.stmt]:
    """Return what stands behind a statement in its blocks, up to the loop around it."""
    followers: list[ast.stmt] = []
    inner: ast.AST = statement
    for outer in text.outwards(statement):
        for block in (getattr(outer, "body", []), getattr(outer, "orelse", [])):
            if isinstance(block, list) and inner in block:
                followers += block[block.index(inner) + 1 :]
        if outer is loop:
            break
        inner = outer
    return followers


def _is_set(node: ast.AST, name: str) -> bool:
    """Return whether a node gives a dotted name a new value."""
    stored = isinstance(node, ast.Name | ast.Attribute) and isinstance(
        node.ctx, ast.Store
    )
    return stored and get_dotted_name(node) == name


def _is_training(program: Program, node: ast.AST, model: str) -> bool:
    """Return whether a node is a call that trains: a step or a backward pass, or a
    function or method with one that is given the model, or is of its owner.
    """
    if not isinstance(node, ast.Call):
        return False
    name = get_called_name(node)
    if name in UPDATING:
        return name == "backward" or "optim" in ast.unparse(node.func).lower()
    owner = get_dotted_name(get_receiver(node))
    passed = {get_dotted_name(argument) for argument in list_arguments(node)}
    is_own = bool(owner) and model.startswith(f"{owner}.")
    return (model in passed or is_own) and _has_step(program, name, DEPTH)


def _has_step(program: Program, name: str, depth: int) -> bool:
    """Return whether the one function of a name has a backward pass, or calls such."""
    functions = [
        function
        for text in program.own_texts()
        for function in text.nodes
        if isinstance(function, ast.FunctionDef) and function.name == name
    ]
    if len(functions) != 1 or depth == 0:
        return False
    called = {get_called_name(part) for part in ast.walk(functions[0])} - {"", name}
    return "backward" in called or any(
        _has_step(program, part, depth - 1) for part in called
    )


def _find_use(
    text: SourceText, loop: ast.For | ast.While, kept: str
) -> ast.expr | None:
    """Return where what is kept is read behind a loop, before it gets another value."""
    scope: ast.AST | None = text.around(loop, *FUNCTIONS)
    if "." in kept:
        scope = text.around(loop, ast.ClassDef) or scope
    inside = set(ast.walk(loop))
    places = [
        node
        for node in (ast.walk(scope) if scope is not None else text.nodes)
        if isinstance(node, ast.Name | ast.Attribute)
        and get_dotted_name(node) == kept
        and node not in inside
        and node.lineno > (loop.end_lineno or loop.lineno)
    ]
    for node in sorted(places, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(text.parent(node), ast.Compare):
            continue  # whether there is one at all
        return node if isinstance(node.ctx, ast.Load) else None
    return None


def _has_state_of_its_own(text: SourceText, kept: str, model: str) -> bool:
    """Return whether a state is loaded into the model or what is kept, or what is kept
    is copied elsewhere.
    """
    for node in text.nodes:
        if not isinstance(node, ast.Call):
            continue
        name = get_called_name(node)
        if name == "load_state_dict" and get_dotted_name(get_receiver(node)) in (
            kept,
            model,
        ):
            return True
        if name in ("deepcopy", "copy", "load_checkpoint") and kept in {
            get_dotted_name(argument) for argument in list_arguments(node)
        }:
            return True
    return False
