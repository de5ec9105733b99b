"""A program of `torch.export` that is called with another size than its example had:
which dim, where it was exported, and the `dynamic_shapes` that leave the dim open.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import SIZE_OF_EXAMPLE
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.spans import Span, is_installed
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name

GUARDS = (
    re.compile(
        r"Guard failed: (?P<name>\w+)\.size\(\)\[(?P<dim>\d+)\] == (?P<size>\d+)"
    ),
    re.compile(
        r"Expected input at \*args\[(?P<place>\d+)\]\.shape\[(?P<dim>\d+)\] to be equal"
        r" to (?P<size>\d+), but got (?P<got>\d+)"
    ),
)
"""How an exported program refuses a size, since torch 2.9 and before."""
EXPORTING = "torch.export."
GENERATED = "<"
"""How the names of files begin that torch writes and runs."""
WITH_SIZES = operators_with("is_sized_factory", "takes_sizes")
DEEPEST = 3


@dataclass(frozen=True, slots=True)
class _Guard:
    """An input by name or by place, its dim, the size of the example, and the size that
    it was called with, 0 if unknown.
    """

    name: str
    place: int
    dim: int
    size: int
    got: int


@dataclass(frozen=True, slots=True)
class _Export:
    """A call of `torch.export.export` and the names of the inputs of its example."""

    text: SourceText
    call: ast.Call
    example: list[ast.expr]
    names: list[str]


def explain_exported_size(program: Program, finding: Finding) -> Finding:
    """Return the finding with its cause, if an exported program refuses a size."""
    guard = _read_guard(program, finding)
    if guard is None:
        return finding
    spans = _list_exports(program)
    places = [finding.span, *(related.span for related in finding.related)]
    span = next((p for p in places if p and not p.file.startswith(GENERATED)), None)
    what = f"`{guard.name}`" if guard.name else f"input {guard.place + 1}"
    got = f"{guard.got} in dim {guard.dim}" if guard.got else "another size"
    message = (
        f"{what} has {got}, and the program was exported for {guard.size} only:"
        " `torch.export` keeps each size of its example that `dynamic_shapes` does not"
        " leave open"
    )
    words = f"exported here, for the {guard.size} of the example"
    if guard.size == 1:
        words += "; a dim is left open only where the example has 2 or more in it"
    related = [Related(place, words) for place in spans[:1]]
    related += [
        place
        for place in finding.related
        if place.span != span and not place.span.file.startswith(GENERATED)
    ]
    return replace(
        finding, code=SIZE_OF_EXAMPLE, message=message, span=span,
        related=tuple(related),
    )  # fmt: skip


def suggest_dynamic_shapes(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest `dynamic_shapes` for the refused dim, where a program is exported, and
    two samples in its example where it has one.
    """
    guard = _read_guard(program, finding)
    if guard is None:
        return
    for span in _list_exports(program):
        export = _read_export(program, span, guard)
        if export is None:
            continue
        edits = [*_extend_example(export, guard)] if guard.size == 1 else []
        if guard.size == 1 and not edits:
            continue
        dim = f"{{{guard.dim}: {_name_dim(export.text)}.DYNAMIC}}"
        shapes = ", ".join(f'"{name}": {dim}' for name in export.names)
        new = f"dynamic_shapes={{{shapes}}}"
        arguments = *export.call.args, *(word.value for word in export.call.keywords)
        last = max(arguments, key=lambda node: (node.end_lineno, node.end_col_offset))
        edits.append(Edit(export.text.span(last).end, f", {new}"))
        shown = f"`{new}`"
        if guard.size == 1:
            shown += " and an example with 2"
        yield Fix("fits", shown, tuple(dict.fromkeys(edits)))


def _read_guard(program: Program, finding: Finding) -> _Guard | None:
    """Return the guard that an error names, or None for other errors."""
    matches = (guard.search(finding.torch_message) for guard in GUARDS)
    match = next((m for m in matches if m is not None), None)
    if match is None:
        return None
    words = match.groupdict()
    name, dim = words.get("name") or "", int(words["dim"])
    got = int(words.get("got") or 0)
    ending = program.ending.tensors if program.ending is not None else {}
    if name in ending and dim < len(ending[name].shape):
        got = ending[name].shape[dim]
    return _Guard(name, int(words.get("place") or 0), dim, int(words["size"]), got)


def _list_exports(program: Program) -> list[Span]:
    """Return the calls that exported a program in this run, the last first."""
    spans = [
        op.span
        for op in program.trace.ops
        if op.name.startswith(EXPORTING) and op.span is not None
    ]
    return list(dict.fromkeys(reversed(spans)))


def _read_export(program: Program, span: Span, guard: _Guard) -> _Export | None:
    """Return a call that exports, if its example and the names of the inputs are known
    and it names no dim yet.
    """
    text_and_call = program.call_at(span)
    if text_and_call is None or is_installed(span.file):
        return None
    text, call = text_and_call
    words = {word.arg: word.value for word in call.keywords}
    if "dynamic_shapes" in words or "kwargs" in words or None in words:
        return None
    inputs = words.get("args") or (call.args[1] if len(call.args) > 1 else None)
    example = _find_tuple(text, inputs)
    if not example:
        return None
    names = [guard.name] if guard.name else []
    if len(example) > 1 or not names:
        names = _find_inputs(program, guard, len(example))
    return _Export(text, call, example, names) if names else None


def _find_tuple(text: SourceText, node: ast.expr | None) -> list[ast.expr]:
    """Return the elements of a tuple, followed through names; empty if unknown."""
    for _ in range(DEEPEST):
        if isinstance(node, ast.Tuple):
            return node.elts
        values = find_defining(text, node.id) if isinstance(node, ast.Name) else []
        if len(values) != 1:
            return []
        node = values[0]
    return []


def _find_inputs(program: Program, guard: _Guard, count: int) -> list[str]:
    """Return the first parameters of the `forward` that takes the refused input."""
    named = list[list[str]]()
    for file in program.trace.sources:
        text = None if file.startswith(GENERATED) else program.text(file)
        for _, function in text.functions("forward") if text is not None else ():
            names = [argument.arg for argument in function.args.args][1 : count + 1]
            if len(names) == count and (not guard.name or guard.name in names):
                named.append(names)
    return named[0] if len({*map(tuple, named)}) == 1 else []


def _name_dim(text: SourceText) -> str:
    """Return how a file writes `torch.export.Dim`."""
    for node in text.nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "torch.export":
            for alias in node.names:
                if alias.name == "Dim":
                    return alias.asname or alias.name
    return f"{EXPORTING}Dim"


def _extend_example(export: _Export, guard: _Guard) -> Iterator[Edit]:
    """Yield the edits that give each input of an example 2 in a dim that has 1."""
    for node in export.example:
        edit = _extend_tensor(export.text, node, guard.dim)
        if edit is None and len(export.example) == 1:
            return
        if edit is not None:
            yield edit


def _extend_tensor(text: SourceText, node: ast.expr, dim: int) -> Edit | None:
    """Return the edit that gives a tensor of an example 2 in a dim."""
    for _ in range(DEEPEST):
        if isinstance(node, ast.Name):
            values = find_defining(text, node.id)
            if not values:
                return None
            node = values[-1]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_made = get_called_name(node) in WITH_SIZES | {"randint"}
            is_method = not get_dotted_name(node.func).startswith("torch.")
            if is_made or not is_method:
                break
            node = node.func.value  # `torch.randn(1, 3).to(device)`
        else:
            break
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        end = node.slice.upper
        is_one = isinstance(end, ast.Constant) and end.value == 1
        return Edit(text.span(end), "2") if end and is_one and dim == 0 else None
    if not isinstance(node, ast.Call):
        return None
    sizes = node.args if get_called_name(node) in WITH_SIZES else []
    named = [word.value for word in node.keywords if word.arg == "size"]
    if get_called_name(node) == "randint":
        sizes = node.args[-1:]
    sizes = named or sizes
    if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List):
        sizes = sizes[0].elts
    if dim >= len(sizes) or any(isinstance(size, ast.Starred) for size in sizes):
        return None
    size = sizes[dim]
    if isinstance(size, ast.Constant):
        return Edit(text.span(size), "2") if size.value == 1 else None
    return Edit(text.span(size), f"max({text.written(size)}, 2)")
