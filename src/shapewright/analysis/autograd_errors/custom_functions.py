"""Gradients that do not fit: what the `backward` of a program's own
`autograd.Function` returns, and what a backward pass is given.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from shapewright.analysis.program_run import Program, format_shape
from shapewright.analysis.provenance.call_expressions import (
    find_tensor_names,
    get_operation,
)
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.record.ops import Op

RETURNED = re.compile(
    r"[Ff]unction (?P<name>\w+)Backward\w* returned an? "
    r"(?:invalid gradient at index (?P<at>\d+) - got \[(?P<got>[^\]]*)\] but expected "
    r"shape compatible with \[(?P<wanted>[^\]]*)\]"
    r"|incorrect number of gradients \(expected (?P<needs>\d+), got (?P<has>\d+)\)"
    r"|gradient different than None at position (?P<place>\d+))"
)


@dataclass(frozen=True, slots=True)
class _WrongGradient:
    """What a `backward` returns, the sentence about it, the places and the edits."""

    message: str
    related: tuple[Related, ...]
    fixes: tuple[Fix, ...]


def find_wrong_gradient(
    program: Program, span: Span | None, torch_message: str
) -> _WrongGradient | None:
    """Explain torch's message about what a `backward` of the program returned."""
    refused = RETURNED.search(torch_message)
    text = program.text(span.file) if span is not None else None
    if refused is None or text is None:
        return None
    forward, ending = _find_methods(text, refused["name"])
    if forward is None or ending is None or ending.value is None:
        return None
    value = ending.value
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    names = [argument.arg for argument in forward.args.args[1:]]
    owner = f"`{refused['name']}.backward`"
    places = (
        Related(text.span(ending), "the gradients are returned here"),
        Related(text.span(forward).start, f"`forward` takes {', '.join(names)}"),
    )
    if refused["needs"] is not None:
        fixes = tuple(_iter_counted(text, ending, parts, int(refused["needs"])))
        message = (
            f"{owner} returns {refused['has']} gradients for the {refused['needs']}"
            " arguments of `forward`: what needs none has `None` at its place"
        )
        return _WrongGradient(message, places, fixes)
    if refused["place"] is not None:
        at = int(refused["place"])
        name = names[at] if at < len(names) else f"argument {at}"
        message = f"{owner} returns a gradient for `{name}`, which is no tensor"
        edits = [Edit(text.span(part), "None") for part in parts[at : at + 1]]
        fixes = tuple(Fix("fits", "`None` in its place", (edit,)) for edit in edits)
        return _WrongGradient(message, places, fixes)
    return _explain_shape(text, owner, parts, names, refused, places)


def _explain_shape(
    text: SourceText,
    owner: str,
    parts: list[ast.expr],
    names: list[str],
    refused: re.Match[str],
    places: tuple[Related, ...],
) -> _WrongGradient | None:
    """Explain a gradient that has another shape than its tensor."""
    got = [int(size) for size in refused["got"].split(",") if size.strip()]
    wanted = [int(size) for size in refused["wanted"].split(",") if size.strip()]
    kept = [
        (at, part)
        for at, part in enumerate(parts)
        if not (isinstance(part, ast.Constant) and part.value is None)
    ]  # what is no tensor is not counted
    index = int(refused["at"])
    if index >= len(kept):
        return None
    at, part = kept[index]
    name = f"`{names[at]}`" if at < len(names) else f"argument {at}"
    message = (
        f"{owner} returns a gradient of ({', '.join(map(str, got))}) for {name}, which"
        f" is ({', '.join(map(str, wanted))}{',' if len(wanted) == 1 else ''})"
    )
    fixes: list[Fix] = []
    for dims in combinations(range(len(got)), len(got) - len(wanted)):
        if dims and [s for d, s in enumerate(got) if d not in dims] == wanted:
            shown = str(dims) if len(dims) > 1 else str(dims[0])
            written = join_lines(text.written(part))
            whole = written if written.isidentifier() else f"({written})"
            new = f"{whole}.sum(dim={shown})"
            fixes.append(Fix("fits", f"`{new}`", (Edit(text.span(part), new),)))
    turned = len(got) == len(wanted) == 2 and got[::-1] == wanted
    if turned:
        new = f"{join_lines(text.written(part))}.t()"
        fixes.append(Fix("fits", f"`{new}`", (Edit(text.span(part), new),)))
    if got != wanted and sorted(got) == sorted(wanted) and not turned:
        message += ": its dims are in another order"
    return _WrongGradient(message, places, tuple(fixes))


def _iter_counted(
    text: SourceText, ending: ast.Return, parts: list[ast.expr], needs: int
) -> Iterator[Fix]:
    """Yield the returned tuple with `None` for what is missing, or without what is
    too much and None.
    """
    written = [join_lines(text.written(part)) for part in parts]
    missing = needs - len(parts)
    new = written + ["None"] * missing if missing > 0 else written[:needs]
    if missing < 0 and set(written[needs:]) != {"None"}:
        return
    assert ending.value is not None
    shown = f"return {', '.join(new)}"
    yield Fix("fits", f"`{shown}`", (Edit(text.span(ending), shown),))


def _find_methods(
    text: SourceText, name: str
) -> tuple[ast.FunctionDef | None, ast.Return | None]:
    """Return the `forward` of a class and what its `backward` returns at its end."""
    for _, definition in text.definitions(name):
        if not isinstance(definition, ast.ClassDef):
            continue
        methods = {n.name: n for n in definition.body if isinstance(n, ast.FunctionDef)}
        backward = methods.get("backward")
        endings = [
            node
            for node in ast.walk(backward) if isinstance(node, ast.Return)
        ] if backward is not None else []  # fmt: skip
        if endings:
            return methods.get("forward"), endings[-1]
    return None, None


def describe_given_gradient(program: Program, op: Op) -> str:
    """Return that a backward pass is given a gradient of another shape than what it is
    the gradient of; empty for any other call.
    """
    shapes = [format_shape(fact) for fact in op.inputs]
    is_backward = op.name.endswith(".backward") and len(shapes) == 2
    if not is_backward or shapes[0] == shapes[1]:
        return ""
    tensor, gradient = find_tensor_names(program, op)
    return (
        f"{get_operation(program, op)} gets {gradient} {shapes[1]} as the gradient of"
        f" {tensor} {shapes[0]}: the two have to have one shape"
    )
