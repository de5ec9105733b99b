"""Attributes that are read of a part of a data set, or of joined ones, where the data
set inside has them: `train_set.targets` of what `random_split` returned.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix

MISSING = re.compile(r"'(Subset|ConcatDataset)' object has no attribute '(\w+)'")
OF_SAMPLES = re.compile(
    r"(train_|test_)?(targets?|labels?|data|samples|imgs|images|ys?|classes_of\w*)"
)
"""Attributes with one entry for each sample."""


def find_wrapped_data_set(program: Program, finding: Finding) -> Explanation | None:
    """Return that an attribute is one of the data set that another wraps, or None."""
    missing = MISSING.search(finding.words)
    place = program.node(finding.span)
    if missing is None or place is None:
        return None
    (text, node), (kind, name) = place, missing.groups()
    for part in ast.walk(node):
        if not isinstance(part, ast.Attribute) or part.attr != name:
            continue
        owner = text.written(part.value)
        is_part = kind == "Subset"
        inner = f"{owner}.dataset" if is_part else f"{owner}.datasets"
        message = f"`{owner}` is a `{kind}`, and `{name}` belongs to `{inner}`"
        news = [f"[value for each in {inner} for value in each.{name}]"]
        if is_part:
            news = [f"{inner}.{name}"]
        if is_part and OF_SAMPLES.fullmatch(name):
            message += f"; `{owner}.indices` says which samples it has"
            news = [
                f"{inner}.{name}[{owner}.indices]",
                f"[{inner}.{name}[i] for i in {owner}.indices]",
            ]
        fixes = [Fix("fits", f"`{new}`", (Edit(text.span(part), new),)) for new in news]
        return Explanation(message, (), tuple(fixes))
    return None
