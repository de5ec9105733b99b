"""Edits for margins that no value of the model reaches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.idle_hinges import (
    LARGEST_COSINE,
    find_margin_class,
    iter_constructions,
)
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

SIDES = re.compile("pos(?=itive|_|$)|neg(?=ative|_|$)")
EMBEDDING = frozenset({"CosineEmbeddingLoss", "cosine_embedding_loss"})


def suggest_other_margins(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the margins of positive and negative pairs exchanged, and a margin of 0
    for a loss of cosines.
    """
    if "train nothing with this margin" in finding.message:
        yield from _suggest_no_margin(program)
    if "whatever the model gives" not in finding.message:
        return
    margin, owner = find_margin_class(text, node)
    other = _name_other_side(margin)
    if owner is None or other == margin:
        return
    defaults = _list_defaults(owner)
    if not {margin, other} <= set(defaults):
        return
    values = {name: text.written(defaults[name]) for name in (margin, other)}
    for place, call in iter_constructions(program, owner):
        words = {word.arg: word.value for word in call.keywords}
        if call.args or None in words:
            continue
        values |= {name: place.written(words[name]) for name in values if name in words}
        first, second = sorted((margin, other), key=list(defaults).index)
        exchanged = {first: values[second], second: values[first]}
        added = ", ".join(
            f"{name}={value}" for name, value in exchanged.items() if name not in words
        )
        edits = [
            Edit(place.span(words[name]), value)
            for name, value in exchanged.items()
            if name in words
        ]
        if added:
            callee = place.written(call.func)
            rest = place.written(call).removeprefix(callee).removeprefix("(")
            comma = ", " if call.keywords else ""
            span = place.span(call)
            edits = [Edit(span, f"{callee}({added}{comma}{rest}")] if not edits else []
        shown = ", ".join(f"{name}={value}" for name, value in exchanged.items())
        if edits:
            yield Fix("fits", f"`{shown}`", tuple(edits))


def _name_other_side(name: str) -> str:
    """Return `neg_margin` of `pos_margin`, and the other way round."""
    ends = {"pos": "neg", "neg": "pos"}
    parts = SIDES.sub(lambda match: ends[match.group()], name)
    return parts.replace("negitive", "negative").replace("posative", "positive")


def _list_defaults(owner: ast.ClassDef) -> dict[str, ast.expr]:
    """Return the defaults of the parameters of a constructor, by their names."""
    defaults: dict[str, ast.expr] = {}
    for method in owner.body:
        if isinstance(method, FUNCTIONS) and method.name == "__init__":
            names = [argument.arg for argument in method.args.args]
            values = method.args.defaults
            defaults |= zip(names[len(names) - len(values) :], values, strict=True)
            for argument, value in zip(
                method.args.kwonlyargs, method.args.kw_defaults, strict=True
            ):
                if value is not None:
                    defaults[argument.arg] = value
    return defaults


def _suggest_no_margin(program: Program) -> Iterator[Fix]:
    """Suggest a margin of 0 where a cosine embedding loss has one of 1 or more."""
    for text in program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Call) or get_called_name(node) not in EMBEDDING:
                continue
            for word in node.keywords:
                number = word.value
                if word.arg != "margin" or not isinstance(number, ast.Constant):
                    continue
                if isinstance(number.value, int | float) and (
                    number.value >= LARGEST_COSINE
                ):
                    yield Fix("fits", "`margin=0.0`", (Edit(text.span(number), "0.0"),))
