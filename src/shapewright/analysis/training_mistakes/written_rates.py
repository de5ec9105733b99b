"""Find learning rates that do not follow their plan: a schedule that each epoch builds
anew, a rate that is written into the first of several groups only.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.rebuilt_models import find_rebuilt_models
from shapewright.findings.codes import FIRST_GROUP_ONLY, SCHEDULE_RESTARTED, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    is_optimizer,
    list_arguments,
)

SCHEDULE = re.compile(r"^\w+LR$|^CosineAnnealingWarmRestarts$")
EPOCH = re.compile(r"epoch", re.IGNORECASE)


@looks_for(SCHEDULE_RESTARTED)
def find_restarted_schedules(scene: RehearsalContext) -> Iterator[Finding]:
    """Find schedules that are built in a turn of the loop over epochs and stepped once
    in it.
    """
    yield from find_rebuilt_models(scene)
    for text in scene.program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            if not SCHEDULE.match(get_called_name(node.value)):
                continue
            name = get_dotted_name(node.targets[0])
            scope = text.around(node, *FUNCTIONS, ast.For)
            if node not in getattr(scope, "body", []):
                continue  # under a condition, as where layers are unfrozen
            step = _find_only_step(text, scope, name)
            if step is None or not _is_of_each_epoch(text, scope):
                continue
            kind = get_called_name(node.value)
            yield build_finding(
                SCHEDULE_RESTARTED,
                f"this `{kind}` is built anew in each epoch and makes one step: the"
                " rate begins from the start each time, and does not follow it",
                text.span(node.value),
                (text.span(step), "its only step, before the next one is built"),
            )


def _find_only_step(
    text: SourceText, scope: ast.AST | None, name: str
) -> ast.Call | None:
    """Return the call of `step` on a schedule that stands in the same body as what
    builds it, in no loop of its own; None if there are others, or it is handed on.
    """
    body = getattr(scope, "body", [])
    steps: list[ast.Call] = []
    for node in ast.walk(scope) if scope is not None and name else ():
        if isinstance(node, ast.Return) and name in ast.unparse(node):
            return None
        if isinstance(node, ast.Call) and get_called_name(node) == "step":
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if owner is not None and get_dotted_name(owner) == name:
                steps.append(node)
    if len(steps) != 1 or text.statement_of(steps[0]) not in body:
        return None
    return steps[0]


def _is_of_each_epoch(text: SourceText, scope: ast.AST | None) -> bool:
    """Return whether a body is that of a loop over epochs, or of a function that only
    such loops call.
    """
    if isinstance(scope, ast.For):
        return _is_over_epochs(scope)
    if not isinstance(scope, ast.FunctionDef) or _has_own_model(scope):
        return False
    calls = [
        node
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) == scope.name
    ]
    loops = [text.around(call, ast.For) for call in calls]
    return bool(calls) and all(
        loop is not None and _is_over_epochs(loop) for loop in loops
    )


def _is_over_epochs(loop: ast.For) -> bool:
    """Return whether a loop goes over epochs, of one model."""
    head = f"{ast.unparse(loop.target)} {ast.unparse(loop.iter)}"
    return EPOCH.search(head) is not None and not _has_own_model(loop)


def _has_own_model(scope: ast.AST) -> bool:
    """Return whether a body builds a model of its own, as that of a fold does."""
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and re.search(r"model|net\b", ast.unparse(node.targets[0]))
        and get_called_name(node.value) not in ("train", "eval")
        for node in ast.walk(scope)
    )


@looks_for(FIRST_GROUP_ONLY)
def find_first_groups(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `optimizer.param_groups[0]["lr"] = rate` where an optimizer has several
    groups and nothing sets the others.
    """
    for text in scene.program.own_texts():
        written = [
            node
            for node in text.nodes
            if isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.slice, ast.Constant)
            and node.slice.value == "lr"
        ]
        if any(not _is_first(node) for node in written):
            continue
        for node in written:
            owner = node.value.value.value  # type: ignore[attr-defined]
            built = _find_several(text, owner)
            if built is None:
                continue
            yield build_finding(
                FIRST_GROUP_ONLY,
                f"only the first of {_count_groups(text, built)} groups gets this rate:"
                " `param_groups[0]` is one of them, and the others keep theirs",
                text.span(node),
                (text.span(built), "the optimizer gets its groups here"),
            )


def _find_several(text: SourceText, owner: ast.expr) -> ast.Call | None:
    """Return the call that builds an optimizer with several groups for a name: in the
    same function, or for what calls the function with it.
    """
    name = get_dotted_name(owner)
    function = text.around(owner, ast.FunctionDef)
    arguments = [argument.arg for argument in function.args.args] if function else []
    values: list[ast.expr] = [
        node.value
        for node in text.nodes
        if isinstance(node, ast.Assign) and get_dotted_name(node.targets[0]) == name
    ]
    if function is not None and name in arguments:
        at = arguments.index(name)
        values = [
            call.args[at]
            for call in text.nodes
            if isinstance(call, ast.Call)
            and get_called_name(call) == function.name
            and len(call.args) > at
        ]
    for value in values:
        for call in _iter_builders(text, value):
            if _count_groups(text, call) > 1:
                return call
    return None


def _iter_builders(text: SourceText, value: ast.expr) -> Iterator[ast.Call]:
    """Yield the calls of optimizers that an expression stands for: itself, what a name
    was assigned, what a function of the file returns.
    """
    waiting, met = [value], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in met:
            continue
        met.add(id(node))
        if isinstance(node, ast.Name):
            waiting += [
                part.value
                for part in text.nodes
                if isinstance(part, ast.Assign)
                and get_dotted_name(part.targets[0]) == node.id
            ]
        elif isinstance(node, ast.Call) and is_optimizer(node):
            yield node
        elif isinstance(node, ast.Call):
            waiting += [
                part.value
                for _, function in text.functions(get_called_name(node))
                for part in ast.walk(function)
                if isinstance(part, ast.Return) and part.value is not None
            ]


def _is_first(node: ast.Subscript) -> bool:
    """Return whether a rate is written into the first group."""
    return ast.unparse(node.value).endswith(".param_groups[0]")


def _count_groups(text: SourceText, call: ast.Call) -> int:
    """Return how many groups an optimizer is given in a list, 1 if it is no list."""
    arguments = list_arguments(call)
    if not arguments:
        return 1
    value: ast.expr = arguments[0]
    if isinstance(value, ast.Name):
        values = [
            node.value
            for node in text.nodes
            if isinstance(node, ast.Assign)
            and get_dotted_name(node.targets[0]) == value.id
        ]
        value = values[-1] if values else value
    if not isinstance(value, ast.List | ast.Tuple):
        return 1
    return sum(isinstance(item, ast.Dict) for item in value.elts)
