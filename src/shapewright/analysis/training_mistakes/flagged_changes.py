"""Find data sets for evaluation with the flag by which those for training change their
samples at random: `Cells(images, masks, augment=True)` for both.
"""

from __future__ import annotations

import ast

from shapewright.analysis.training_mistakes.paired_augmentations import is_drawn
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    iter_assignments,
    pair_targets,
)


def find_flagged_change(
    text: SourceText, class_name: str
) -> tuple[str, ast.If, str] | None:
    """Return the parameter of a data set that switches its random changes on, where it
    makes them, and the text of the value that does it, or None.
    """
    methods = {
        full.rpartition(".")[2]: function
        for full, function in text.functions()
        if full.rpartition(".")[0] == class_name
    }
    getter, init = methods.get("__getitem__"), methods.get("__init__")
    if getter is None or init is None:
        return None
    kept = {
        f"self.{target.attr}": name
        for whole, values in iter_assignments(init)
        for target, value in pair_targets(whole, values)
        if isinstance(target, ast.Attribute) and isinstance(value, ast.Name)
        for name in (value.id,)
    }
    parameters = {argument.arg for argument in init.args.args}
    changed = [
        node
        for node in ast.walk(getter)
        if isinstance(node, ast.If) and not node.orelse and is_drawn(node.test)
    ]
    for node in changed:
        if not isinstance(node.test, ast.BoolOp) or not _is_change(getter, node):
            continue
        if not isinstance(node.test.op, ast.And):
            continue
        for part in node.test.values:
            flag, wanted = part, "True"
            if isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Eq):
                flag, wanted = part.left, ast.unparse(part.comparators[0])
            name = kept.get(ast.unparse(flag), "")
            if name in parameters:
                return name, node, wanted
    return None


def _is_change(getter: ast.AST, block: ast.If) -> bool:
    """Return whether a block changes what a data set returns."""
    returned = {
        name
        for node in ast.walk(getter)
        if isinstance(node, ast.Return) and node.value is not None
        for name in collect_names(node.value)
    }
    changed = {
        name
        for node in block.body
        if isinstance(node, ast.Assign) and isinstance(_get_call(node.value), ast.Call)
        for target in node.targets
        for name in collect_names(target)
        if name in collect_names(node.value)
    }
    return bool(returned & changed)


def _get_call(value: ast.expr) -> ast.expr:
    """Return the first value of a tuple, or the value."""
    return value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value


def find_argument(text: SourceText, call: ast.Call, parameter: str) -> ast.expr | None:
    """Return what a data set is built with for a parameter, or None."""
    for word in call.keywords:
        if word.arg == parameter:
            return word.value
    for full, function in text.functions("__init__"):
        if full == f"{get_called_name(call)}.__init__":
            names = [argument.arg for argument in function.args.args[1:]]
            if parameter in names and names.index(parameter) < len(call.args):
                return call.args[names.index(parameter)]
    return None
