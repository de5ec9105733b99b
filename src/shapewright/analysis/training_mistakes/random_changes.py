"""What changes the samples of a data set at random: steps of its transform, statements
of its `__getitem__`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.unequal_transforms import (
    COMPOSING,
    list_steps,
)
from shapewright.analysis.training_mistakes.worker_copies import DRAWS
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_own_attribute,
)

RANDOM_STEPS = frozenset({
    "ColorJitter", "AutoAugment", "RandAugment", "TrivialAugmentWide", "AugMix",
    "ElasticTransform",
})  # fmt: skip
"""Transforms of torchvision that draw, beside those whose names say so."""
CROPS = frozenset({"RandomCrop", "RandomResizedCrop"})
TURNS = re.compile(r"flip|rot90|rotate|^roll$|transpose|invert|mirror")


def list_random_steps(text: SourceText, transform: ast.expr) -> list[ast.Call]:
    """Return the steps of a transform that draw; none where it only cuts images to
    their size at random.
    """
    name = get_called_name(transform)
    steps = list_steps(transform) if COMPOSING.search(name) else [transform]
    drawing = [s for s in steps if isinstance(s, ast.Call) and _is_random(text, s)]
    if all(get_called_name(step) == "RandomCrop" for step in drawing):
        return [step for step in drawing if is_padding(step)]
    return drawing


def is_padding(step: ast.Call) -> bool:
    """Return whether a crop pads its image, so that it keeps its size."""
    return len(step.args) > 1 or any(w.arg == "padding" for w in step.keywords)


def _is_random(text: SourceText, step: ast.Call) -> bool:
    """Return whether a step of a transform draws at random."""
    name = get_called_name(step)
    classes = [node for _, node in text.definitions(name)]
    for node in classes:
        called = [
            method
            for method in getattr(node, "body", [])
            if isinstance(method, ast.FunctionDef)
            and method.name in ("__call__", "forward", "apply")
        ]
        return any(_is_drawing(part) for method in called for part in ast.walk(method))
    return name.startswith("Random") or name in RANDOM_STEPS


def is_changing_label_pairs(text: SourceText, class_name: str) -> bool:
    """Return whether the items of a data set are a sample and its label: not two views
    of one sample, nor a changed sample with the one that it was.
    """
    getter = _find_method(text, class_name, "__getitem__")
    if getter is None:
        return not text.definitions(class_name)  # of a library
    calls = [
        node
        for node in ast.walk(getter)
        if isinstance(node, ast.Call) and "transform" in get_own_attribute(node.func)
    ]
    return len(calls) == 1 and _has_own_labels(getter)


def _has_own_labels(getter: ast.FunctionDef) -> bool:
    """Return whether what is returned beside a sample is not made of this sample."""
    returns = [node.value for node in ast.walk(getter) if isinstance(node, ast.Return)]
    origins = {
        name: collect_names(node.value) - {"self"}
        for node in ast.walk(getter)
        if isinstance(node, ast.Assign)
        for name in collect_names(node.targets[0], ast.Store)
        if name not in collect_names(node.value)
    }
    for value in returns:
        if isinstance(value, ast.Dict):
            parts = value.values
        elif isinstance(value, ast.Tuple) and len(value.elts) > 1:
            parts = value.elts
        else:
            return False
        used = [collect_names(part) - {"self", "torch", "np"} for part in parts]
        index = {argument.arg for argument in getter.args.args}
        made_of = [
            (names | {o for name in names for o in origins.get(name, ())}) - index
            for names in used
        ]
        stored = [
            {
                get_own_attribute(node)
                for name in (*names, "")
                for node in _iter_stored(getter, name, part)
            }
            for names, part in zip(used, parts, strict=True)
        ]
        first, rest = made_of[0], made_of[1:]
        if any(names & first - {"torch", "np", "random", "F"} for names in rest):
            return False
        if any(names & stored[0] - {""} for names in stored[1:]):
            return False
    return bool(returns)


def _iter_stored(
    getter: ast.FunctionDef, name: str, part: ast.expr
) -> Iterator[ast.Attribute]:
    """Yield the stored data that a name is read from one by one, and those that a
    returned part reads itself.
    """
    values = [part] if not name else []
    for node in ast.walk(getter) if name else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            values.append(node.value)
    for value in values:
        for inner in ast.walk(value):
            if isinstance(inner, ast.Subscript) and get_own_attribute(inner.value):
                assert isinstance(inner.value, ast.Attribute)
                yield inner.value


def find_item_change(text: SourceText, class_name: str) -> ast.stmt | None:
    """Return the first statement by which a data set changes a sample at random,
    whatever it was built with, or None.
    """
    getter = _find_method(text, class_name, "__getitem__")
    if getter is None or not _has_own_labels(getter):
        return None
    methods = [getter]
    for node in ast.walk(getter):
        if isinstance(node, ast.Call):
            own = get_own_attribute(node.func)
            method = _find_method(text, class_name, own) if own else None
            methods += [method] if method is not None else []
            if isinstance(node.func, ast.Name):
                methods += [
                    function
                    for full, function in text.functions(node.func.id)
                    if full == node.func.id and isinstance(function, ast.FunctionDef)
                ]
    if any(_has_choice(method) for method in methods):
        return None
    changes = [change for method in methods for change in iter_changes(method)]
    return changes[0] if changes else None


def _has_choice(function: ast.FunctionDef) -> bool:
    """Return whether a function does this or that by what it is given or has."""
    names = {argument.arg for argument in function.args.args}
    for node in ast.walk(function):
        choices = (ast.If, ast.IfExp, ast.While)
        if isinstance(node, choices) and names & collect_names(node.test):
            return True
        if isinstance(node, ast.Try | ast.Match):
            return True
    return False


def iter_changes(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Yield the statements of a function that change what it returns at random."""
    returned = {
        name
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and node.value is not None
        for name in collect_names(node.value)
    }
    drawn = {
        node.targets[0].id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and any(map(_is_drawing, ast.walk(node.value)))
        and not collect_names(node.value) & {node.targets[0].id}
    }
    for node in ast.walk(function):
        if isinstance(node, ast.If):
            tested = any(map(_is_drawing, ast.walk(node.test)))
            if tested or collect_names(node.test) & drawn:
                for inner in node.body:
                    if _get_changed(inner) in returned and _is_turn(inner):
                        yield node
                        break
        elif isinstance(node, ast.Assign | ast.AugAssign):
            value = node.value
            parts = list(_iter_past_indices(value))
            has_draw = any(map(_is_drawing, parts)) or any(
                isinstance(part, ast.Name) and part.id in drawn
                for part in parts
                if isinstance(value, ast.BinOp)
            )
            if has_draw and _get_changed(node) in returned and not _is_cut(value):
                yield node


def _iter_past_indices(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of an expression, without those that choose rows of data."""
    yield node
    for part in ast.iter_child_nodes(node):
        if not isinstance(node, ast.Subscript) or part is not node.slice:
            yield from _iter_past_indices(part)


def _get_changed(node: ast.AST) -> str:
    """Return the name that a statement assigns anew from itself, or an empty one."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        return name if name in collect_names(node.value) else ""
    return ""


def _is_turn(node: ast.AST) -> bool:
    """Return whether a statement mirrors, turns or disturbs what it assigns."""
    return any(
        TURNS.search(get_called_name(part)) is not None
        or _is_drawing(part)
        or (isinstance(part, ast.Slice) and isinstance(part.step, ast.UnaryOp))
        for part in ast.walk(node)
    )


def _is_cut(value: ast.AST) -> bool:
    """Return whether an expression is a stretch of a longer sample."""
    return isinstance(value, ast.Subscript)


def _is_drawing(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and get_called_name(node) in DRAWS


def _find_method(
    text: SourceText, class_name: str, name: str
) -> ast.FunctionDef | None:
    """Return a method of a class of the file, or None."""
    for full, function in text.functions(name):
        if full == f"{class_name}.{name}" and isinstance(function, ast.FunctionDef):
            return function
    return None
