"""Find a label to ignore that a model keeps and its loss is never told."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_targets import CLASS_LOSSES
from shapewright.findings.codes import PADDED_TARGETS
from shapewright.findings.finding import Finding, Related
from shapewright.program.expression_values import SIGNED, evaluate_whole_number
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_own_attribute, iter_assignments

IGNORED = re.compile(r"ignore_?(index|idx|label|id)", re.I)
DEFAULT = -100
"""The label that losses of torch ignore if they are told no other."""


def find_unread_ignore_index(scene: HazardContext) -> Iterator[Finding]:
    """Find `self.ignore_index` that nothing reads, in a class whose loss ignores no
    label.
    """
    seen: set[Span] = set()
    for call in scene.calls:
        span = call.op.span
        if call.name not in CLASS_LOSSES or span is None or span in seen:
            continue
        seen.add(span)
        if call.given(4, "ignore_index", default=DEFAULT) != DEFAULT:
            continue
        place = scene.program.call_at(span)
        owner = place[0].around(place[1], ast.ClassDef) if place is not None else None
        unread = _find_unread(scene, owner) if owner is not None else None
        if place is None or unread is None:
            continue
        text = place[0]
        yield Finding(
            PADDED_TARGETS,
            "warning",
            f"`{text.written(unread)}` is read by nothing, and this loss ignores"
            " no label: it counts what is to be left out",
            span,
            related=(Related(text.span(unread), "it is set here"),),
        )
        return


def _find_unread(scene: HazardContext, owner: ast.ClassDef) -> ast.expr | None:
    """Return the attribute of a class that holds a label to ignore, if the program
    reads it nowhere and torch does not ignore that label anyway.
    """
    stored = {
        target.attr: target
        for target, value in iter_assignments(owner)
        if isinstance(target, ast.Attribute)
        and get_own_attribute(target)
        and IGNORED.fullmatch(target.attr)
        and evaluate_whole_number(value, SIGNED) != DEFAULT
    }
    for text in scene.program.own_texts() if stored else ():
        for node in text.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                stored.pop(node.attr, None)
    return next(iter(stored.values()), None)
