"""One size for images of several sizes, which no tensor of a batch can hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.image_edits import TENSORS
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import ITEMS_DO_NOT_STACK
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    iter_assignments,
    list_arguments,
)

SHAPE = re.compile(r"\((\d+(?:, \d+)+)\)")
CHANNELS = (1, 3, 4)
OF_SIZES = ("Resize", "Crop", "Pad", "resize")
"""How transforms end that give images another size."""
OF_IMAGES = re.compile(
    r"(im(a?ge?)?|input|crop|pic(ture)?|photo|patch|resized?)s?_?"
    r"(size|sz|res(olution)?|dim|side|shape)$",
    re.IGNORECASE,
)
SIZES = re.compile(rf"^(size|resolution|resize)$|{OF_IMAGES.pattern}", re.IGNORECASE)


def suggest_one_side(text: SourceText) -> Iterator[Fix]:
    """Suggest `Resize((256, 256))` for `Resize(256)`, which keeps the ratio of the
    sides and so leaves images of several sizes.
    """
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) != "Resize":
            continue
        sizes = [*node.args[:1], *(w.value for w in node.keywords if w.arg == "size")]
        for size in sizes:
            written = text.written(size)
            is_number = evaluate_whole_number(size) is not None
            if is_number or isinstance(size, ast.Name | ast.Attribute):
                new = f"({written}, {written})"
                shown = f"`{text.written(node.func)}({new})`"
                yield Fix("fits", shown, (Edit(text.span(size), new),))


def suggest_resize(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest `Resize((128, 128))` in front of every `ToTensor()`, where images of
    several sizes are left as they are: of the size that the program names, or of the
    smaller sides.
    """
    shapes = _read_image_shapes(finding)
    if not shapes:
        return
    height, width = (min(sizes) for sizes in zip(*(s[1:] for s in shapes), strict=True))
    named: list[Edit] = []
    numbered: list[Edit] = []
    shown: dict[int, str] = {}
    for text in program.own_texts():
        for step in _list_unsized_steps(text):
            owner = text.written(step.func).rpartition(".")[0]
            if not owner:
                return  # the names that it needs may not be imported
            size = _find_size(text, step)
            for size_text, edits in (
                (size or f"({height}, {width})", named),
                (f"({height}, {width})", numbered),
            ):
                resize = f"{owner}.Resize({size_text})"
                new = f"{resize}, {text.written(step)}"
                if not isinstance(text.parent(step), ast.List | ast.Tuple):
                    new = f"{owner}.Compose([{new}])"
                edits.append(Edit(text.span(step), new))
                message = f"`{resize}` in front of `{text.written(step)}`"
                shown.setdefault(id(edits), message)
    for edits in (named, numbered):
        if edits:
            yield Fix("fits", shown[id(edits)], tuple(edits))


def describe_unsized_images(program: Program, finding: Finding) -> tuple[Related, ...]:
    """Return the transforms that leave images of several sizes as they are."""
    if finding.code != ITEMS_DO_NOT_STACK or not _read_image_shapes(finding):
        return ()
    places = [
        Related(text.span(step), "no transform resizes the images")
        for text in program.own_texts()
        for step in _list_unsized_steps(text)
    ]
    return tuple(places[:1])


def _read_image_shapes(finding: Finding) -> list[tuple[int, ...]]:
    """Return the two shapes of images with as many channels of which a finding speaks;
    an empty list if it speaks of other items.
    """
    written = SHAPE.findall(finding.message)
    shapes = [tuple(map(int, numbers.split(", "))) for numbers in written]
    if len(shapes) != 2 or {len(shape) for shape in shapes} != {3}:
        return []
    if shapes[0][0] != shapes[1][0] or shapes[0][0] not in CHANNELS:
        return []
    return shapes if shapes[0] != shapes[1] else []


def has_images_of_sizes(finding: Finding) -> bool:
    """Return whether the items of which a finding speaks differ in height and width, as
    images do: one in a batch is no size of theirs.
    """
    written = SHAPE.findall(finding.message)
    ends = [tuple(map(int, numbers.split(", ")))[-2:] for numbers in written]
    if len(ends) != 2 or any(len(end) != 2 for end in ends):
        return False
    both_differ = all(a != b for a, b in zip(*ends, strict=True))
    return both_differ or bool(_read_image_shapes(finding))


def _list_unsized_steps(text: SourceText) -> list[ast.Call]:
    """Return the calls of `ToTensor` with no transform beside them that gives images
    another size.
    """
    steps: list[ast.Call] = []
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) not in TENSORS:
            continue
        beside = text.parent(node)
        if isinstance(beside, ast.List | ast.Tuple):
            names = [get_called_name(step) for step in beside.elts]
            if any(name.endswith(OF_SIZES) for name in names):
                continue
        elif isinstance(beside, ast.Call) and get_called_name(beside) == "Compose":
            continue
        steps.append(node)
    return sorted(steps, key=lambda step: (step.lineno, step.col_offset))


def _find_size(text: SourceText, step: ast.Call) -> str:
    """Return the size of images that a program names where a transform is written, as
    `Resize` takes it; an empty string if there is none.
    """
    for node in text.nodes:
        if isinstance(node, ast.Call) and get_called_name(node) == "Resize":
            size = node.args[0] if node.args else None
            written = text.written(size) if size is not None else ""
            if isinstance(size, ast.Tuple) and not any(map(_is_local, size.elts)):
                return written
    functions = [n for n in text.outwards(step) if isinstance(n, FUNCTIONS)]
    for function in functions:
        for parameter in _list_parameters(function):
            if SIZES.search(parameter):
                return f"({parameter}, {parameter})"
    settings = _list_settings(text)
    for scope in [*functions, None]:
        for name, value in _iter_names(text, scope, step):
            if get_called_name(value) == "parse_args" and settings:
                return f"({name}.{settings[0]}, {name}.{settings[0]})"
            if not OF_IMAGES.search(name) and not name.isupper():
                continue
            if SIZES.search(name) and isinstance(value, ast.Tuple | ast.List):
                return name if len(value.elts) == 2 else ""
            if SIZES.search(name) and evaluate_whole_number(value) is not None:
                return f"({name}, {name})"
    return ""


def _list_parameters(function: ast.AST) -> list[str]:
    """Return the names of the parameters of a function."""
    arguments = getattr(function, "args", None)
    if not isinstance(arguments, ast.arguments):
        return []
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [argument.arg for argument in named]


def _is_local(node: ast.expr) -> bool:
    """Return whether an expression reads a name that is no constant."""
    return not isinstance(node, ast.Constant) and not get_last_name(node).isupper()


def _iter_names(
    text: SourceText, scope: ast.AST | None, step: ast.Call
) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names set in a function, or at the top of a file, above a call."""
    for target, value in iter_assignments(scope or text.tree, step.lineno):
        around = text.around(target, *FUNCTIONS)
        if isinstance(target, ast.Name) and around is scope:
            yield target.id, value


def _list_settings(text: SourceText) -> list[str]:
    """Return the options of the command line that are sizes of images."""
    options = [
        str(argument.value).lstrip("-").replace("-", "_")
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) == "add_argument"
        for argument in list_arguments(node)
        if isinstance(argument, ast.Constant)
    ]
    return [option for option in options if OF_IMAGES.search(option)]
