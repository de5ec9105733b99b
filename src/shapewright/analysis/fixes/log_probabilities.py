"""Log-probabilities of actions with several dims, which belong together: their sum is
that of the action.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.makers import iter_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import BROADCAST_MISMATCH
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name

REDUCTIONS = ("sum", "mean", "prod")


def suggest_summed_log_probabilities(
    program: Program, failure: Failure
) -> Iterator[Fix]:
    """Suggest `dist.log_prob(action).sum(-1)` where log-probabilities with a column for
    each dim of an action meet one number for each sample.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != BROADCAST_MISMATCH or len(op.inputs) != 2:
        return
    first, second = sorted((fact.shape for fact in op.inputs), key=len)
    if len(second) != len(first) + 1 or second[:-1] != first:
        return
    for maker in iter_makers(program, op):
        text_and_node = program.node(maker.span)
        if text_and_node is None:
            continue
        text, node = text_and_node
        calls = [
            part
            for part in ast.walk(node)
            if isinstance(part, ast.Call) and get_called_name(part) == "log_prob"
        ]
        if not calls:
            continue
        every = [
            part
            for part in text.nodes
            if isinstance(part, ast.Call) and _is_unreduced(text, part)
        ]
        new = f"{text.line_of(calls[0])}.sum(-1)"
        for places in (every, calls[:1]) if len(every) > 1 else (every,):
            edits = tuple(Edit(text.span(part).end, ".sum(-1)") for part in places)
            more = f", and {len(places) - 1} more" if len(places) > 1 else ""
            yield Fix("fits", f"`{new}`{more}", edits)
        return


def _is_unreduced(text: SourceText, node: ast.Call) -> bool:
    """Return whether a call gives log-probabilities that nothing sums."""
    method = text.parent(node)
    is_reduced = isinstance(method, ast.Attribute) and method.attr in REDUCTIONS
    return get_called_name(node) == "log_prob" and not is_reduced
