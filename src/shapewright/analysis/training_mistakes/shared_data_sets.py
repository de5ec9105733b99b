"""Find parts of one data set that are given a transform each: the last one wins."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import SHARED_TRANSFORM, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import collect_names, get_called_name

DEFINITIONS = (
    ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass,
)  # fmt: skip
READING = frozenset({"next", "list", "fit"})
"""Functions of others that read samples."""


@looks_for(SHARED_TRANSFORM)
def find_shared_transforms(scene: RehearsalContext) -> Iterator[Finding]:
    """Find attributes of a data set that are set through two of its parts."""
    for text in scene.program.own_texts():
        if text is not None:
            yield from _find_copied_parts(text)
        for node in text.nodes:
            for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
                if isinstance(body, list):
                    yield from _find_pairs(text, body)


def _find_copied_parts(text: SourceText) -> Iterator[Finding]:
    """Yield the findings for attributes that are set through a part which is a shallow
    copy of another: both have one data set.
    """
    for statement in text.nodes:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        owner = target.value if isinstance(target, ast.Attribute) else None
        if not isinstance(target, ast.Attribute) or not isinstance(
            owner, ast.Attribute
        ):
            continue
        part = owner.value
        if owner.attr != "dataset" or not isinstance(part, ast.Name):
            continue
        for value in find_defining(text, part.id):
            is_shallow = isinstance(value, ast.Call) and ast.unparse(value.func) in (
                "copy.copy", "copy",
            )  # fmt: skip
            if not isinstance(value, ast.Call) or not is_shallow or not value.args:
                continue
            other = text.written(value.args[0])
            assert isinstance(statement, ast.Assign)
            yield build_finding(
                SHARED_TRANSFORM,
                f"`{part.id}` is a shallow copy of `{other}`, with the same data set:"
                f" this also replaces the `{target.attr}` of `{other}`",
                text.span(statement),
                (text.span(value), "the data set is not copied here"),
            )


def _find_pairs(text: SourceText, body: list[ast.stmt]) -> Iterator[Finding]:
    """Yield the findings of one block of statements."""
    if text.definitions("random_split") or text.definitions("Subset"):
        return  # of the program itself, which may copy
    held: dict[str, tuple[ast.Assign, ast.expr]] = {}
    for statement in body:
        if _is_using(text, statement) and not _is_apart(text, statement, held):
            held.clear()  # the first one
        if not isinstance(statement, ast.Assign):
            continue
        target = statement.targets[0]
        owner = target.value if isinstance(target, ast.Attribute) else None
        if len(statement.targets) != 1 or not isinstance(target, ast.Attribute):
            continue
        if not isinstance(owner, ast.Attribute) or owner.attr != "dataset":
            continue
        part, name = owner.value, target.attr
        if name in held and _is_of_same_set(text, held[name][1], part):
            first, other = held[name]
            if text.written(first.value) == text.written(statement.value):
                continue
            written = text.written(other), text.written(part)
            message = (
                f"`{written[0]}` and `{written[1]}` are parts of one data set, so this"
                f" also replaces the `{name}` of `{written[0]}`"
            )
            yield build_finding(
                SHARED_TRANSFORM,
                message,
                text.span(statement),
                (text.span(first), f"this `{name}` is never used"),
            )
        elif name not in held:
            yield from _find_replaced(text, body, statement, part, name)
        held[name] = statement, part


def _find_replaced(
    text: SourceText,
    body: list[ast.stmt],
    statement: ast.Assign,
    part: ast.expr,
    name: str,
) -> Iterator[Finding]:
    """Yield the finding on a part that sets an attribute of its whole data set, which
    the other parts were to have as it was built.
    """
    earlier = body[: body.index(statement)]
    whole_of_part = f"{text.written(part)}.dataset"
    if any(
        isinstance(other, ast.Assign)
        and text.written(other.targets[0]) == whole_of_part
        for other in earlier
    ):
        return  # it has a data set of its own
    for split in earlier:
        value = split.value if isinstance(split, ast.Assign) else None
        if not isinstance(split, ast.Assign) or not isinstance(value, ast.Call):
            continue
        target = split.targets[0]
        parts = target.elts if isinstance(target, ast.Tuple) else []
        names = [text.written(element) for element in parts]
        own = text.written(part)
        if get_called_name(value) != "random_split" or own not in names:
            continue
        whole = text.written(value.args[0]) if value.args else ""
        for built in find_defining(text, whole)[-1:]:
            words = built.keywords if isinstance(built, ast.Call) else []
            kept = next((word.value for word in words if word.arg == name), None)
            if kept is None or text.written(kept) == text.written(statement.value):
                continue
            others = " and ".join(f"`{other}`" for other in names if other != own)
            message = (
                f"`{own}` is a part of `{whole}`, so this also replaces the `{name}` of"
                f" {others}"
            )
            label = f"this `{name}` is never used"
            yield build_finding(
                SHARED_TRANSFORM,
                message,
                text.span(statement),
                (text.span(kept), label),
            )


def _is_using(text: SourceText, statement: ast.stmt) -> bool:
    """Return whether a statement may read samples: not if it only defines, prints, or
    assigns what no function of the program returns.
    """
    if isinstance(statement, DEFINITIONS):
        return False
    if isinstance(statement, ast.Expr):
        is_text = isinstance(statement.value, ast.Constant)
        return not is_text and get_called_name(statement.value) != "print"
    called = {get_called_name(node) for node in ast.walk(statement)} - {""}
    return not isinstance(statement, ast.Assign | ast.AnnAssign) or any(
        name in READING or text.functions(name) for name in called
    )


def _is_apart(
    text: SourceText,
    statement: ast.stmt,
    held: Mapping[str, tuple[ast.Assign, ast.expr]],
) -> bool:
    """Return whether the functions that an assignment calls know nothing of the parts
    that were set before, nor of what is made of them: such as a function that builds a
    transform of a few settings.
    """
    value = getattr(statement, "value", None)
    if not isinstance(statement, ast.Assign) or not isinstance(value, ast.Call):
        return False
    if not isinstance(value.func, ast.Name):
        return False  # a method has its object
    names = {text.written(part).partition(".")[0] for _, part in held.values()}
    grown = 0
    while grown != len(names):
        grown = len(names)
        for node in text.nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                stored = collect_names(node, ast.Store)
                if collect_names(node.value, ast.Load) & names or stored & names:
                    names |= stored | (collect_names(node.value) & _find_wholes(node))
    if names & collect_names(value, ast.Load):
        return False
    waiting, seen = [value.func.id], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for _, function in text.definitions(name):
            if not isinstance(function, ast.FunctionDef):
                return False  # a class, whose methods may be anything
            read = collect_names(function, ast.Load)
            if names & read:
                return False
            waiting += sorted(read)
    return True


def _find_wholes(node: ast.Assign | ast.AnnAssign) -> set[str]:
    """Return the names of the data sets that an assignment splits into parts."""
    value = node.value
    is_split = isinstance(value, ast.Call) and get_called_name(value) in (
        "random_split", "Subset",
    )  # fmt: skip
    first = value.args[:1] if is_split and isinstance(value, ast.Call) else []
    return {name for part in first for name in collect_names(part)}


def _is_of_same_set(text: SourceText, first: ast.expr, second: ast.expr) -> bool:
    """Return whether two expressions are different parts of one data set."""
    names = text.written(first), text.written(second)
    if names[0] == names[1] or not isinstance(first, ast.Name | ast.Attribute):
        return False
    for node in text.nodes:
        if not isinstance(node, ast.Assign):
            continue
        written = [text.written(target) for target in node.targets]
        if any(f"{name}.dataset" in written for name in names):
            return False  # a copy of its own
    wholes = [_find_whole(text, name) for name in names]
    return wholes[0] is not None and wholes[0] == wholes[1]


def _find_whole(text: SourceText, name: str) -> object:
    """Return what stands for the data set that a name is a part of, or None."""
    wholes: list[object] = []
    for value in find_defining(text, name.rpartition(".")[2]):
        if get_called_name(value) == "Subset" and isinstance(value, ast.Call):
            whole = value.args[0] if value.args else None
            is_named = isinstance(whole, ast.Name | ast.Attribute)
            wholes.append(text.written(whole) if is_named and whole else None)
        else:
            wholes.append(None)
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        if not isinstance(target, ast.Tuple | ast.List):
            continue
        if name in [text.written(element) for element in target.elts]:
            is_split = get_called_name(node.value) == "random_split"
            wholes.append(node if is_split else None)
    return wholes[0] if len(wholes) == 1 else None
