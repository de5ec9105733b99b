"""State dicts of what is wrapped around a model: an average of its weights, data
parallel training, a compiled module. The model inside has the keys that fit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Misloaded
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import get_called_name

WRAPPERS = {
    "AveragedModel": "module",
    "DataParallel": "module",
    "DistributedDataParallel": "module",
    "DDP": "module",
    "compile": "_orig_mod",
}
"""What wraps a model, and the attribute that holds it."""
COUNT = "n_averaged"
"""The key with which an average counts its updates."""


def describe_average(misloaded: Misloaded) -> str:
    """Return that a state dict is that of an average of weights, or an empty text."""
    if COUNT not in misloaded.unexpected or not _is_state_inside(misloaded, "module"):
        return ""
    return (
        "the state dict is that of an `AveragedModel`, whose keys begin with `module.`"
        f" beside `{COUNT}`: those of `{misloaded.class_name}` do not"
    )


def suggest_state_inside(
    program: Program, text: SourceText, argument: ast.expr, misloaded: Misloaded
) -> Iterator[Fix]:
    """Suggest `wrapper.module.state_dict()` where the state of a wrapper is loaded, or
    where it is saved.
    """
    calls = [(text, part) for part in ast.walk(argument) if _is_state(part)]
    if not calls:
        value = find_known_value(text, argument)
        calls = [(text, part) for part in ast.walk(value) if _is_state(part)]
    if not calls and COUNT in misloaded.unexpected:
        calls = [
            (own, part)
            for own in program.own_texts()
            for save in own.nodes
            if isinstance(save, ast.Call) and get_called_name(save) == "save"
            for part in ast.walk(save)
            if _is_state(part)
        ]
    fixes = []
    for own, call in calls:
        owner = get_receiver(call) if isinstance(call, ast.Call) else None
        if not isinstance(owner, ast.Name | ast.Attribute):
            continue
        name = get_called_name(find_known_value(own, owner))
        inner = WRAPPERS.get(name, "")
        if inner and _is_state_inside(misloaded, inner):
            shown = f"`{own.written(owner)}.{inner}.state_dict()`"
            edit = Edit(own.span(owner).end, f".{inner}")
            fixes.append(Fix("fits", shown, (edit,)))
    if len(fixes) == 1:
        yield fixes[0]


def _is_state(node: ast.AST) -> bool:
    """Return whether a node is `owner.state_dict()`."""
    return isinstance(node, ast.Call) and get_called_name(node) == "state_dict"


def _is_state_inside(misloaded: Misloaded, inner: str) -> bool:
    """Return whether the keys behind the name of an attribute are all the model's."""
    keys = {key for key in misloaded.unexpected if key != COUNT}
    ours = {f"{inner}.{key}" for key in misloaded.missing}
    return bool(keys) and keys == ours and not misloaded.resized
