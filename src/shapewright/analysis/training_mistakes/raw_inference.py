"""Find functions that ask a model about raw samples, where one function of the file
makes normalized tensors of such samples for the training.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from shapewright.analysis.training_mistakes.context import build_finding
from shapewright.findings.codes import UNEQUAL_TRANSFORMS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_last_name,
    iter_assignments,
    list_arguments,
    list_parameters,
)

ASKING = re.compile(r"infer|predict|classif|recogni[sz]|service|demo", re.I)
"""Parts of names of functions, and of classes, that ask a trained model."""
MODEL = re.compile(r"model|net|classifier|clf", re.I)
CONVERTING = operators_with("takes_program_data") | {"Tensor", "FloatTensor"}
TRAINED_ON = frozenset({"TensorDataset", "DataLoader", "fit", "train", "fit_model"})
IsNormalizing = Callable[[SourceText, ast.AST], bool]


def find_raw_inference(
    text: SourceText, is_normalizing: IsNormalizing
) -> Iterator[Finding]:
    """Yield where a function makes a tensor of what it is given and asks a model about
    it, and leaves out what prepares the samples of the training.
    """
    preparing = [
        function
        for _, function in text.functions()
        if isinstance(function, ast.FunctionDef)
        and len(list_parameters(function)) == 1
        and _find_conversion(text, function) is not None
        and is_normalizing(text, function)
    ]
    if len(preparing) != 1 or not _is_trained_on(text, preparing[0].name):
        return
    (prepared,) = preparing
    for _, function in text.functions():
        if not isinstance(function, ast.FunctionDef) or not _is_asking(text, function):
            continue
        tensor = _find_conversion(text, function)
        called = {get_called_name(node) for node in ast.walk(function)}
        if tensor is None or prepared.name in called or is_normalizing(text, function):
            continue
        if not _is_model_asked(function, tensor) or _is_given_prepared(
            text, function, prepared.name
        ):
            continue
        where = function.name
        owner = text.around(function, ast.ClassDef)
        if owner is not None and where == "__call__":
            where = owner.name
        yield build_finding(
            UNEQUAL_TRANSFORMS,
            f"`{prepared.name}` normalizes the samples of the training, and `{where}`"
            " leaves it out: the model is trained on values of one scale and asked"
            " about those of another",
            text.span(tensor),
            (text.span(prepared), "the samples of the training are normalized here"),
        )


def _find_conversion(text: SourceText, function: ast.FunctionDef) -> ast.Assign | None:
    """Return the only statement of a function that makes a tensor of its parameter and
    of nothing else: `x = torch.as_tensor(images)`.
    """
    parameters = {*list_parameters(function)} - {"self"}
    statements = [
        text.statement_of(node)
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and get_called_name(node) in CONVERTING
        and node.args
        and get_last_name(node.args[0]) in parameters
    ]
    statement = statements[0] if len(statements) == 1 else None
    is_named = isinstance(statement, ast.Assign) and isinstance(
        statement.targets[0], ast.Name
    )
    return statement if is_named and isinstance(statement, ast.Assign) else None


def _is_asking(text: SourceText, function: ast.FunctionDef) -> bool:
    """Return whether the name of a function, or of its class, says that it asks a
    trained model.
    """
    owner = text.around(function, ast.ClassDef)
    is_of_class = owner is not None and ASKING.search(owner.name) is not None
    return ASKING.search(function.name) is not None or (
        is_of_class and function.name == "__call__"
    )


def _is_trained_on(text: SourceText, name: str) -> bool:
    """Return whether what a function returns goes into a data set, or into a function
    that trains.
    """
    return any(
        get_called_name(part) == name
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) in TRAINED_ON
        for argument in list_arguments(node)
        for value in _list_values(text, argument)
        for part in ast.walk(value)
    )


def _list_values(text: SourceText, node: ast.expr) -> list[ast.expr]:
    """Return an expression, and what its function assigns to the names in it."""
    scope = text.around(node, *FUNCTIONS, ast.Module)
    names = collect_names(node)
    return [node] + [
        value
        for target, value in iter_assignments(scope, unpacked=True)
        if collect_names(target, ast.Store) & names
    ]


def _is_model_asked(function: ast.FunctionDef, tensor: ast.Assign) -> bool:
    """Return whether a function calls a model with the tensor that it makes."""
    name = ast.unparse(tensor.targets[0])
    return any(
        MODEL.search(get_called_name(node)) is not None
        and any(ast.unparse(argument).startswith(name) for argument in node.args)
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
    )


def _is_given_prepared(
    text: SourceText, function: ast.FunctionDef, prepared: str
) -> bool:
    """Return whether a caller of a function passes what is normalized already."""
    owner = text.around(function, ast.ClassDef)
    names = {function.name}
    if owner is not None and function.name == "__call__":
        names = {owner.name} | {
            target.id
            for node in text.nodes
            if isinstance(node, ast.Assign)
            and get_called_name(node.value) == owner.name
            for target in node.targets
            if isinstance(target, ast.Name)
        }
    return any(
        get_called_name(part) == prepared
        for node in text.nodes
        if isinstance(node, ast.Call)
        and (get_called_name(node) or get_called_name(node.func)) in names
        for argument in list_arguments(node)
        for value in _list_values(text, argument)
        for part in ast.walk(value)
    )
