"""Find two results that are stored under each other's names: `losses["real"] =
loss_fake` beside `losses["fake"] = loss_real`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.additions import strip_conversions
from shapewright.analysis.training_mistakes.context import build_finding
from shapewright.findings.codes import MISPLACED_ARGUMENT
from shapewright.findings.finding import Finding
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_dotted_name,
    get_last_name,
)

OPPOSITES = (
    ({"real"}, {"fake"}),
    ({"train", "training"}, {"val", "valid", "validation", "test", "eval", "dev"}),
    ({"pos", "positive"}, {"neg", "negative"}),
    ({"loss"}, {"acc", "accuracy"}),
    ({"precision", "prec"}, {"recall", "rec"}),
    ({"g", "gen", "generator"}, {"d", "dis", "disc", "discriminator"}),
)
"""Words of which a name has one or the other."""
MEASURES = re.compile(
    r"loss(es)?|err(or)?s?|acc(uracy)?|auc|f1|precision|recall|metric"
)
"""Words of names of results that are shown, of which one at least must be there."""
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
LOGGING = frozenset({"add_scalar", "log", "log_metric"})
"""Methods that store a number under the name before it."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """A result under a name: where it is stored, the name, its expression."""

    sink: str
    name: str
    value: ast.expr


def find_exchanged_names(text: SourceText) -> Iterator[Finding]:
    """Yield findings for pairs of results under each other's names."""
    for first, second in iter_exchanged(text):
        names = [text.line_of(stored) for stored in (first[1], second[1])]
        yield build_finding(
            MISPLACED_ARGUMENT,
            f"`{names[0]}` is stored as `{first[0]}`, and `{names[1]}` as"
            f" `{second[0]}`: by their names they stand at the place of each other",
            text.span(first[1]),
            (text.span(second[1]), f"this is stored as `{second[0]}`"),
        )


def iter_exchanged(
    text: SourceText,
) -> Iterator[tuple[tuple[str, ast.expr], tuple[str, ast.expr]]]:
    """Yield pairs of results, each with the name that it is stored under, which is that
    of the other.
    """
    by_sink: dict[tuple[ast.AST | None, str], list[_Stored]] = {}
    for stored in _iter_stored(text):
        function = text.around(stored.value, *FUNCTIONS)
        by_sink.setdefault((function, stored.sink), []).append(stored)
    for group in by_sink.values():
        for at, first in enumerate(group):
            crossed = [
                second for second in group[at + 1 :] if _is_crossed(first, second)
            ]
            if len(crossed) != 1 or _has_own_place(group, first, crossed[0]):
                continue
            pair = first, crossed[0]
            if not any(_is_named_otherwise(text, stored) for stored in pair):
                yield (first.name, first.value), (crossed[0].name, crossed[0].value)


def _iter_stored(text: SourceText) -> Iterator[_Stored]:
    """Yield the results that a text stores under names, in its order."""
    for node in text.nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                key = _get_key(target)
                if key and isinstance(target, ast.Subscript):
                    yield _Stored(ast.unparse(target.value), key, node.value)
        elif isinstance(node, ast.Dict):
            for name, value in zip(node.keys, node.values, strict=True):
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    yield _Stored(f"dict {id(node)}", name.value, value)
        elif isinstance(node, ast.Call):
            yield from _iter_given(node)


def _iter_given(call: ast.Call) -> Iterator[_Stored]:
    """Yield the results that a call stores: by `history["name"].append(x)`, by
    `add_scalar("name", x)`, by `dict(name=x)`.
    """
    owner, first = get_receiver(call), call.args[0] if call.args else None
    name = get_called_name(call)
    if name == "append" and owner is not None and first is not None:
        key = _get_key(owner) or get_last_name(owner)
        sink = owner.value if isinstance(owner, ast.Subscript) else None
        yield _Stored(f"append {ast.unparse(sink) if sink else ''}", key, first)
    elif name in LOGGING and len(call.args) > 1 and isinstance(first, ast.Constant):
        sink_name = ast.unparse(call.func)
        yield _Stored(sink_name, str(first.value), call.args[1])
    elif name in ("dict", "update") and call.keywords:
        for word in call.keywords:
            yield _Stored(f"call {id(call)}", word.arg or "", word.value)


def _get_key(node: ast.expr) -> str:
    """Return `name` of `x["name"]`, or an empty string."""
    key = node.slice if isinstance(node, ast.Subscript) else None
    is_text = isinstance(key, ast.Constant) and isinstance(key.value, str)
    return str(key.value) if is_text and isinstance(key, ast.Constant) else ""


def _list_words(name: str) -> list[str]:
    """Return the words of a name in small letters: `loss`, `d` of `lossD`."""
    return [word.lower() for word in WORD.findall(name)]


def _get_name(value: ast.expr) -> str:
    """Return the name of a result: `loss` of `loss.item()`, or an empty string."""
    plain = strip_conversions(value)
    if isinstance(plain, ast.Call) and get_called_name(plain) in ("mean", "round"):
        owner = get_receiver(plain)
        plain = plain.args[0] if plain.args else owner if owner is not None else plain
    return get_last_name(plain) if get_dotted_name(plain) else ""


def _is_crossed(first: _Stored, second: _Stored) -> bool:
    """Return whether the name of each result has the word of the other's place, and
    apart from that word they are alike.
    """
    places = _list_words(first.name), _list_words(second.name)
    values = _list_words(_get_name(first.value)), _list_words(_get_name(second.value))
    if not any(MEASURES.fullmatch(word) for row in values for word in row):
        return False
    for pair in OPPOSITES:
        sides = [[_find_side(row, pair) for row in rows] for rows in (places, values)]
        if sides[0] != sides[1][::-1] or sorted(sides[0]) != [0, 1]:
            continue
        rests = [
            [word for word in row if word not in pair[0] | pair[1]]
            for row in (*places, *values)
        ]
        return rests[0] == rests[1] and rests[2] == rests[3]
    return False


def _find_side(words: list[str], pair: tuple[set[str], set[str]]) -> int:
    """Return of which side of a pair a name has a word: 0 or 1; -1 for both or none."""
    has = [bool(side & set(words)) for side in pair]
    return has.index(True) if has.count(True) == 1 else -1


def _has_own_place(group: list[_Stored], *pair: _Stored) -> bool:
    """Return whether one of two results is stored elsewhere beside them, too."""
    written = [ast.unparse(strip_conversions(stored.value)) for stored in pair]
    return any(
        ast.unparse(strip_conversions(stored.value)) in written
        for stored in group
        if stored not in pair
    )


def _is_named_otherwise(text: SourceText, stored: _Stored) -> bool:
    """Return whether a result is computed of what has the word of its place, and not
    that of its own name.
    """
    plain = strip_conversions(stored.value)
    value = find_last_value(text, plain, stored.value.lineno)
    own = _list_words(_get_name(stored.value))
    place = _list_words(stored.name)
    words = [
        word
        for name in (collect_names(value) if value is not None else ())
        for word in _list_words(name)
    ]
    for pair in OPPOSITES:
        sides = [_find_side(row, pair) for row in (own, place, words)]
        if sides[0] != sides[1] and -1 not in sides[:2]:
            return sides[2] == sides[1]
    return False
