"""Find a label to ignore that a model keeps and its loss is never told."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import PADDED_TARGETS
from shapewright.findings.finding import Finding, Related
from shapewright.program.syntax_nodes import get_own_attribute

IGNORED = re.compile(r"ignore_?(index|idx|label|id)", re.I)
CLASS_LOSSES = frozenset({"cross_entropy", "nll_loss"})


def find_unread_ignored(scene: HazardContext) -> Iterator[Finding]:
    """Find `self.ignore_index` that nothing reads, in a class whose loss ignores no
    label.
    """
    for call in scene.calls:
        if call.name not in CLASS_LOSSES or call.op.span is None:
            continue
        if call.given(4, "ignore_index", default=-100) != -100:
            continue
        place = scene.program.call_at(call.op.span)
        owner = place[0].around(place[1], ast.ClassDef) if place is not None else None
        if place is None or owner is None:
            continue
        text = place[0]
        stored: dict[str, ast.Attribute] = {}
        read: set[str] = set()
        for node in text.nodes:
            if not isinstance(node, ast.Attribute):
                continue
            if isinstance(node.ctx, ast.Load):
                read.add(node.attr)
            elif (
                get_own_attribute(node)
                and IGNORED.fullmatch(node.attr)
                and text.around(node, ast.ClassDef) is owner
            ):
                stored[node.attr] = node
        unread = [node for name, node in stored.items() if name not in read]
        if unread:
            yield Finding(
                PADDED_TARGETS,
                "warning",
                f"`{text.written(unread[0])}` is read by nothing, and this loss ignores"
                " no label: it counts what is to be left out",
                call.op.span,
                related=(Related(text.span(unread[0]), "it is set here"),),
            )
            return
