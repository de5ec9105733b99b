"""Keys of a state dict that a slice cuts at another place than where the names of the
model begin: `key[15:]` for `key[8:]`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.failed_calls import Misloaded, prefix_of
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import FUNCTIONS, collect_names, get_called_name


def list_cut_places(
    program: Program, span: Span, misloaded: Misloaded
) -> list[Related]:
    """Return the slice that cuts too few characters of the keys, or too many."""
    place = program.call_at(span)
    cut = _find_cut(*place) if place is not None else None
    off = _count_characters(misloaded)
    if place is None or cut is None or not off:
        return []
    theirs, ours = prefix_of(misloaded)
    node, count = cut
    words = f"`{place[0].written(node)}` cuts {count} characters of each key"
    left = f"leaves `{theirs}`" if theirs else f"takes `{ours}` off the names"
    right = f"those of `{misloaded.class_name}` begin behind {count + off}"
    return [Related(place[0].span(node), f"{words} and {left}: {right}")]


def suggest_cut_keys(
    program: Program, text: SourceText, call: ast.Call, misloaded: Misloaded
) -> Iterator[Fix]:
    """Suggest the number of characters that are in front of the names of the model."""
    cut, off = _find_cut(text, call), _count_characters(misloaded)
    if cut is None or not off or cut[1] + off < 1:
        return
    node, count = cut
    assert isinstance(node.slice, ast.Slice)
    assert node.slice.lower is not None
    new = f"{text.written(node.value)}[{count + off}:]"
    edit = Edit(text.span(node.slice.lower), f"{count + off}")
    yield Fix("fits", f"`{new}`", (edit,))


def _count_characters(misloaded: Misloaded) -> int:
    """Return how many characters more, or less, are to be cut of all keys."""
    theirs, ours = prefix_of(misloaded)
    return len(theirs) or -len(ours)


def _find_cut(text: SourceText, call: ast.Call) -> tuple[ast.Subscript, int] | None:
    """Return the only slice of keys in the function that loads a state, or else in the
    file, and how many characters it cuts.
    """
    scope = text.around(call, *FUNCTIONS) or text.tree
    for part in (scope, text.tree):
        cuts = list(_iter_cuts(text, part)) if part is not None else []
        if len(cuts) == 1:
            return cuts[0]
        if cuts:
            return None
    return None


def _iter_cuts(text: SourceText, scope: ast.AST) -> Iterator[tuple[ast.Subscript, int]]:
    """Yield the slices `key[8:]` of what loops over the keys of a dict."""
    for node in ast.walk(scope):
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
            continue
        sides = node.slice
        count = evaluate_whole_number(sides.lower) if sides.lower is not None else None
        if count is None or count < 1 or sides.upper or sides.step:
            continue
        if isinstance(node.value, ast.Name) and _is_key(text, node, node.value.id):
            yield node, count


def _is_key(text: SourceText, node: ast.AST, name: str) -> bool:
    """Return whether a name is the key that a loop around a node, or a comprehension,
    takes of a dict.
    """
    for outer in text.outwards(node):
        loops: list[ast.For | ast.comprehension] = []
        if isinstance(outer, ast.For):
            loops = [outer]
        elif isinstance(outer, ast.DictComp):
            loops = [*outer.generators]
        for loop in loops:
            target = loop.target
            if isinstance(target, ast.Tuple) and target.elts:
                target = target.elts[0]
            is_dict = get_called_name(loop.iter) in ("items", "keys")
            if name in collect_names(target) and is_dict:
                return True
    return False
