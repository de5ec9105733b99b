"""Arguments as another call of the same function has them:
`self.decode(torch.cat([z, self.onehot(c)], 1))` for `self.decode(z)`; a product that
takes any number of dims.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import INNER_DIM_MISMATCH, WRONG_RANK
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, collect_names, get_called_name

OF_INPUTS = frozenset({INNER_DIM_MISMATCH, WRONG_RANK})
"""Codes of layers that are given something else than they take."""


def suggest_argument_of_other_call(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest what another call of a function of the program is given, made of names
    that are known here too, where this one is given a part of it.
    """
    if failure.unmet is None or failure.unmet.code not in OF_INPUTS:
        return
    for frame in reversed(program.trace.ops[failure.op].frames):
        place = program.call_at(frame.span)
        if place is None:
            continue
        text, call = place
        name = get_called_name(call)
        if not text.functions(name):
            continue
        known = _list_known(text, call)
        for other in text.nodes:
            if not isinstance(other, ast.Call) or get_called_name(other) != name:
                continue
            if other is call or len(other.args) != len(call.args):
                continue
            for own, better in zip(call.args, other.args, strict=True):
                written, new = text.written(own), text.written(better)
                is_richer = isinstance(better, ast.Call) and isinstance(own, ast.Name)
                if not is_richer or own.id not in collect_names(better):  # type: ignore[attr-defined]
                    continue
                if collect_names(better) <= known and written != new:
                    shown = text.written(call).replace(written, new, 1)
                    edit = Edit(text.span(own), new)
                    yield Fix("fits", f"`{join_lines(shown)}`", (edit,))


def suggest_any_product(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `torch.matmul` for `torch.bmm` and the like of other numbers of dims."""
    op, unmet = program.trace.ops[failure.op], failure.unmet
    name = op.name.rpartition(".")[2]
    if unmet is None or unmet.code != WRONG_RANK or name not in OF_RANK:
        return
    place = program.call_at(op.span)
    if place is None or get_called_name(place[1]) != name:
        return
    fewer, more = sorted((fact.shape for fact in op.inputs[:2]), key=len)
    if len(fewer) == 2 and len(more) == 3 and fewer[0] == more[0]:
        return  # a vector for each sample: all of them would meet each sample
    text, call = place
    old = text.written(call.func)
    new = f"{old[: len(old) - len(name)]}matmul"
    shown = new + text.written(call).removeprefix(old)
    yield Fix("fits", f"`{join_lines(shown)}`", (Edit(text.span(call.func), new),))


OF_RANK = operators_with("is_product") - {"matmul", "@"}
"""Products that take tensors of one number of dims."""


def _list_known(text: SourceText, call: ast.Call) -> set[str]:
    """Return the names that are known where a call stands."""
    scope = text.around(call, *FUNCTIONS)
    known = {"self", "torch", "F", "nn", "np"}
    known |= collect_names(text.tree, ast.Store) if text.tree is not None else set()
    for node in ast.walk(scope) if scope is not None else ():
        if isinstance(node, ast.arg):
            known.add(node.arg)
    return known
