"""Find parts of data that were split off for training and that nothing reads, beside
the whole data that are read in their place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import UNUSED_SPLIT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

SPLITTING = frozenset({"train_test_split", "random_split", "tensor_split", "split"})
SHOWING = frozenset({"len", "print", "shape", "size"})


def find_unused_parts(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `fit(x, y)` behind `x_train, x_test, ... = train_test_split(x, y)`."""
    for text in scene.program.own_texts():
        for node in text.nodes:
            value = node.value if isinstance(node, ast.Assign) else None
            if not isinstance(node, ast.Assign) or not isinstance(value, ast.Call):
                continue
            target = node.targets[0]
            if get_called_name(value) not in SPLITTING or _is_of_words(value):
                continue
            if isinstance(target, ast.Tuple) and len(target.elts) > 1:
                yield from _check_split(text, node, target.elts, value)


def _is_of_words(call: ast.Call) -> bool:
    """Return whether a call may split a string: a `split` of no library."""
    owner = get_receiver(call)
    of_library = isinstance(owner, ast.Name) and owner.id in ("np", "numpy", "torch")
    return get_called_name(call) == "split" and not of_library


def _check_split(
    text: SourceText, statement: ast.Assign, names: list[ast.expr], call: ast.Call
) -> Iterator[Finding]:
    """Yield the finding for the parts of one split."""
    pairs = get_called_name(call) == "train_test_split" and len(call.args) > 1
    wholes = list(call.args) if pairs else [get_receiver(call), *call.args[:1]]
    if get_called_name(call) in ("random_split", "train_test_split") and not pairs:
        wholes = list(call.args[:1])
    parts = [text.written(name) for name in names]
    for at, part in enumerate(parts[: None if pairs else 1]):
        if pairs and at % 2:
            continue
        place = at // 2 if pairs else 0
        whole = wholes[place] if place < len(wholes) else None
        others = parts[at + 1 : at + 2] if pairs else parts[1:]
        if whole is None or not isinstance(whole, ast.Name | ast.Attribute):
            continue
        if part.startswith("_"):
            continue
        if _list_reads(text, part, statement):
            continue
        if not any(_list_reads(text, other, statement) for other in others):
            continue
        reads = _list_reads(text, text.written(whole), statement)
        if reads:
            yield build_finding(
                UNUSED_SPLIT,
                f"`{text.written(whole)}` is read here, the samples that are evaluated"
                f" among it, and `{part}` is never used",
                text.span(reads[0]),
                (text.span(statement), f"`{part}` is made here"),
            )
            return


def _list_reads(text: SourceText, name: str, split: ast.Assign) -> list[ast.expr]:
    """Return where a name is read behind a split, for more than its length; an
    attribute also in other functions.
    """
    function = text.around(split, *FUNCTIONS)
    reads: list[ast.expr] = []
    for node in text.nodes:
        if not isinstance(node, ast.Name | ast.Attribute):
            continue
        if not isinstance(node.ctx, ast.Load) or ast.unparse(node) != name:
            continue
        inside = text.around(node, *FUNCTIONS) is function
        if inside and node.lineno <= (split.end_lineno or split.lineno):
            continue
        if not inside and not name.startswith("self.") and function is not None:
            continue
        around = text.parent(node)
        shown = get_called_name(around) if isinstance(around, ast.Call) else ""
        if isinstance(around, ast.Attribute) and around.attr in SHOWING:
            continue
        if shown in SHOWING or isinstance(around, ast.FormattedValue):
            continue
        reads.append(node)
    return reads
