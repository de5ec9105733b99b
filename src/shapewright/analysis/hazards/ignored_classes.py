"""Find losses that ignore a label which the program gives the name of a class: padding
that has the number of a real tag.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_targets import CLASS_LOSSES
from shapewright.findings.codes import IGNORED_LABELS_COUNTED
from shapewright.findings.finding import Finding, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_last_name, iter_assignments

OF_CLASSES = re.compile(r"tag|label|class|categor|entit|intent|species", re.I)
"""How lists of the names of classes are called."""
NO_CLASS = re.compile(
    r"pad|ignor|void|back|unknown|unk|invalid|miss|none|other|blank|special|mask|null"
    r"|outside|neutral|^o$|^\W*$|^[<\[]",
    re.I,
)
"""How a class is called that may be left out."""


def find_ignored_class_names(scene: HazardContext) -> Iterator[Finding]:
    """Find a loss whose `ignore_index` is the number of a class with a name of its own,
    in the list of all its classes.
    """
    seen: set[object] = {None}
    for call in scene.calls:
        op, label = call.op, dict(call.op.arguments).get("ignore_index")
        if call.name not in CLASS_LOSSES or type(label) is not int or not op.inputs:
            continue
        shape = op.inputs[0].shape
        if op.span in seen or len(shape) < 2 or not 0 <= label < shape[1]:
            continue
        seen.add(op.span)
        for text in scene.program.own_texts():
            for target, names in _iter_class_names(text, shape[1]):
                if NO_CLASS.search(names[label]):
                    continue
                message = (
                    f"this loss ignores label {label}, which is `{names[label]}` of"
                    f" `{text.written(target)}`: no prediction of it is trained;"
                    " padding is to have a number that is no class, such as -100"
                )
                places = [Related(text.span(target), "the classes are listed here")]
                layer = scene.program.layer(op)
                built = scene.program.built.get(layer.path) if layer else None
                if built is not None and built.span is not None:
                    places.append(Related(built.span, "`ignore_index` is set here"))
                finding = scene.finding(IGNORED_LABELS_COUNTED, op, message)
                yield replace(finding, related=tuple(places))
                return


def _iter_class_names(
    text: SourceText, count: int
) -> Iterator[tuple[ast.expr, list[str]]]:
    """Yield each list of as many names as there are classes, and each dict from such
    names to all their numbers, with the names in their order.
    """
    for target, value in iter_assignments(text.tree, annotated=True):
        name = get_last_name(target)
        if not OF_CLASSES.search(name) or not isinstance(target, ast.Name):
            continue
        if isinstance(value, ast.List | ast.Tuple) and len(value.elts) == count:
            names = [getattr(part, "value", None) for part in value.elts]
            if all(isinstance(part, str) for part in names):
                yield target, [str(part) for part in names]
        if isinstance(value, ast.Dict) and len(value.keys) == count:
            pairs = {
                getattr(number, "value", None): getattr(key, "value", None)
                for key, number in zip(value.keys, value.values, strict=True)
            }
            if set(pairs) == set(range(count)):
                yield target, [str(pairs[at]) for at in range(count)]
