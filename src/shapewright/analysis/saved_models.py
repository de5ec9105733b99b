"""A state dict of one model that is loaded into another: the two calls that build them
are in the program.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    iter_assignments,
)

PASSED = frozenset({"to", "cuda", "cpu", "train", "eval", "float", "double", "half"})
"""Methods of a model that return the model."""


def suggest_saved_builder(program: Program, span: Span) -> Iterator[Fix]:
    """Suggest `create_mobilenet()` for `create_resnet()` before `load_state_dict`,
    where the state dict that is saved is of the former.
    """
    for text, loaded, _, saved in _iter_pairs(program, span):
        new = ast.unparse(saved)
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(loaded), new),))


def describe_saved_builder(program: Program, span: Span) -> Related | None:
    """Return the note where the model is built whose state dict is saved."""
    for _, _, own_text, saved in _iter_pairs(program, span):
        words = "the state dict that is saved is of the model that is built here"
        return Related(own_text.span(saved), words)
    return None


def _iter_pairs(
    program: Program, span: Span
) -> Iterator[tuple[SourceText, ast.Call, SourceText, ast.Call]]:
    """Yield the call that builds the model which loads, and the one that builds the
    model which is saved, if these are of other functions or classes.
    """
    place = program.call_at(span)
    receiver = get_receiver(place[1]) if place is not None else None
    if place is None or receiver is None:
        return
    text, call = place
    loaded = _find_builder(text, receiver, call)
    builders: dict[str, tuple[SourceText, ast.Call]] = {}
    for own_text in program.own_texts():
        for node in own_text.nodes:
            if get_called_name(node) != "state_dict" or not _is_saved(own_text, node):
                continue
            model = get_receiver(node) if isinstance(node, ast.Call) else None
            built = _find_builder(own_text, model, node) if model is not None else None
            if built is not None:
                builders[ast.dump(built)] = own_text, built
    if loaded is None or len(builders) != 1:
        return
    ((own_text, saved),) = builders.values()
    names = collect_names(saved)
    known = {node.id for node in text.nodes if isinstance(node, ast.Name)}
    is_other = ast.dump(saved.func) != ast.dump(loaded.func)
    is_alike = list(map(ast.dump, saved.args)) == list(map(ast.dump, loaded.args))
    constants = all(isinstance(part, ast.Constant) for part in saved.args)
    if is_other and names <= known and (is_alike or constants):
        yield text, loaded, own_text, saved


def _is_saved(text: SourceText, node: ast.AST) -> bool:
    """Return whether an expression is part of what `torch.save` writes."""
    return any(get_called_name(outer) == "save" for outer in text.outwards(node))


def _find_builder(text: SourceText, model: ast.expr, use: ast.AST) -> ast.Call | None:
    """Return the call that builds what a name stands for at its use."""
    scope = text.around(use, *FUNCTIONS) or text.tree
    values = [
        value
        for target, value in iter_assignments(scope)
        if text.written(target) == text.written(model)
        and value.lineno < getattr(use, "lineno", 0)
    ]
    value = values[-1] if values else None
    while isinstance(value, ast.Call) and get_called_name(value) in PASSED:
        value = get_receiver(value)
    return value if isinstance(value, ast.Call) else None
