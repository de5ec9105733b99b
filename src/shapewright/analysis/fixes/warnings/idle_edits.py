"""Edits for statements that have no effect, or undo one: a term that replaces a loss, a
sum of the numbers of batches, a seed of each item, a method that is named only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.item_seeds import list_constant_seeds
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import get_last_name


def suggest_added_term(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `loss += weight * term` for `loss = weight * term`."""
    if "what was added to it above is lost" not in finding.message:
        return
    if isinstance(node, ast.Assign):
        new = f"{text.written(node.targets[0])} += {text.written(node.value)}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_count_by_one(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `n += 1` for `n += i`, and `n` for the `n + 1` that it is divided by."""
    if "adds the number of each batch" not in finding.message:
        return
    if not isinstance(node, ast.AugAssign):
        return
    name = text.written(node.target)
    edits = [Edit(text.span(node.value), "1")]
    for related in finding.related:
        place = program.node(related.span)
        if place is None or not isinstance(place[1], ast.BinOp):
            continue
        divisor = place[1].right
        if isinstance(divisor, ast.BinOp) and text.written(divisor) == f"{name} + 1":
            edits.append(Edit(text.span(divisor), name))
    yield Fix("fits", f"`{name} += 1`", tuple(edits))


def suggest_drawn_seed(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest a seed that each item draws, and sets for its image and for its mask;
    none at all where it is set once.
    """
    if "sets the same seed for each item" not in finding.message:
        return
    function = text.around(node, ast.FunctionDef)
    if function is None or not isinstance(node, ast.Call):
        return
    seeds = list_constant_seeds(function)
    owner = get_receiver(node)
    if len(seeds) < 2 or owner is None:
        return
    module = get_last_name(owner)
    prefix = text.written(owner)
    draws = {
        "torch": f"{prefix}.randint(2**31, ()).item()",
        "random": f"{prefix}.randint(0, 2**31 - 1)",
    }
    first = text.statement_of(node)
    edits = [write_before(text, first, f"seed = {draws[module]}")]
    edits += [Edit(text.span(seed.args[0]), "seed") for seed in seeds]
    shown = f"`seed = {draws[module]}` for each item"
    yield Fix("fits", shown, tuple(edits))


def suggest_call(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `self.init_weights()` for `self.init_weights`, and `table[:, 1::2]` for a
    second `table[:, 0::2]`.
    """
    if "without parentheses calls nothing" in finding.message:
        if isinstance(node, ast.Attribute):
            edit = Edit(text.span(node).end, "()")
            yield Fix("fits", f"`{text.written(node)}()`", (edit,))
        return
    if "what the line above put there is lost" not in finding.message:
        return
    index = node.slice if isinstance(node, ast.Subscript) else None
    last = index.elts[-1] if isinstance(index, ast.Tuple) else index
    if not isinstance(last, ast.Slice) or last.step is None:
        return
    lower, step = last.lower, last.step
    if text.written(step) != "2" or lower is None or text.written(lower) != "0":
        return
    assert isinstance(node, ast.Subscript)
    whole = text.written(node)
    new = whole[: whole.rindex("0::2")] + "1::2" + whole[whole.rindex("0::2") + 4 :]
    yield Fix("fits", f"`{new}`", (Edit(text.span(lower), "1"),))
