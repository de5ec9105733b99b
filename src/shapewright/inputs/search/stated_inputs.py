"""What a file itself says of a model's inputs: a call below the model, the data set
that it loads and its transforms, a comment, a constant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

from shapewright.inputs.callables import Loaded
from shapewright.inputs.python_files import read_source
from shapewright.inputs.search.hypotheses import Hypothesis, Path, Tensor
from shapewright.operators.facts import operators_with
from shapewright.program.expression_values import UnknownValue, evaluate_node
from shapewright.program.notebooks import is_notebook
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    iter_assignments,
)

IMAGES = {
    "MNIST": (1, 28, 28), "FashionMNIST": (1, 28, 28), "KMNIST": (1, 28, 28),
    "EMNIST": (1, 28, 28), "QMNIST": (1, 28, 28), "USPS": (1, 16, 16),
    "CIFAR10": (3, 32, 32), "CIFAR100": (3, 32, 32), "SVHN": (3, 32, 32),
    "STL10": (3, 96, 96), "CelebA": (3, 218, 178), "Omniglot": (1, 105, 105),
    "PCAM": (3, 96, 96), "GTSRB": (3, 0, 0), "ImageFolder": (3, 0, 0),
    "ImageNet": (3, 0, 0), "Flowers102": (3, 0, 0), "OxfordIIITPet": (3, 0, 0),
    "Food101": (3, 0, 0),
}  # fmt: skip
"""Channels, height and width of the images of data sets, 0 where they differ; from the
documentation of torchvision's data sets and of their authors."""
SPELT = {
    name.lower(): name for name, shape in IMAGES.items() if shape[1] and name != "PCAM"
}
MENTION = re.compile(
    r"\b(fashion[- ]?mnist|kmnist|emnist|mnist|cifar[- ]?100?|svhn|stl[- ]?10)\b",
    re.IGNORECASE,
)
"""Names of data sets in docstrings and comments."""
CROPS = frozenset({
    "CenterCrop", "RandomCrop", "RandomResizedCrop", "FiveCrop", "RandomSizedCrop",
})  # fmt: skip
RESIZES = frozenset({"Resize", "Scale"})
MAKERS = operators_with("is_sized_factory") - {"randperm"}
PASSING = frozenset({
    "cuda", "cpu", "to", "float", "double", "half", "Variable", "requires_grad_",
    "contiguous", "detach", "type",
})  # fmt: skip
DTYPES = {"randint": "int64", "double": "float64"}
SUMMARIES = frozenset({"summary"})
CONSTANT = re.compile(
    r"(img|image|input|crop|frame|patch_?image)_?(size|dim|res|resolution|height|width)",
    re.IGNORECASE,
)
SHAPE = re.compile(
    r"[\[(]\s*(?:n|b|bs|batch\w*|\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*[\])]",
    re.IGNORECASE,
)
FARTHEST = 6
"""Names that are followed to a shape."""


@dataclass(frozen=True, slots=True)
class _StatedInput:
    """A hypothesis that a file states, why, and whether the file leaves no doubt."""

    hypothesis: Hypothesis
    sure: bool


def iter_stated_inputs(loaded: Loaded, first: Hypothesis) -> Iterator[_StatedInput]:
    """Yield the inputs that the target's file states, the surest first.

    `first` is the likeliest hypothesis, whose other arguments stay as they are.
    """
    text = _read_text(loaded)
    if text is None:
        return
    names, plain = _get_names(loaded), loaded.module is None
    for shapes, line, sure in _iter_calls(text, names, plain):
        stated = _with_shapes(first, shapes, f"line {line} calls it so")
        if stated is not None:
            yield _StatedInput(stated, sure)
    image = _find_image(first)
    if image is None:
        return
    path, tensor = image
    for shape, why, sure in _iter_images(text):
        channels = tensor.dims[1]
        known = channels if isinstance(channels, int) else 0
        size = (2, shape[0] or known, *shape[1:])
        if all(size):
            stated_image = Tensor(size, tensor.dtype)
            hypothesis = replace(first.with_value(path, stated_image), why=(why,))
            same = not shape[0] or shape[0] == known
            yield _StatedInput(hypothesis, sure and same)


def _read_text(loaded: Loaded) -> SourceText | None:
    """Return the text of the target's file, or None if it cannot be read."""
    if loaded.file is None or not loaded.file.endswith((".py", ".ipynb")):
        return None
    try:
        if is_notebook(loaded.file):
            return SourceText(loaded.file, read_source(loaded.file)[0])
        written = FilePath(loaded.file).read_text(encoding="utf-8", errors="replace")
        return SourceText(loaded.file, written)
    except (OSError, SyntaxError):
        return None


def _get_names(loaded: Loaded) -> set[str]:
    """Return the names by which a file builds or calls the target."""
    names = {loaded.name.rpartition(".")[2].partition("(")[0]}
    if loaded.module is not None:
        names.add(type(loaded.module).__name__)
    return names


def _find_image(first: Hypothesis) -> tuple[Path, Tensor] | None:
    """Return the only image among the arguments, or None."""
    images = [
        (path, tensor)
        for path, tensor in first.tensors()
        if len(tensor.dims) == 4 and tensor.dtype.startswith("float")
    ]
    return images[0] if len(images) == 1 else None


def _with_shapes(
    first: Hypothesis, shapes: list[tuple[tuple[int, ...], str] | None], why: str
) -> Hypothesis | None:
    """Return a hypothesis with these shapes for the first arguments, or None if they
    are no tensors there.
    """
    hypothesis = first
    names = [name for name in first.arguments if name not in first.by_name]
    if len(shapes) > len(names) or not any(shapes):
        return None
    for name, shape in zip(names, shapes, strict=False):
        before = first.at((name,))
        if shape is None:
            continue
        if not isinstance(before, Tensor):
            return None
        dims, dtype = shape
        fill = before.fill if before.dtype == dtype else ""
        hypothesis = hypothesis.with_value((name,), Tensor(dims, dtype, fill))
    return replace(hypothesis, why=(why,))


# -- calls -----------------------------------------------------------------------------


def _iter_calls(
    text: SourceText, names: set[str], plain: bool
) -> Iterator[tuple[list[tuple[tuple[int, ...], str] | None], int, bool]]:
    """Yield the shapes of the arguments of each call of the target in a file, its line,
    and whether it is built there as here. `plain`: the target is a function.
    """
    for node in text.nodes:
        if not isinstance(node, ast.Call):
            continue
        if not node.args:
            continue
        if get_called_name(node) in SUMMARIES:
            built = _find_target(text, node.args[0], names)
            shape = _read_summary(text, node)
            if shape is not None and built is not None:
                yield [(shape, "float32")], node.lineno, not built.args
            continue
        built = _find_target(text, node.func, names)
        if plain and get_called_name(node) in names:
            built = ast.Call(node.func, [], [])
        shapes = [_find_shape(text, argument) for argument in node.args]
        if built is not None and any(shape is not None for shape in shapes):
            yield shapes, node.lineno, not (built.args or built.keywords)


def _find_target(text: SourceText, node: ast.expr, names: set[str]) -> ast.Call | None:
    """Return the call that builds an expression, if that is an object of the target's
    class, or the target function's model.
    """
    for _ in range(FARTHEST):
        if isinstance(node, ast.Call):
            if get_called_name(node) in names and not isinstance(node.func, ast.Call):
                return node
            if not isinstance(node.func, ast.Attribute):
                return None
            if node.func.attr not in PASSING | {"eval", "train"}:
                return None
            node = node.func.value
        elif isinstance(node, ast.Name | ast.Attribute):
            value = _find_value(text, node)
            if value is None:
                return None
            node = value
        else:
            return None
    return None


def _find_value(text: SourceText, node: ast.expr) -> ast.expr | None:
    """Return the value that a name was last set to above a place, or None."""
    name = get_dotted_name(node)
    for scope in (text.around(node, ast.FunctionDef), text.tree):
        inside = scope is not text.tree
        last_value = None
        for target, value in iter_assignments(scope) if scope is not None else ():
            early = value.lineno < node.lineno or not inside
            if early and get_dotted_name(target) == name and value is not node:
                last_value = value
        if last_value is not None:
            return last_value
    return None


def _find_shape(text: SourceText, node: ast.expr) -> tuple[tuple[int, ...], str] | None:
    """Return the shape and dtype of a tensor that a file makes, or None."""
    front: tuple[int, ...] = ()
    dtype = "float32"
    for _ in range(FARTHEST):
        if isinstance(node, ast.Name):
            value = _find_value(text, node)
            if value is None:
                return None
            node = value
        elif not isinstance(node, ast.Call):
            return None
        elif (name := get_called_name(node)) in MAKERS:
            sizes = _read_sizes(text, node, name)
            if sizes is None:
                return None
            for word in node.keywords:
                if word.arg == "dtype" and get_dotted_name(word.value):
                    last = get_dotted_name(word.value).rpartition(".")[2]
                    dtype = {"long": "int64", "float": "float32", "double": "float64",
                             "int": "int32"}.get(last, last)  # fmt: skip
            return (*front, *sizes), DTYPES.get(name, dtype)
        elif name in PASSING and isinstance(node.func, ast.Attribute):
            dtype = DTYPES.get(name, dtype)
            node = node.func.value
        elif name in PASSING and node.args:
            node = node.args[0]
        elif name == "unsqueeze" and isinstance(node.func, ast.Attribute):
            if [ast.unparse(argument) for argument in node.args] != ["0"]:
                return None
            front, node = (1, *front), node.func.value
        else:
            return None
    return None


def _read_sizes(text: SourceText, call: ast.Call, name: str) -> tuple[int, ...] | None:
    """Return the sizes that a factory call is given, or None if they are not known."""
    arguments: list[ast.expr] = list(call.args)
    arguments += [word.value for word in call.keywords if word.arg == "size"]
    if name == "randint":
        tuples = [
            argument
            for argument in arguments
            if isinstance(argument, ast.Tuple | ast.List)
        ]
        arguments = list(tuples[:1])
    if name == "full":
        arguments = arguments[:1]
    if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple | ast.List):
        arguments = list(arguments[0].elts)
    sizes = tuple(_read_number(text, argument) for argument in arguments)
    known = tuple(size for size in sizes if size is not None and size > 0)
    return known if known and len(known) == len(sizes) else None


def _read_number(text: SourceText, node: ast.expr, depth: int = 0) -> int | None:
    """Return a whole number that a file states: a literal, a constant, the default of
    an option of its command line.
    """

    def known(part: ast.expr) -> Any:
        if isinstance(part, ast.Attribute):
            default = _find_option(text, part.attr)
            if default is not None:
                return default
        if isinstance(part, ast.Name | ast.Attribute) and depth < FARTHEST:
            value = _find_value(text, part)
            number = _read_number(text, value, depth + 1) if value is not None else None
            if number is not None:
                return number
        raise UnknownValue(type(part).__name__)

    try:
        value = evaluate_node(node, known)
    except Exception:  # operators of the program's own numbers: 1 // 0
        return None
    return value if type(value) is int else None


def _find_option(text: SourceText, name: str) -> int | None:
    """Return the default of an option that `argparse` reads."""
    for node in text.nodes:
        if get_called_name(node) == "add_argument" and isinstance(node, ast.Call):
            flags = [
                argument.value
                for argument in node.args
                if isinstance(argument, ast.Constant)
                and isinstance(argument.value, str)
            ]
            if any(f.lstrip("-").replace("-", "_") == name for f in flags):
                for word in node.keywords:
                    if word.arg == "default" and isinstance(word.value, ast.Constant):
                        value = word.value.value
                        return value if type(value) is int else None
    return None


def _read_summary(text: SourceText, call: ast.Call) -> tuple[int, ...] | None:
    """Return the shape that `summary(model, (3, 32, 32))` is given: torchsummary puts
    a batch of 2 before it, torchinfo takes it whole.
    """
    sized = [word.value for word in call.keywords if word.arg == "input_size"]
    arguments = (call.args[1:2] or sized)[:1]
    parts = (
        arguments[0].elts
        if arguments and isinstance(arguments[0], ast.Tuple | ast.List)
        else []
    )
    sizes = [_read_number(text, part) for part in parts]
    if not sizes or not all(sizes):
        return None
    whole = "torchinfo" in text.text
    return tuple(size for size in ([] if whole else [2]) + sizes if size)


# -- data sets, transforms, words ------------------------------------------------------


def _iter_images(text: SourceText) -> Iterator[tuple[tuple[int, int, int], str, bool]]:
    """Yield the images that a file speaks of: channels, height, width (0 if unknown),
    why, and whether no other is meant.
    """
    datasets = {
        get_called_name(node): node.lineno
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) in IMAGES
    }
    sizes = list(dict.fromkeys(_iter_transforms(text)))
    gray = any(get_called_name(node) == "Grayscale" for node in text.nodes)
    sure = len({IMAGES[name] for name in datasets}) <= 1 and len(sizes) <= 1
    for name, line in datasets.items():
        channels, height, width = IMAGES[name]
        channels = 1 if gray else channels
        reason = f"images of {name}, line {line}"
        for side, at in sizes:
            yield (channels, *side), f"{reason}, resized at line {at}", sure
        if height and not sizes:
            yield (channels, height, width), reason, sure
    if not datasets:
        for side, at in sizes:
            yield (1 if gray else 0, *side), f"images resized at line {at}", sure
    for line, row in enumerate(text.lines, 1):
        for match in SHAPE.finditer(row.partition("#")[2] if "#" in row else ""):
            channels, height, width = (int(side) for side in match.groups())
            yield (channels, height, width), f"a comment, line {line}", False
    for target, value in iter_assignments(text.tree):
        name = get_dotted_name(target)
        number = _read_number(text, value) if CONSTANT.search(name) else None
        if number is not None and 8 <= number <= 2048:
            yield (0, number, number), f"`{name}`, line {value.lineno}", False
    mentioned = {} if datasets else _find_mentions(text)
    for name, line in mentioned.items():
        yield IMAGES[name], f"{name} is named at line {line}", False


def _iter_transforms(text: SourceText) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield the sizes to which transforms bring the images, with their lines."""
    crops = [n for n in text.nodes if get_called_name(n) in CROPS]
    resized = [n for n in text.nodes if get_called_name(n) in RESIZES]
    for node in crops or resized:
        if not isinstance(node, ast.Call) or not (node.args or node.keywords):
            continue
        argument = node.args[0] if node.args else node.keywords[0].value
        parts = (
            argument.elts if isinstance(argument, ast.Tuple | ast.List) else [argument]
        )
        sides = [_read_number(text, part) for part in parts]
        if all(sides) and 0 < len(sides) < 3:
            yield (sides[0], sides[-1]), node.lineno  # type: ignore[misc]


def _find_mentions(text: SourceText) -> dict[str, int]:
    """Return the data sets that docstrings and comments name, with the line."""
    mentions: dict[str, int] = {}
    for line, row in enumerate(text.lines, 1):
        for match in MENTION.finditer(row):
            plain = re.sub(r"[- ]", "", match[1].lower())
            if plain in SPELT:
                mentions.setdefault(SPELT[plain], line)
    return mentions
