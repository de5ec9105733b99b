"""Edits that give data for evaluation a transform without its random steps, or a data
set a flag for its random changes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after, write_before
from shapewright.analysis.fixes.warnings.data_edits import write_import_of_copy
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.augmented_evaluation import (
    find_transforms,
)
from shapewright.analysis.training_mistakes.random_changes import (
    is_padding,
    iter_changes,
    list_random_steps,
)
from shapewright.analysis.training_mistakes.unequal_transforms import (
    COMPOSING,
    list_steps,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name

SIZED = {"RandomResizedCrop": "Resize", "RandomCrop": "CenterCrop"}
"""What gives the size of a random crop without a draw."""
FLAG = "augment"


TWIN = re.compile(r"(?:nothing reads|which is what) `(\w+)`")
"""How the transform that is meant is named."""


def suggest_plain_samples(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest a transform without random steps for the data that are evaluated."""
    if not isinstance(node, ast.expr):
        return
    twin = TWIN.search(finding.message)
    if twin is not None:
        new = twin[1]
        words = f"`{new}` for `{text.written(node)}`"
        yield Fix("fits", words, (Edit(text.span(node), new),))
        return
    if isinstance(node, ast.Constant) and node.value is True:
        yield Fix("fits", "`False`", (Edit(text.span(node), "False"),))
        return
    call = text.around(node, ast.Call)
    assigned = text.around(node, ast.Assign)
    value = assigned.value if assigned is not None else None
    if assigned is not None and get_called_name(value or node) == "random_split":
        yield from _suggest_for_part(text, node, assigned)
    elif isinstance(node, ast.Call) and get_called_name(node)[:1].isupper():
        yield from _suggest_flag(program, finding, text, node)
    if call is None:
        return
    for _, passed in find_transforms(text, call):
        if passed is not node:
            continue
        new = _write_without_draws(text, node)
        word = next((w for w in call.keywords if w.value is node), None)
        if new is not None:
            written = f"{word.arg}={new}" if word is not None else new
            yield Fix("fits", f"`{written}`", (Edit(text.span(node), new),))


def _suggest_for_part(
    text: SourceText, part: ast.expr, split: ast.Assign
) -> Iterator[Fix]:
    """Suggest a copy of the data set with another transform for a part of it."""
    call = split.value
    assert isinstance(call, ast.Call)
    whole = find_known_value(text, call.args[0]) if call.args else None
    imported = write_import_of_copy(text)
    if not isinstance(whole, ast.Call) or imported is None:
        return
    for key, value in find_transforms(text, whole):
        new = _write_without_draws(text, value)
        if new is None or not _is_kept(text, whole, key):
            continue
        inner = f"{text.written(part)}.dataset"
        lines = [f"{inner} = copy.copy({inner})", f"{inner}.{key} = {new}"]
        indent = " " * split.col_offset
        edits = (write_after(text, split, f"\n{indent}".join(lines)), *imported)
        yield Fix("fits", f"`{lines[0]}`, `{lines[1]}`", edits)


def _is_kept(text: SourceText, build: ast.Call, key: str) -> bool:
    """Return whether a data set keeps a transform under the name of its parameter."""
    classes = text.definitions(get_called_name(build))
    return all(f"self.{key} = {key}" in text.written(node) for _, node in classes)


def _write_without_draws(text: SourceText, value: ast.expr) -> str | None:
    """Return a transform as written, without what it draws; None if it is not known."""
    transform = find_known_value(text, value)
    drawing = list_random_steps(text, transform)
    is_composed = COMPOSING.search(get_called_name(transform)) is not None
    if not isinstance(transform, ast.Call) or not drawing:
        return None
    if not is_composed:
        return "None"
    kept: list[str] = []
    for step in list_steps(transform):
        name = get_called_name(step)
        if step not in drawing and name != "RandomCrop":
            kept.append(text.line_of(step))
        elif name in SIZED and isinstance(step, ast.Call):
            if name == "RandomCrop" and is_padding(step):
                continue
            sized = _write_sized(text, step, SIZED[name])
            if sized is None:
                return None
            kept.append(sized)
    if not kept:
        return "None"
    if len(kept) == 1:
        return kept[0]
    return f"{text.written(transform.func)}([{', '.join(kept)}])"


def _write_sized(text: SourceText, step: ast.Call, name: str) -> str | None:
    """Return a step that gives the size of a random crop in any case."""
    if not step.args or not isinstance(step.func, ast.Attribute):
        return None  # the other class may not be imported
    size = text.written(step.args[0])
    if name == "Resize" and not isinstance(step.args[0], ast.Tuple | ast.List):
        size = f"({size}, {size})"
    return f"{text.written(step.func.value)}.{name}({size})"


def _suggest_flag(
    program: Program, finding: Finding, text: SourceText, build: ast.Call
) -> Iterator[Fix]:
    """Suggest a flag of a data set that its random changes ask for."""
    place = program.node(finding.related[0].span) if finding.related else None
    change = place[1] if place is not None else None
    name = get_called_name(build)
    init = [f for full, f in text.functions("__init__") if full == f"{name}.__init__"]
    if place is None or place[0] is not text or len(init) != 1:
        return
    function = init[0]
    own = text.around(change, ast.ClassDef)
    arguments = function.args
    is_plain = not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs)
    if own is None or own.name != name or not is_plain or FLAG in text.text:
        return
    method = text.around(change, ast.FunctionDef)
    changes = list(iter_changes(method)) if method is not None else []
    tested = [node for node in changes if isinstance(node, ast.If) and not node.orelse]
    last: ast.expr | ast.arg = arguments.args[-1]
    last = arguments.defaults[-1] if arguments.defaults else last
    if len(tested) < len(changes) or getattr(last, "annotation", None) is not None:
        return
    line, column = last.end_lineno or last.lineno, last.end_col_offset or 0
    column = text.column(line, column)
    end = Span(text.file, line, column, line, column)
    edits = [
        Edit(end, f", {FLAG}=True"),
        write_before(text, function.body[0], f"self.{FLAG} = {FLAG}"),
    ]
    for node in tested:
        test = text.written(node.test)
        test = f"({test})" if isinstance(node.test, ast.BoolOp) else test
        edits.append(Edit(text.span(node.test), f"self.{FLAG} and {test}"))
    inside = [text.written(value) for value in build.args]
    inside += [f"{w.arg}={text.written(w.value)}" for w in build.keywords if w.arg]
    new = f"{text.written(build.func)}({', '.join([*inside, f'{FLAG}=False'])})"
    edits.append(Edit(text.span(build), new))
    shown = f"`if self.{FLAG} and ...`, and `{FLAG}=False` for what is evaluated"
    yield Fix("fits", shown, tuple(edits))
