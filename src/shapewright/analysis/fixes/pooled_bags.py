"""Bags of several sizes, such as the patches of slides, that a model pools as a whole:
a row of padding would get a share of the weights, so a batch is one bag.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.batches_of_one import find_batch_size
from shapewright.analysis.fixes.ragged_items import read_difference
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Op

WEIGHING = operators_with("normalizes_along_dim") - {"normalize"}
"""Operators that give each row of a bag a share."""
AVERAGING = "mean"
FEW = 2
"""Items of a batch that were hardly meant to be padded for a mean."""
IN_ORDER = operators_with("is_recurrent", "is_convolution")
"""Layers for which the rows are a sequence: what is padded at its end is usual."""
OF_TOKENS = "attention"
"""In the names of layers in which the rows see each other, and which take a mask."""


def suggest_single_bags(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest `batch_size=1` for all loaders of bags that are weighed as a whole."""
    if _find_weighing(program, finding) is None:
        return
    edits = [
        Edit(text.span(number), "1") for text, number in _list_sizes(program, finding)
    ]
    if edits:
        yield Fix("fits", "`batch_size=1`", tuple(dict.fromkeys(edits)))


def describe_single_bags(program: Program, finding: Finding) -> list[Related]:
    """Return how many bags a batch has, and where their rows are weighed."""
    op, sizes = _find_weighing(program, finding), _list_sizes(program, finding)
    if op is None or op.span is None or not sizes:
        return []
    text, number = sizes[0]
    name = op.name.rpartition(".")[2]
    batch = f"`batch_size` is {text.written(number)}: a batch is to have as many items"
    weighed = f"`{name}` runs over the rows of an item, and would count padded ones"
    return [Related(text.span(number), batch), Related(op.span, weighed)]


def _find_weighing(program: Program, finding: Finding) -> Op | None:
    """Return the call in which each row of an item has a share, where items differ in
    their number of rows, nothing reads these in their order, and no mask is made.
    """
    _, first, second = read_difference(finding.message)
    if len(first) != 2 or len(second) != 2 or first[1] != second[1]:
        return None
    counts = [evaluate_whole_number(size) for _, size in _list_sizes(program, finding)]
    is_few = any(count is not None and count <= FEW for count in counts)
    names = WEIGHING | ({AVERAGING} if is_few else set())
    rows = {first[0], second[0]} - {first[1]}
    weighing: Op | None = None
    for op in program.trace.ops:
        if not any(rows & {*fact.shape[1:]} for fact in op.inputs):
            continue
        name = op.name.rpartition(".")[2]
        if name in IN_ORDER or OF_TOKENS in name:
            return None
        if any(fact.dtype == "bool" for fact in (*op.inputs, *op.outputs)):
            return None
        dim = _read_dim(op)
        if name in names and dim is not None and op.span is not None:
            dim %= op.inputs[0].ndim
            is_of_rows = dim > 0 and op.inputs[0].shape[dim] in rows
            weighing = op if is_of_rows and weighing is None else weighing
    return weighing


def _read_dim(op: Op) -> int | None:
    """Return the dim over which a call runs, or None."""
    values = dict(op.arguments)
    dim = values.get("dim", values.get("axis", values.get("1")))
    return dim if type(dim) is int else None


def _list_sizes(
    program: Program, finding: Finding
) -> list[tuple[SourceText, ast.expr]]:
    """Return where the sizes of batches of a file's loaders are written."""
    text = program.text(finding.span.file) if finding.span is not None else None
    numbers = [
        (text, find_batch_size(text, node))
        for node in (text.nodes if text is not None else ())
        if text is not None
        and isinstance(node, ast.Call)
        and get_called_name(node) == "DataLoader"
        and not any(word.arg == "collate_fn" for word in node.keywords)
    ]
    return [(text, number) for text, number in numbers if number is not None]
