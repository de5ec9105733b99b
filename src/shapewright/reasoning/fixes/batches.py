"""A last batch with fewer samples: left out, or taken by a view as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.findings.fix import Edit, Fix
from shapewright.reasoning.fixes.numbers import replaced
from shapewright.reasoning.fixes.places import nodes_on
from shapewright.reasoning.fixes.words import last_name, with_keyword
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure
from shapewright.trace.rehearsal import Remainder

VIEWS = frozenset({"view", "reshape"})


def left_out(program: Program, at: int) -> Iterator[Fix]:
    """`drop_last=True`, for the loader whose last batch an op had to do with."""
    for short in met(program, at):
        for text, node in nodes_on(program, [(short.file, short.line)], ast.Call):
            if not isinstance(node, ast.Call) or last_name(node.func) != short.name:
                continue
            given = {word.arg: word.value for word in node.keywords}
            if "drop_last" in given:
                edit = Edit(text.span(given["drop_last"]), "True")
                yield Fix("fits", "`drop_last=True`", (edit,))
            else:
                yield with_keyword(text, node, "drop_last=True")


def of_any_size(program: Program, failure: Failure) -> Iterator[Fix]:
    """`x.view(-1, 20, 5)` for a view with the number of samples of other batches."""
    op = program.trace.ops[failure.op]
    found = program.node(op.span)
    if op.name.rpartition(".")[2] not in VIEWS or found is None:
        return
    text, call = found
    if not isinstance(call, ast.Call) or call.keywords or not call.args:
        return
    first = call.args[0]
    nodes = first.elts if isinstance(first, ast.Tuple | ast.List) else call.args
    sizes = [value for _, value in op.arguments if type(value) is int]
    if len(sizes) != len(nodes) or -1 in sizes:
        return
    for short in met(program, failure.op):
        if sizes[0] == short.usual:
            yield replaced(text, nodes[0], "-1")


def met(program: Program, at: int) -> Iterator[Remainder]:
    """The last batch, with fewer samples, that the program worked with at an op."""
    for each in program.remainders:
        if each.began <= at < each.ended:
            yield each
