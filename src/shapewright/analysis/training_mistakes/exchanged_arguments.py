"""Find two arguments of a function of the program that stand at each other's places, by
their names: `update(mems, mlen, qlen)` for `def update(mems, qlen, mlen)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shapewright.analysis.training_mistakes.context import build_finding
from shapewright.findings.codes import MISPLACED_ARGUMENT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    is_starred,
    list_parameters,
)

SHORTEST = 3
"""Letters of a name that says what it is; `x` and `y` may change places."""
SIDES = ({"h", "w"}, {"t", "b"}, {"c", "h"}, {"c", "w"})
"""Single letters that say it, too."""


def find_exchanged_arguments(texts: Sequence[SourceText]) -> Iterator[Finding]:
    """Find calls whose two positional arguments have the names of each other's
    parameter, where no call in the same function has them in order.
    """
    for text in texts:
        for call in text.nodes:
            pair = _find_pair(texts, text, call) if isinstance(call, ast.Call) else None
            if pair is None:
                continue
            first, second = pair
            name = get_called_name(call)
            yield build_finding(
                MISPLACED_ARGUMENT,
                f"`{name}` takes `{first.id}` for its `{second.id}`, and `{second.id}`"
                f" for its `{first.id}`: the two arguments are exchanged",
                text.span(first),
                (text.span(second), f"`{second.id}` is given here"),
            )


def _find_pair(
    texts: Sequence[SourceText], text: SourceText, call: ast.Call
) -> tuple[ast.Name, ast.Name] | None:
    """Return the two arguments of a call that stand at each other's places."""
    name = get_called_name(call)
    if not name or is_starred(call) or len(call.args) < len(("first", "second")):
        return None
    functions = [
        function
        for where in texts
        for path, function in where.functions(name)
        if "<locals>" not in path
    ]
    if len(functions) != 1 or call in ast.walk(functions[0]):
        return None
    parameters = [part for part in list_parameters(functions[0]) if part != "self"]
    words = [part.id if isinstance(part, ast.Name) else "" for part in call.args]
    for at, word in enumerate(words[: len(parameters)]):
        other = parameters[at]
        place = words.index(other) if other in words else -1
        if word == other or place <= at or place >= len(parameters):
            continue
        if parameters[place] != word or not _has_meaning(word, other):
            continue
        first, second = call.args[at], call.args[place]
        assert isinstance(first, ast.Name)
        assert isinstance(second, ast.Name)
        if not _is_also_in_order(text, call, (word, other)):
            return first, second
    return None


def _has_meaning(word: str, other: str) -> bool:
    """Return whether two names say what they are."""
    return {word, other} in SIDES or min(len(word), len(other)) >= SHORTEST


def _is_also_in_order(text: SourceText, call: ast.Call, names: tuple[str, str]) -> bool:
    """Return whether another call of a function near a call has the same two names, as
    in a loss of both directions.
    """
    around = text.around(call, *FUNCTIONS, ast.Module)
    return any(
        isinstance(other, ast.Call)
        and other is not call
        and get_called_name(other) == get_called_name(call)
        and {*names} <= {a.id for a in other.args if isinstance(a, ast.Name)}
        for other in (ast.walk(around) if around is not None else ())
    )
