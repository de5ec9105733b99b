"""Two arguments of a constructor that stand at each other's places, by their names:
`TransE(len(relations), len(entities))` for `__init__(self, n_entities, n_relations)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_name,
    is_starred,
    list_parameters,
)

COUNTING = frozenset({"n", "num", "nb", "no", "size", "dim", "dims", "len", "count"})
"""Words that say of a name only that it is a number."""
SHORTEST = 3
"""Letters of a word that names something."""


def suggest_exchanged_arguments(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the two arguments in the order of the parameters that have their names,
    where a model of the program fails.
    """
    own = {
        name.split(".")[-2]: list_parameters(node)[1:]
        for text in program.own_texts()
        for name, node in text.functions("__init__")
        if "." in name
    }
    for text in program.own_texts():
        for call in text.nodes:
            if not isinstance(call, ast.Call) or is_starred(call):
                continue
            names = own.get(get_called_name(call), [])
            if len(names) >= len(call.args) > 1:
                yield from _iter_exchanged(text, call, names)


def _iter_exchanged(
    text: SourceText, call: ast.Call, names: list[str]
) -> Iterator[Fix]:
    """Yield the edits of pairs of arguments that have each other's names."""
    words = [_list_words(_get_name(argument)) for argument in call.args]
    meant = [_list_words(name) for name in names]
    for at, first in enumerate(call.args):
        for by in range(at + 1, len(call.args)):
            crossed = _is_alike(words[at], meant[by]) and _is_alike(
                words[by], meant[at]
            )
            fitting = _is_alike(words[at], meant[at]) or _is_alike(words[by], meant[by])
            if not crossed or fitting:
                continue
            second = call.args[by]
            former, other = text.written(first), text.written(second)
            edits = (Edit(text.span(first), other), Edit(text.span(second), former))
            shown = [text.written(argument) for argument in call.args]
            shown[at], shown[by] = other, former
            new = f"{text.written(call.func)}({', '.join(shown)})"
            yield Fix("fits", f"`{join_lines(new)}`", edits)


def _get_name(node: ast.expr) -> str:
    """Return the name of an argument, that of what is counted for `len(relations)`."""
    if get_called_name(node) == "len" and isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return get_last_name(node)


def _list_words(name: str) -> list[str]:
    """Return the words of a name that say what it is of."""
    return [
        word
        for word in name.lower().split("_")
        if word not in COUNTING and len(word) >= SHORTEST
    ]


def _is_alike(words: list[str], others: list[str]) -> bool:
    """Return whether two names have the same words, but for their endings."""
    if not words or len(words) != len(others):
        return False
    return all(
        word.rstrip("s") == other.rstrip("s")
        for word, other in zip(words, others, strict=True)
    )
