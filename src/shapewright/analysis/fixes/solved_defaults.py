"""A default of a model that the size of its data does not follow: `size=32` of a layer
of `64 * (size // 4) ** 2` inputs, for images of 28.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.constructors import find_size_pairs
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor, iter_arguments
from shapewright.findings.finding import Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import (
    WHOLE,
    UnknownValue,
    evaluate_node,
    evaluate_whole_number,
)


def suggest_solved_default(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `D(size=28)` where a layer's size follows from a default, `64 * (size //
    4) ** 2`, and that of the data gives the size that is needed.
    """
    module = program.trace.ops[failure.op].module
    owner = module.rpartition(".")[0]
    place, outer = find_constructor(program, module), find_constructor(program, owner)
    if place is None or outer is None:
        return
    function = place[0].around(place[1], ast.FunctionDef)
    if function is None or function.name != "__init__":
        return
    passed = {name for name, _, _ in iter_arguments(program, owner)}
    arguments = function.args
    pairs = zip(reversed(arguments.args), reversed(arguments.defaults), strict=False)
    defaults = {
        name.arg: evaluate_whole_number(value)
        for name, value in pairs
        if name.arg not in passed
    }
    sizes = _list_sizes_of_input(program, failure, owner)
    for has, needs in find_size_pairs(program, failure):
        for _, node, value in iter_arguments(program, module):
            names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            if value not in (needs, None) or not names <= defaults.keys():
                continue
            if isinstance(node, ast.Name):
                continue  # the size itself: of what a layer is meant to read
            for name in sorted(names):
                for size in sizes:
                    known = {**defaults, name: size}
                    if _evaluate(node, known) == has:
                        yield with_keyword(outer[0], outer[1], f"{name}={size}")


def _list_sizes_of_input(program: Program, failure: Failure, owner: str) -> list[int]:
    """Return the sizes of what the module around a layer is given."""
    sizes: list[int] = []
    for call in program.trace.calls:
        if call.path == owner:
            for value in call.inputs[0]:
                sizes += getattr(value, "shape", ())[1:]
    return list(dict.fromkeys(sizes))


def _evaluate(node: ast.expr, names: dict[str, int | None]) -> int | None:
    """Return the value of a product of names and numbers."""

    def get_value(part: ast.expr) -> int:
        value = names.get(part.id) if isinstance(part, ast.Name) else None
        if value is None:
            raise UnknownValue(ast.unparse(part))
        return value

    try:
        value: int = evaluate_node(node, get_value, WHOLE)
    except (UnknownValue, ZeroDivisionError):
        return None
    return value
