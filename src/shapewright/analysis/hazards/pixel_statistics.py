"""Find means and deviations of `Normalize` that are of another scale than its pixels:
those of bytes behind `ToTensor()`, and those that are divided by 255 twice; and known
ones in the order from blue to red.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import UNSCALED_PIXELS
from shapewright.findings.finding import Finding, Related
from shapewright.program.assigned_values import find_known_value
from shapewright.program.expression_values import UnknownValue, evaluate_node
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_last_name

SCALED = "ToTensor"
WHITE = 255
OF_BYTES = 2.0
"""Deviations of bytes are larger than this; those of pixels from 0 to 1 are not."""
OF_QUOTIENTS = 0.01
"""Deviations of pixels from 0 to 1 are larger than this."""


KNOWN_MEANS = ((0.485, 0.456, 0.406), (0.45, 0.432, 0.411))
"""Means of red, green and blue that programs take from elsewhere: of ImageNet, and of
the frames that FlowNet was trained on.
"""
KNOWN_DEVIATIONS = ((0.229, 0.224, 0.225),)
READS_COLOURS = re.compile(r"\.convert\(\s*(mode\s*=\s*)?[\"']RGB[\"']|ImageFolder\(")
TURNS_COLOURS = re.compile(r"cv2|BGR|bgr|::-1|2, 1, 0|\bflip\(|imageio|skimage|decord")
"""What reads pixels as red, green and blue; what may read or turn them otherwise."""


def find_turned_statistics(scene: HazardContext) -> Iterator[Finding]:
    """Find a known mean of `Normalize` from blue to red, of pixels from red to blue."""
    texts = list(scene.program.own_texts())
    whole = "\n".join(text.text for text in texts)
    if not READS_COLOURS.search(whole) or TURNS_COLOURS.search(whole):
        return
    for text in texts:
        for norm in text.nodes:
            if not isinstance(norm, ast.Call) or get_called_name(norm) != "Normalize":
                continue
            words = {word.arg: word.value for word in norm.keywords}
            mean = words.get("mean", norm.args[0] if norm.args else None)
            numbers = tuple(_list_numbers(text, mean))
            if mean is None or numbers[::-1] not in KNOWN_MEANS:
                continue
            shown = ", ".join(f"{number:g}" for number in numbers[::-1])
            yield Finding(
                UNSCALED_PIXELS,
                "warning",
                f"`Normalize` takes `{text.line_of(mean)}`, a known mean from blue to"
                f" red, and the images are read from red to blue: it is ({shown})",
                text.span(norm),
            )


def find_other_statistics(scene: HazardContext) -> Iterator[Finding]:
    """Find `Normalize` behind `ToTensor` with the mean and the deviation of bytes, or
    with both divided by 255 once more.
    """
    if not any(_is_division(op.name, op.arguments) for op in scene.program.trace.ops):
        return  # no bytes are scaled: `ToTensor` keeps floats as they are
    for text in scene.program.own_texts():
        for listed in text.nodes:
            steps = listed.elts if isinstance(listed, ast.List | ast.Tuple) else []
            names = [get_called_name(step) for step in steps]
            if SCALED not in names or "Normalize" not in names[names.index(SCALED) :]:
                continue
            norm = steps[names.index("Normalize", names.index(SCALED))]
            finding = _describe_scale(text, norm)
            if finding is not None:
                yield finding


def _is_division(name: str, arguments: tuple[tuple[str, object], ...]) -> bool:
    """Return whether a call divides by 255."""
    is_divided = name.rpartition(".")[2] in ("div", "/", "div_")
    return is_divided and WHITE in [value for _, value in arguments]


def _describe_scale(text: SourceText, norm: ast.expr) -> Finding | None:
    """Return what is wrong with the scale of the statistics, or None."""
    if not isinstance(norm, ast.Call):
        return None
    words = {word.arg: word.value for word in norm.keywords}
    nodes = [
        words.get(name, norm.args[at] if len(norm.args) > at else None)
        for at, name in enumerate(("mean", "std"))
    ]
    if nodes[0] is None or nodes[1] is None:
        return None
    mean, std = [_list_numbers(text, node) for node in nodes if node is not None]
    if not mean or not std or min(std) <= 0:
        return None
    related: list[Related] = []
    for node in filter(None, nodes):
        value = find_known_value(text, node)
        if value is not node:
            related.append(Related(text.span(value), f"`{text.written(node)}` is set"))
    shown = f"a mean of {mean[0]:.4g} and a deviation of {std[0]:.4g}"
    if min(std) > OF_BYTES and max(mean) > 1:
        message = (
            f"`Normalize` takes {shown} of bytes, 0 to 255, and `ToTensor()` gives it"
            f" pixels between 0 and 1: they all become about {-mean[0] / std[0]:.3g};"
            " the statistics are to be divided by 255"
        )
    elif max(std) < OF_QUOTIENTS and max(map(abs, mean)) < OF_QUOTIENTS:
        message = (
            f"`Normalize` takes {shown}, which are divided by 255 once more:"
            f" the pixels of `ToTensor()` lie between 0 and 1, and become numbers up to"
            f" {(1 - mean[0]) / std[0]:.0f}"
        )
    else:
        return None
    return Finding(
        UNSCALED_PIXELS, "warning", message, text.span(norm), related=tuple(related)
    )


def _list_numbers(text: SourceText, node: ast.expr | None) -> list[float]:
    """Return the numbers that an argument holds, as far as they are written: a list, a
    name of one, `[x / 255 for x in ...]`, `np.array([...]) / 255`.
    """
    node = find_known_value(text, node) if node is not None else None
    try:
        if isinstance(node, ast.ListComp) and len(node.generators) == 1:
            loop = node.generators[0]
            name, values = get_last_name(loop.target), _list_numbers(text, loop.iter)
            known = [partial(_get_variable, name, value) for value in values]
            return [float(evaluate_node(node.elt, value)) for value in known]
        if isinstance(node, ast.BinOp):
            factor = float(evaluate_node(node.right))
            values = _list_numbers(text, node.left)
            if isinstance(node.op, ast.Div):
                return [value / factor for value in values]
            return [v * factor for v in values] if isinstance(node.op, ast.Mult) else []
        if isinstance(node, ast.Call) and len(node.args) == 1:
            is_list = get_called_name(node) in ("array", "tensor", "list", "tuple")
            return _list_numbers(text, node.args[0]) if is_list else []
        items = node.elts if isinstance(node, ast.List | ast.Tuple) else []
        return [float(evaluate_node(item)) for item in items]
    except (UnknownValue, TypeError, ValueError, ZeroDivisionError):
        return []


def _get_variable(name: str, value: float, part: ast.expr) -> float:
    """Return the value of the variable of a comprehension."""
    if isinstance(part, ast.Name) and part.id == name:
        return value
    raise UnknownValue(ast.dump(part))
