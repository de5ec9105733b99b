"""Find the last steps of padded rows that are read one step too late: at the number of
steps, where the last of them is one less.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import PADDED_LAST_STEP
from shapewright.findings.finding import Finding

LENGTHS = re.compile(r"(^|_)(len|lens|lengths?|n_steps|seq_len(s|gths?)?)$", re.I)


def find_steps_behind(scene: HazardContext) -> Iterator[Finding]:
    """Find `out[torch.arange(n), lengths]` for `lengths - 1`."""
    seen: set[object] = set()
    for call in scene.calls:
        op = call.op
        if call.name != "[]" or op.span is None or op.span in seen:
            continue
        if len(op.inputs) != 3 or op.inputs[0].ndim != 3:
            continue
        place = scene.program.node(op.span)
        node = place[1] if place is not None else None
        if place is None or not isinstance(node, ast.Subscript):
            continue
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if len(items) < 2 or not isinstance(items[1], ast.Name):
            continue
        name = items[1].id
        if not LENGTHS.search(name) or "arange" not in place[0].written(items[0]):
            continue
        if _is_lowered(place[0].text, name):
            continue
        seen.add(op.span)
        yield scene.finding(
            PADDED_LAST_STEP,
            op,
            f"`{name}` counts the steps: the last of them is at `{name} - 1`, and this"
            " reads the one behind it",
        )


def _is_lowered(text: str, name: str) -> bool:
    """Return whether a program takes one from lengths anywhere: what has their name may
    be the place of the last step.
    """
    lowered = rf"\b{name}\s*(-=\s*1|-\s*1\b|=[^=\n]*-\s*1\b)"
    return bool(re.search(lowered, text))
