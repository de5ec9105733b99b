"""Weights of classes that are counted of other labels than those that a loss gets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import CLASS_WEIGHTS
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    iter_assignments,
)

COUNTING = frozenset({
    "Counter", "bincount", "unique", "compute_class_weight", "value_counts", "set",
})  # fmt: skip
MADE_OF = operators_with("takes_program_data") | {"LongTensor", "TensorDataset"}


def suggest_counted_labels(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `Counter(merged)` for `Counter(raw)` where the loss gets `merged`, and
    its weights have an entry for each class of `raw`.
    """
    if failure.unmet is None or failure.unmet.code != CLASS_WEIGHTS:
        return
    for text in program.own_texts():
        for scope in (text.tree, *(n for n in text.nodes if isinstance(n, FUNCTIONS))):
            labels = {
                value.args[0].id
                for _, value in iter_assignments(scope)
                if isinstance(value, ast.Call)
                and get_called_name(value) in MADE_OF
                and value.args
                and isinstance(value.args[0], ast.Name)
            }
            made_of = {
                target.id: value
                for target, value in iter_assignments(scope)
                if isinstance(target, ast.Name) and target.id in labels
            }
            for name, value in made_of.items():
                sources = {
                    node.id for node in ast.walk(value) if isinstance(node, ast.Name)
                }
                for node in ast.walk(scope) if scope is not None else ():
                    if get_called_name(node) not in COUNTING:
                        continue
                    assert isinstance(node, ast.Call)
                    first = node.args[0] if node.args else None
                    if isinstance(first, ast.Name) and first.id in sources:
                        edit = Edit(text.span(first), name)
                        shown = text.written(node).replace(first.id, name, 1)
                        yield Fix("fits", f"`{shown}`", (edit,))
