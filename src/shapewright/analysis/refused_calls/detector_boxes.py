"""Boxes of a detector that are given as (x, y, width, height) instead of as corners."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    iter_assignments,
)

NO_SIZE = re.compile(
    r"boxes should have positive height and width\. Found invalid box (\[.*?\])"
)
WIDTH = re.compile(r"^(\w*_)?(b?w|width|box_w)$")
HEIGHT = re.compile(r"^(\w*_)?(b?h|height|box_h)$")
OF_SIZES = re.compile(r"xywh|[\"']bbox|\bcoco|\bw, *h\b|width", re.IGNORECASE)
OF_CORNERS = re.compile(
    r"xyxy|x_?max|\bx_?[12]\b|\bvoc\b|pascal|(?<![a-z])(bottom|top)?right(?![a-z])",
    re.IGNORECASE,
)
"""What programs say of boxes with a width and a height, and of boxes of corners."""
CONVERSION = '"xywh", "xyxy"'


def find_boxes_of_sizes(program: Program, finding: Finding) -> Explanation | None:
    """Return that boxes hold a width and a height instead of a corner, or None."""
    refused = NO_SIZE.search(finding.words)
    if refused is None:
        return None
    message = (
        "the detector takes boxes as corners (x1, y1, x2, y2), and one ends before it"
        f" begins: {refused[1]}, as it is resized"
    )
    related: list[Related] = []
    fixes: list[Fix] = []
    for text, boxes in _iter_boxes(program):
        values: list[_Value] = [(text, boxes, None), *_list_assigned(text, boxes)]
        built = values[-1][1]
        related.append(Related(text.span(built), "the boxes are built here"))
        literals = [pair for _, value, _ in values for pair in _iter_lists(text, value)]
        if literals:
            fixes.append(_add_sizes(text, literals[0]))
        elif OF_SIZES.search(text.text) and not OF_CORNERS.search(text.text):
            fixes += _iter_conversions(text, boxes, values)
    if fixes:
        message += "; as (x, y, width, height) they need a conversion"
    return Explanation(message, tuple(related[:2]), tuple(fixes))


_Value = tuple[SourceText, ast.expr, ast.stmt | None]


def _iter_boxes(program: Program) -> Iterator[tuple[SourceText, ast.expr]]:
    """Yield what the targets hold as their boxes."""
    for text in program.own_texts():
        for node in text.nodes:
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == "boxes":
                        yield text, value
            elif isinstance(node, ast.Assign):
                target = node.targets[0]
                key = target.slice if isinstance(target, ast.Subscript) else None
                if isinstance(key, ast.Constant) and key.value == "boxes":
                    yield text, node.value
            elif get_called_name(node) == "dict" and isinstance(node, ast.Call):
                for word in node.keywords:
                    if word.arg == "boxes":
                        yield text, word.value


def _list_assigned(text: SourceText, boxes: ast.expr) -> list[_Value]:
    """Return the values of a name of boxes in its function, the last one last."""
    name, scope = get_dotted_name(boxes), text.around(boxes, *FUNCTIONS) or text.tree
    values: list[_Value] = []
    for target, value in iter_assignments(scope, before=boxes.lineno):
        if get_dotted_name(target) == name:
            values.append((text, value, text.statement_of(value)))
    return sorted(values, key=lambda entry: entry[1].lineno)


def _iter_lists(text: SourceText, value: ast.expr) -> Iterator[ast.expr]:
    """Yield the lists `[x, y, w, h]` that boxes are made of, where they are built and
    where they are appended.
    """
    names = [get_dotted_name(part) for part in ast.walk(value)]
    scope = text.around(value, *FUNCTIONS) or text.tree
    places = list(ast.walk(value))
    for node in ast.walk(scope) if scope is not None else ():
        is_appended = get_called_name(node) == "append" and isinstance(node, ast.Call)
        if is_appended and isinstance(node, ast.Call):
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if owner is not None and get_dotted_name(owner) in names:
                places += [part for arg in node.args for part in ast.walk(arg)]
    for node in places:
        if isinstance(node, ast.List | ast.Tuple) and len(node.elts) == 4:
            width, height = (_get_name(part) for part in node.elts[2:])
            if WIDTH.match(width) and HEIGHT.match(height):
                yield node


def _get_name(node: ast.expr) -> str:
    """Return the last name of an expression, or the key that it reads."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return get_dotted_name(node).rpartition(".")[2]


def _add_sizes(text: SourceText, box: ast.expr) -> Fix:
    """Return the edit that adds the corner to the sizes: `[x, y, x + w, y + h]`."""
    items = box.elts if isinstance(box, ast.List | ast.Tuple) else []
    edits = []
    for corner, size in zip(items[:2], items[2:], strict=True):
        edits.append(Edit(text.span(size).start, f"{text.written(corner)} + "))
    x, y, width, height = map(text.written, items)
    shown = f"[{x}, {y}, {x} + {width}, {y} + {height}]"
    return Fix("fits", f"`{join_lines(shown)}`", tuple(edits))


def _iter_conversions(
    text: SourceText, boxes: ast.expr, values: list[_Value]
) -> Iterator[Fix]:
    """Yield the edits that make corners of boxes where they are set, or are given."""
    convert = _find_conversion(text)
    _, value, statement = values[-1]
    if convert:
        new = f"{convert}({text.written(value)}, {CONVERSION})"
        edit = Edit(text.span(value), new)
        yield Fix("fits", f"`{join_lines(new)}`", (edit,))
        return
    name = get_dotted_name(boxes)
    if statement is not None and name:
        new = f"{name}[:, 2:] += {name}[:, :2]"
        yield Fix("fits", f"`{new}`", (write_after(text, statement, new),))


def _find_conversion(text: SourceText) -> str:
    """Return how a file calls `torchvision.ops.box_convert`; empty if it has to import
    it first.
    """
    for node in text.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "torchvision":
                    return f"{alias.asname or 'torchvision'}.ops.box_convert"
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            if node.module == "torchvision" and "ops" in names:
                return "ops.box_convert"
            if (node.module or "").startswith("torchvision.ops"):
                return "box_convert" if "box_convert" in names else ""
    return ""
