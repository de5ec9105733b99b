"""Attributes of a layer that is inside an `nn.Sequential`: `net.classifier.in_features`
where the classifier is a dropout and a layer.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix

MISSING = re.compile(
    r"'(Sequential|ModuleList)' object has no attribute"
    r" '(in_features|out_features|in_channels|out_channels|weight|bias|num_features)'"
)
PLACES = ("[-1]", "[0]", "[1]")
"""The last layer, as in a head, before the first."""


def find_sequential_layer(program: Program, finding: Finding) -> Explanation | None:
    """Return that an attribute is one of a layer in a container, or None."""
    missing = MISSING.search(finding.words)
    place = program.node(finding.span)
    if missing is None or place is None:
        return None
    text, node = place
    kind, name = missing.groups()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr == name:
            written = text.written(part.value)
            message = (
                f"`{written}` is an `nn.{kind}` of several layers: `{name}` belongs to"
                " one of them, as a head's to its last"
            )
            end = text.span(part.value).end
            fixes = tuple(
                Fix("fits", f"`{written}{at}.{name}`", (Edit(end, at),))
                for at in PLACES
            )
            return Explanation(message, (), fixes)
    return None
