"""Find transforms of the training in the place of those of the evaluation beside them:
`val_transform`, which nothing reads, or a prediction through `train_pipeline`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import build_finding
from shapewright.analysis.training_mistakes.random_changes import list_random_steps
from shapewright.analysis.training_mistakes.unread_loaders import (
    HELD_OUT,
    OF_TRAINING,
    PASSES,
    QUIET,
)
from shapewright.findings.codes import AUGMENTED_EVALUATION
from shapewright.findings.finding import Finding
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

TRANSFORMS = re.compile(r"transform|pipeline|augment|preproc|(^|_)tfms?(_|$)")


def find_twin_transforms(text: SourceText) -> Iterator[Finding]:
    """Find a transform of the training where its twin of the evaluation is meant."""
    names = {
        node.id
        for node in text.nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        if TRANSFORMS.search(node.id)
    }
    for name in sorted(names):
        twins = [other for other in names if _is_twin(name, other)]
        if len(twins) != 1:
            continue
        reads = [
            node
            for node in text.nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        ]
        own = [node for node in reads if node.id == name]
        if any(node.id == twins[0] for node in reads):
            yield from _find_predictions(text, own, twins[0])
        else:
            yield from _find_held_out(text, own, twins[0])


def _is_twin(name: str, other: str) -> bool:
    """Return whether two names differ in that one is of the training, and the other is
    held out: `train_transform` and `val_transform`.
    """
    if not OF_TRAINING.search(name) or not HELD_OUT.search(other):
        return False
    stems = OF_TRAINING.sub("_", name), HELD_OUT.sub("_", other)
    return stems[0].strip("_") == stems[1].strip("_")


def _find_held_out(
    text: SourceText, reads: list[ast.Name], twin: str
) -> Iterator[Finding]:
    """Yield the findings for data sets of the evaluation that get the transform of the
    training, where nothing reads their own.
    """
    for read in reads if len(reads) > 1 else ():
        statement = text.statement_of(read)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        written = text.written(target) if target is not None else ""
        if HELD_OUT.search(written) and not OF_TRAINING.search(written):
            yield build_finding(
                AUGMENTED_EVALUATION,
                f"`{written}` gets `{read.id}`, and nothing reads `{twin}`",
                text.span(read),
            )


def _find_predictions(
    text: SourceText, reads: list[ast.Name], twin: str
) -> Iterator[Finding]:
    """Yield the findings for functions that predict on samples which a transform
    changes at random.
    """
    for read in reads:
        call = text.parent(read)
        function = text.around(read, *FUNCTIONS)
        if not isinstance(call, ast.Call) or call.func is not read or function is None:
            continue
        called = {get_called_name(node) for node in ast.walk(function)}
        steps = list_random_steps(text, find_known_value(text, read))
        is_quiet = QUIET.search(ast.unparse(function)) or "eval" in called
        if called & PASSES or not is_quiet or not steps:
            continue
        yield build_finding(
            AUGMENTED_EVALUATION,
            f"this predicts on samples that `{read.id}` changes at random: each call"
            f" sees another one, which is what `{twin}` leaves out",
            text.span(read),
            (text.span(steps[0]), "this changes each sample at random"),
        )
