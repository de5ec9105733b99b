"""A size that a model is built with and that none of its layers reads."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.constructors import replace_argument
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor, iter_arguments
from shapewright.findings.codes import CHANNEL_MISMATCH, INNER_DIM_MISMATCH
from shapewright.findings.finding import Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.syntax_nodes import (
    get_dotted_name,
    get_own_attribute,
    iter_assignments,
)

INWARD = re.compile(r"^(n_?|num_?|c_?|ch_?)?in($|_|put|_?ch|_?feat|_?dim)|^nin$", re.I)
"""Names of the size of what a layer is given."""


def suggest_unread_size(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `nn.Linear(latent_size, 64)` where the data have the size that the model
    is built with, under a name that its constructor stores and does not read.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code not in (CHANNEL_MISMATCH, INNER_DIM_MISMATCH):
        return
    path = _find_owner(program, failure)
    place = find_constructor(program, path) if path else None
    if place is None or type(unmet.has) is not int:
        return
    text, call = place
    function = text.around(call, ast.FunctionDef)
    owner = text.around(call, ast.ClassDef)
    if function is None or owner is None or function.name != "__init__":
        return
    inward = [
        (name, node)
        for name, node, _ in iter_arguments(program, path)
        if INWARD.search(name)
    ]
    sizes = _list_sizes(program, path, owner.name, function)
    for size, value in sizes.items() if inward else ():
        if value == unmet.has and not _is_read(owner, function, size):
            name, node = inward[0]
            yield replace_argument(text, call, name, node, size)


def _find_owner(program: Program, failure: Failure) -> str:
    """Return the path of the module whose weight, scaled or not, sets the size that an
    operator in its own `forward` expects.
    """
    op, (wanted, _) = program.trace.ops[failure.op], find_sides(failure)
    layer = program.layer(op)
    if layer is not None:
        return layer.path
    if wanted is None or not op.module:
        return ""
    fact = op.inputs[wanted[0]]
    for maker in iter_first_makers(program, fact):
        if not maker.inputs or maker.inputs[0].shape != fact.shape:
            break
        fact = maker.inputs[0]
    owner = program.states.get(fact.tensor, "").rpartition(".")[0]
    return owner if owner == op.module else ""


def _list_sizes(
    program: Program, path: str, class_name: str, function: ast.FunctionDef
) -> dict[str, int]:
    """Return the numbers that the module around a layer was built with, by name."""
    while path:
        path = path.rpartition(".")[0]
        built = program.built.get(path)
        if built is None or built.class_name != class_name:
            continue
        arguments = function.args
        named = [*arguments.posonlyargs, *arguments.args]
        defaults = zip(reversed(named), reversed(arguments.defaults), strict=False)
        values = {name.arg: evaluate_whole_number(node) for name, node in defaults}
        values |= {name: value for name, _, value in iter_arguments(program, path)}
        values |= {name: value for name, value in built.values if name in values}
        return {name: value for name, value in values.items() if type(value) is int}
    return {}


def _is_read(owner: ast.ClassDef, function: ast.FunctionDef, name: str) -> bool:
    """Return whether a class reads a parameter of its constructor, or the attribute of
    its name, where it builds layers.
    """
    stored = {
        value
        for target, value in iter_assignments(function, unpacked=True)
        if get_own_attribute(target)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == name and node not in stored:
            return True
    for method in owner.body:
        is_building = any(
            get_dotted_name(getattr(node, "func", None)).startswith("nn.")
            for node in ast.walk(method)
        )
        for node in ast.walk(method) if is_building else ():
            is_loaded = isinstance(getattr(node, "ctx", None), ast.Load)
            if get_own_attribute(node) == name and is_loaded:
                return True
    return False
