"""Loops over batches that no loader gives: `for rows in order.split(32)`,
`for i in range(0, len(x), 32)`, a generator of the program that yields such parts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.context import RehearsalContext, StoryLoop
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_iterated,
    get_shape_owner,
    iter_assignments,
    list_arguments,
)
from shapewright.record.report import Moment

CUTTING = operators_with("splits") - {"unbind"} | {"array_split"}
"""Calls that cut data into parts."""


@dataclass(frozen=True, slots=True)
class CutData:
    """The data that a loop cuts into batches: the expressions of the data, and those
    that are its number of samples.
    """

    data: frozenset[str]
    counts: frozenset[str]


def iter_batch_loops(scene: RehearsalContext) -> Iterator[StoryLoop]:
    """Yield each loop over loaders, and each that cuts data into batches itself, once.

    Loops that a whole run goes through a single time are left out.
    """
    cut = (
        loop
        for loop in iter_loops(scene, scene.rehearsal.story, ())
        if find_cut_data(loop.text, loop.node) is not None
    )
    seen: set[tuple[str, int]] = set()
    for loop in (*scene.loops(), *cut):
        place = loop.moment.file, loop.moment.line
        if place not in seen and (loop.moment.total or 2) >= 2:
            seen.add(place)
            yield loop


def iter_loops(
    scene: RehearsalContext, moment: Moment, outer: tuple[Moment, ...]
) -> Iterator[StoryLoop]:
    """Yield the recorded loops within a moment, whatever they go over."""
    for event in moment.inner:
        text = scene.program.text(event.file) if event.kind == "loop" else None
        for node in text.for_loops(event.line) if text is not None else ():
            assert text is not None
            yield StoryLoop(event, text, node, outer)
        within = (*outer, event) if event.kind == "loop" else outer
        yield from iter_loops(scene, event, within)


def find_cut_data(
    text: SourceText, loop: ast.For | ast.comprehension
) -> CutData | None:
    """Return the data that a loop cuts into batches of more than one sample, or
    None.
    """
    iterated = get_iterated(loop.iter, with_zip=True)
    cut = _read_cut(text, iterated)
    if cut is not None or not isinstance(iterated, ast.Call):
        return cut
    name = get_called_name(iterated)
    definitions = text.functions(name)
    if len(definitions) != 1:
        return None
    return _read_generator(text, definitions[0][1], iterated)


def _read_generator(
    text: SourceText,
    function: ast.FunctionDef | ast.AsyncFunctionDef,
    call: ast.Call,
) -> CutData | None:
    """Return the data that a generator cuts, in the words of its caller."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Yield):
            continue
        loop = text.around(node, ast.For)
        cut = find_cut_data(text, loop) if loop is not None else None
        if cut is None:
            continue
        names = match_arguments(function, call)
        return CutData(
            frozenset(names.get(word, word) for word in cut.data),
            frozenset(names.get(word, word) for word in cut.counts),
        )
    return None


def match_arguments(
    function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call
) -> dict[str, str]:
    """Return the arguments of a call as written, by the names of the parameters."""
    parameters = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    if parameters[:1] in (["self"], ["cls"]) and isinstance(call.func, ast.Attribute):
        parameters = parameters[1:]
    pairs = zip(parameters, call.args, strict=False)
    names = {parameter: ast.unparse(value) for parameter, value in pairs}
    words = {word.arg: ast.unparse(word.value) for word in call.keywords if word.arg}
    return {**names, **words}


def _read_cut(text: SourceText, iterated: ast.expr) -> CutData | None:
    """Return the data of `x.split(n)`, `torch.split(x, n)`, `range(0, len(x), n)`."""
    if not isinstance(iterated, ast.Call):
        values = _list_values(text, iterated)
        calls = [value for value in values if isinstance(value, ast.Call)]
        return _read_cut(text, calls[0]) if len(values) == len(calls) == 1 else None
    name = get_called_name(iterated)
    arguments = list_arguments(iterated)
    if name == "range" and len(iterated.args) == 3:
        if ast.unparse(iterated.args[2]) in ("1", "-1"):
            return None
        return _collect_data(text, iterated.args[1])
    if name not in CUTTING or not isinstance(iterated.func, ast.Attribute):
        return None
    owner = iterated.func.value
    is_library = isinstance(owner, ast.Name) and owner.id in ("torch", "np", "numpy")
    size = arguments[1:2] if is_library else arguments[:1]
    if not arguments or not size or ast.unparse(size[0]) == "1":
        return None
    if isinstance(size[0], ast.Constant) and isinstance(size[0].value, str):
        return None  # of a text
    return _collect_data(text, arguments[0] if is_library else owner)


def _collect_data(text: SourceText, node: ast.expr) -> CutData:
    """Return all that an expression measures, followed through assignments."""
    data: set[str] = set()
    counts: set[str] = set()
    waiting = [node]
    for _ in range(12):
        if not waiting:
            break
        part = waiting.pop()
        if isinstance(part, ast.Name | ast.Attribute):
            data.add(ast.unparse(part))
            counts.add(ast.unparse(part))
            waiting += _list_values(text, part)
            continue
        for child in ast.walk(part):
            called = get_called_name(child)
            if isinstance(child, ast.Call) and called == "len" and child.args:
                data.add(ast.unparse(child.args[0]))
            owner = get_shape_owner(child)
            if owner is not None:
                data.add(ast.unparse(owner))
            drawn = isinstance(child, ast.Call) and called in (
                "randperm",
                "arange",
                "permutation",
            )
            if drawn and isinstance(child, ast.Call) and child.args:
                waiting.append(child.args[0])
            if isinstance(child, ast.Subscript):
                waiting.append(child.value)
    return CutData(frozenset(data), frozenset(counts))


def _list_values(text: SourceText, node: ast.expr) -> list[ast.expr]:
    """Return what a name is set to in the function that reads it."""
    if not isinstance(node, ast.Name):
        return []
    function = text.around(node, *FUNCTIONS, ast.Module)
    return [
        value
        for target, value in iter_assignments(function, node.lineno)
        if isinstance(target, ast.Name) and target.id == node.id
    ]
