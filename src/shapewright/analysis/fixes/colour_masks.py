"""Masks of colours that are given as classes, where the program has a list of the
colour of each class.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import TARGET_SHAPE
from shapewright.findings.finding import Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name

COLOURS = 3
LARGEST = 255
SCALED = re.compile(r"ToTensor\(|to_tensor\(|/=?\s*255|convert_image_dtype")
"""What brings colours to numbers between 0 and 1, which no list of colours has."""
ARRAYS = operators_with("takes_program_data") | {"array", "asarray"}


def suggest_class_of_colours(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the number of each pixel's colour in the list of colours for the mask
    that a data set gives.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != TARGET_SHAPE or len(op.inputs) < 2:
        return
    scores, target = op.inputs[0], op.inputs[1]
    if len(target.shape) != 4 or target.shape[1] != COLOURS or len(scores.shape) != 4:
        return
    if any(SCALED.search(text.text) for text in program.own_texts()):
        return
    palettes = [
        palette
        for text in program.own_texts()
        for palette in _iter_palettes(text, scores.shape[1])
    ]
    for maker in iter_first_makers(program, target) if len(palettes) == 1 else ():
        place = program.node(maker.span)
        if place is None or maker.outputs[0].shape != target.shape[1:]:
            continue
        text, statement = place[0], place[0].statement_of(place[1])
        name = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(name, ast.Name):
            continue
        new = (
            f"{name.id} = ({name.id} == torch.as_tensor({palettes[0]})"
            "[:, :, None, None]).all(dim=1).long().argmax(dim=0)"
        )
        yield Fix("fits", f"`{new}`", (write_after(text, statement, new),))
        return


def _iter_palettes(text: SourceText, count: int) -> Iterator[str]:
    """Yield the lists at the top of a file of as many colours as there are classes, as
    an expression whose rows they are.
    """
    for statement in text.tree.body if text.tree is not None else ():
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], statement.value
        if not isinstance(target, ast.Name):
            continue
        if isinstance(value, ast.Dict):
            keys = [key for key in value.keys if key is not None]
            numbers = [getattr(number, "value", None) for number in value.values]
            if len(value.values) == count and all(map(_is_colour, value.values)):
                yield f"list({target.id}.values())"
            elif all(map(_is_colour, keys)) and numbers == list(range(count)):
                yield f"list({target.id})"
            continue
        if get_called_name(value) in ARRAYS and isinstance(value, ast.Call):
            value = value.args[0] if value.args else value
        rows = value.elts if isinstance(value, ast.List | ast.Tuple) else []
        if len(rows) == count and all(map(_is_colour, rows)):
            yield target.id


def _is_colour(node: ast.expr) -> bool:
    """Return whether an expression is three numbers from 0 to 255."""
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    return len(parts) == COLOURS and all(
        isinstance(part, ast.Constant)
        and type(part.value) is int
        and 0 <= part.value <= LARGEST
        for part in parts
    )
