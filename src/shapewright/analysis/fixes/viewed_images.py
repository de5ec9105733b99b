"""Images of one size that a model views as images of another: the setting that says
the size of the images, and the numbers that are written in the model.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.fixes.image_sizes import SIZES
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import DOES_NOT_DIVIDE
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.spans import is_installed
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

VIEWS = operators_with("regroups_dims")
PATCHES = re.compile(r"patch|window|tile|block", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Viewed:
    """A view of images with written sides, and the setting of their size."""

    text: SourceText
    call: ast.Call
    sides: tuple[ast.Constant, ast.Constant]
    own_text: SourceText
    setting: ast.Constant
    name: str


def suggest_viewed_size(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the size that a model is written for as the default of the setting that
    images are made of, or the sizes of the tensor in the view.
    """
    viewed = _find_viewed(program, failure)
    if viewed is None:
        return
    size = str(viewed.sides[0].value)
    edit = Edit(viewed.own_text.span(viewed.setting), size)
    is_option = viewed.name.startswith("-")
    shown = f"`default={size}` of `{viewed.name}`"
    fixes = [
        Fix("fits", shown if is_option else f"`{viewed.name}={size}`", (edit,)),
    ]
    receiver = get_receiver(viewed.call)
    if isinstance(receiver, ast.Name):
        first, second = (viewed.text.span(side) for side in viewed.sides)
        new = f"*{receiver.id}.shape[-2:]"
        written = viewed.text.written(viewed.call.func)
        rest = [viewed.text.written(part) for part in viewed.call.args[:-2]]
        shown = f"`{written}({', '.join([*rest, new])})`"
        fixes.append(
            Fix("fits", join_lines(shown), (Edit(first.until(second.end), new),))
        )
    pools = any(
        op.name.rpartition(".")[2].startswith("adaptive_") for op in program.trace.ops
    )
    yield from fixes[::-1] if pools else fixes


def describe_viewed_size(program: Program, failure: Failure) -> Related | None:
    """Return the note that a setting gives images another size than a view has."""
    viewed = _find_viewed(program, failure)
    if viewed is None:
        return None
    sizes = [str(part.value) for part in (viewed.setting, viewed.sides[1])]
    message = f"the images are {sizes[0]} wide by `{viewed.name}` here, and {sizes[1]}"
    message += " is written in the view"
    return Related(viewed.own_text.span(viewed.setting), message)


def _find_viewed(program: Program, failure: Failure) -> _Viewed | None:
    """Return the view of images with sides of another size than a setting says."""
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    place = program.call_at(op.span)
    if unmet is None or unmet.code != DOES_NOT_DIVIDE or place is None:
        return None
    text, call = place
    shape = op.inputs[0].shape
    sides = [part for part in call.args[-2:] if isinstance(part, ast.Constant)]
    is_view = op.name.rpartition(".")[2] in VIEWS and len(call.args) >= 3
    if not is_view or len(sides) != 2 or len(shape) < 3 or shape[-1] != shape[-2]:
        return None
    size = sides[0].value
    if type(size) is not int or size != sides[1].value or size in (1, shape[-1]):
        return None
    function = text.around(call, *FUNCTIONS)
    owner = text.around(call, ast.ClassDef)
    names = [getattr(function, "name", ""), getattr(owner, "name", "")]
    if PATCHES.search(" ".join(names)) or PATCHES.search(text.written(call)):
        return None
    settings = list(_iter_settings(program, shape[-1]))
    if len(settings) != 1:
        return None
    return _Viewed(text, call, (sides[0], sides[1]), *settings[0])


def _iter_settings(
    program: Program, size: int
) -> Iterator[tuple[SourceText, ast.Constant, str]]:
    """Yield the defaults and constants of the program that are a size of images."""
    for text in program.own_texts():
        if is_installed(text.file):
            continue
        for node in text.nodes:
            for name, value in _iter_named(node):
                is_size = isinstance(value, ast.Constant) and value.value == size
                if is_size and SIZES.search(name.lstrip("-").replace("-", "_")):
                    assert isinstance(value, ast.Constant)
                    yield text, value, name


def _iter_named(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a node sets or has defaults for, with the values."""
    if isinstance(node, ast.Call) and get_called_name(node) == "add_argument":
        options = [
            str(part.value) for part in node.args if isinstance(part, ast.Constant)
        ]
        for word in node.keywords:
            if word.arg == "default" and options:
                yield max(options, key=len), word.value
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        yield node.targets[0].id, node.value
    elif isinstance(node, ast.FunctionDef):
        named = [*node.args.posonlyargs, *node.args.args]
        first = len(named) - len(node.args.defaults)
        for parameter, value in zip(named[first:], node.args.defaults, strict=True):
            yield parameter.arg, value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield (node.target.id if isinstance(node.target, ast.Name) else ""), node.value
