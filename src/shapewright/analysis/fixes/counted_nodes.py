"""Counts of edges that lack the last nodes: `torch.bincount(dst)` has as many numbers
as the largest index says, not one for each node.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.scope_tensors import (
    list_scope_facts,
    list_scope_numbers,
)
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    iter_assignments,
)
from shapewright.record.ops import Op

NODES = re.compile(
    r"node|vert|atom|point|user|item|entit|^[nN]$|^[nN]_|^num|size$|count"
)


def suggest_counted_nodes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `minlength=num_nodes` for counts that are shorter than what they meet."""
    op = program.trace.ops[failure.op]
    sides = [side for side in find_sides(failure) if side is not None]
    if len(sides) != 2 or len(op.inputs) != 2:
        return
    sizes = [op.inputs[at].shape[dim] for at, dim in sides]
    for (at, _), size, other in zip(sides, sizes, sizes[::-1], strict=True):
        if not 0 < size < other:
            continue
        for maker in iter_first_makers(program, op.inputs[at]):
            place = program.call_at(maker.span)
            if maker.name.rpartition(".")[2] != "bincount" or place is None:
                continue
            text, call = place
            words = {word.arg for word in call.keywords}
            if maker.outputs[0].shape != (size,) or words & {"minlength", None}:
                return
            if get_called_name(call) != "bincount":
                return
            for name in _iter_numbers(program, maker, text, call, other):
                yield with_keyword(text, call, f"minlength={name}")
                return


def _iter_numbers(
    program: Program, op: Op, text: SourceText, call: ast.Call, size: int
) -> Iterator[str]:
    """Yield what stands for a number at a call: names of nodes, then sizes of tensors,
    then other names.
    """
    scope = text.around(call, *FUNCTIONS)
    names = [
        target.id
        for around in (scope, text.tree)
        if around is not None
        for target, value in iter_assignments(around, before=call.lineno)
        if isinstance(target, ast.Name)
        and value is not None
        and text.around(target, *FUNCTIONS) in (scope, None)
        and evaluate_whole_number(value) == size
    ]
    numbers = list_scope_numbers(program, op, text, call)
    names = [*(name for name, value in numbers.items() if value == size), *names]
    yield from (name for name in names if NODES.search(name.lower()))
    counted = {name for part in call.args for name in collect_names(part)}
    facts = list_scope_facts(program, op, text, call)
    for name, fact in facts.items():
        if fact.ndim > 1 and fact.shape[0] == size and name not in counted:
            yield f"{name}.shape[0]"
    yield from names
