"""Transforms of pictures in an order that they do not take: `Normalize` of a picture
that `ToTensor` makes a tensor only afterwards.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name

REFUSED = re.compile(
    r"should be Tensor Image|Got <class 'PIL|should be PIL Image|pic should be"
)
OF_TENSORS = frozenset({"Normalize", "RandomErasing"})
MAKING = frozenset({"ToTensor", "PILToTensor", "ToImage", "ConvertImageDtype"})


def find_transform_order(program: Program, finding: Finding) -> Explanation | None:
    """Return which transform stands before the one that makes a tensor, or None."""
    if not REFUSED.search(finding.words):
        return None
    related: list[Related] = []
    edits: list[Edit] = []
    name = ""
    for text in program.own_texts():
        for early, making in _iter_pairs(text):
            name = get_called_name(early)
            span = text.span(early)
            words = f"`{name}` stands before `{get_called_name(making)}` here"
            related.append(Related(span, words))
            edits += [
                Edit(span, text.written(making)),
                Edit(text.span(making), text.written(early)),
            ]
    if not edits:
        return None
    message = f"`{name}` takes a tensor, and gets a picture: `ToTensor` comes after it"
    fix = Fix("fits", f"`{name}` after `ToTensor`", tuple(edits))
    return Explanation(message, tuple(related), (fix,))


def _iter_pairs(text: SourceText) -> Iterator[tuple[ast.Call, ast.Call]]:
    """Yield the transforms of tensors that stand before the one that makes a tensor."""
    for node in text.nodes:
        if not isinstance(node, ast.List | ast.Tuple):
            continue
        calls = [item for item in node.elts if isinstance(item, ast.Call)]
        early = [call for call in calls if get_called_name(call) in OF_TENSORS]
        making = [call for call in calls if get_called_name(call) in MAKING]
        if early and making and calls.index(early[0]) < calls.index(making[0]):
            yield early[0], making[0]
