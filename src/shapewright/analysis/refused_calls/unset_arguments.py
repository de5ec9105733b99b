"""Names that a function changes before they have a value, where its arguments are
called otherwise: `pred = 2 * pred - 1` in `def forward(self, img0, img1)`.
"""

from __future__ import annotations

import ast

from shapewright.findings.finding import Edit, Explanation, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    iter_own_nodes,
)


def find_unset_argument(
    text: SourceText, statement: ast.stmt, name: str
) -> Explanation | None:
    """Return which arguments of the function were meant by the names that a block
    changes, or None.
    """
    function = text.around(statement, *FUNCTIONS)
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    names = _list_changed(function)
    arguments = [
        argument.arg for argument in function.args.args if argument.arg != "self"
    ]
    arguments = arguments[: len(arguments) - len(function.args.defaults)]
    if name not in names or set(names) & set(arguments):
        return None
    if len(names) != len(arguments):
        return None
    reads = [
        part
        for part in iter_own_nodes(function)
        if isinstance(part, ast.Name) and part.id in names
    ]
    edits = tuple(
        Edit(text.span(part), arguments[names.index(part.id)]) for part in reads
    )
    own = " and ".join(f"`{argument}`" for argument in arguments)
    others = " and ".join(f"`{other}`" for other in names)
    what = "arguments are" if len(arguments) > 1 else "argument is"
    message = (
        f"`{name}` has no value here: the {what} {own}, and nothing sets {others}"
        " before this changes it"
    )
    at = text.span(function).start
    shown = ", ".join(
        f"`{argument}` for `{other}`"
        for argument, other in zip(arguments, names, strict=True)
    )
    fix = Fix("fits", shown, edits)
    return Explanation(message, (Related(at, "the arguments are here"),), (fix,))


def _list_changed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the names that a function sets to something made of themselves, and that
    it sets nowhere else, in their order.
    """
    changed: list[str] = []
    plain: set[str] = set()
    for node in iter_own_nodes(function):
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Store):
            continue
        statement = _find_assignment(function, node)
        is_own = statement is not None and any(
            isinstance(part, ast.Name) and part.id == node.id
            for part in ast.walk(statement.value)
        )
        if not is_own:
            plain.add(node.id)
        elif node.id not in changed:
            changed.append(node.id)
    return [name for name in changed if name not in plain]


def _find_assignment(
    function: ast.FunctionDef | ast.AsyncFunctionDef, target: ast.Name
) -> ast.Assign | None:
    """Return the assignment to a name alone."""
    for node in iter_own_nodes(function):
        if isinstance(node, ast.Assign) and node.targets == [target]:
            return node
    return None
