"""Edits of patterns of einops that were accepted, and of equations of einsum that were
not, with dims in another order.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import combinations
from math import prod
from string import ascii_lowercase

from shapewright.analysis.einops_errors import BATCH, build_call
from shapewright.analysis.explanations import find_sides
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import EINSUM_SIZES
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact, Op

PART = re.compile(r"\([^)]*\)|\S+")
"""A dim of a pattern, with all its letters."""


def suggest_pattern_orders(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the pattern of a `rearrange` with two dims of its left side exchanged,
    where its result then has the size that the failing call needs.

    After `b n (h d) -> b h n d`, `b n h d -> b n (h d)` joins the positions with the
    features of a head; `b h n d -> b n (h d)` joins the heads.
    """
    unmet = failure.unmet
    wanted, got = find_sides(failure)
    if unmet is None or got is None:
        return
    inputs = program.trace.ops[failure.op].inputs
    needs = unmet.needs
    if wanted is not None:
        needs = inputs[wanted[0]].shape[wanted[1]]
    fact = inputs[got[0]]
    maker = program.producers.get(fact.tensor)
    text_and_call = program.call_at(maker.span) if maker is not None else None
    if maker is None or text_and_call is None:
        return
    text, node = text_and_call
    if get_called_name(node) != "rearrange":
        return
    shape = _find_source(program, maker).shape
    call = build_call(text, node, 1, shape, "")
    if call is None or len(call.left) != len(shape):
        return
    left, _, right = call.pattern.partition("->")
    parts = PART.findall(left)
    if len(parts) != len(shape):
        return
    quote = text.written(call.place)[0]
    for first, second in combinations(range(len(parts)), 2):
        order = list(parts)
        order[first], order[second] = order[second], order[first]
        if parts[first].lower() in BATCH and first == 0:
            continue
        sizes = _compute_sizes(" ".join(order), right, shape, call.sizes)
        if len(sizes) == len(fact.shape) and sizes[got[1]] == needs:
            new = f"{' '.join(order)} ->{right}"
            edit = Edit(text.span(call.place), f"{quote}{new}{quote}")
            yield Fix("fits", f"`{new}`", (edit,))


def _find_source(program: Program, maker: Op) -> Fact:
    """Return the tensor that a call of einops was given, from the last of its ops."""
    fact = maker.inputs[0]
    while True:
        before = program.producers.get(fact.tensor)
        if before is None or before.span != maker.span or not before.inputs:
            return fact
        fact = before.inputs[0]


def _compute_sizes(
    left: str, right: str, shape: tuple[int, ...], sizes: dict[str, int]
) -> list[int]:
    """Return the shape after a pattern; an empty list if it does not fit."""
    known = dict(sizes)
    for part, size in zip(PART.findall(left), shape, strict=True):
        letters = part.strip("()").split()
        unknown = [letter for letter in letters if letter not in known]
        rest = prod(known[letter] for letter in letters if letter in known)
        if len(unknown) > 1 or not rest or size % rest:
            return []
        if unknown:
            known[unknown[0]] = size // rest
        elif rest != size:
            return []
    groups = [part.strip("()").split() for part in PART.findall(right)]
    if any(letter not in known for group in groups for letter in group):
        return []
    return [prod(known[letter] for letter in group) for group in groups]


def suggest_einsum_letters(text: SourceText, call: ast.Call, op: Op) -> Iterator[Fix]:
    """Suggest an einsum equation with its letters in another order."""
    first = call.args[0] if call.args else None
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return
    left, arrow, right = first.value.partition("->")
    terms = [term.strip() for term in left.split(",")]
    if len(terms) != len(op.inputs) or not all(term.isalpha() for term in terms):
        return
    longest = max(map(len, terms))
    for first_place in range(longest):
        for second_place in range(first_place + 1, longest):
            turned = [
                _exchange_letters(term, first_place, second_place) for term in terms
            ]
            for new in (turned, *_iter_single_turns(terms, turned)):
                if new != terms and _has_fitting_letters(new, op):
                    equation = ",".join(new) + arrow + right
                    quote = text.written(first)[0]
                    edit = Edit(text.span(first), f"{quote}{equation}{quote}")
                    yield Fix("fits", f"`{equation}`", (edit,))


def _exchange_letters(term: str, first_place: int, second_place: int) -> str:
    """Return an einsum term with two of its letters exchanged."""
    if second_place >= len(term):
        return term
    row = list(term)
    row[first_place], row[second_place] = row[second_place], row[first_place]
    return "".join(row)


def _iter_single_turns(terms: list[str], turned: list[str]) -> Iterator[list[str]]:
    """Yield the list of terms with exactly one term replaced by its counterpart in
    `turned`.
    """
    for n, new in enumerate(turned):
        yield [*terms[:n], new, *terms[n + 1 :]]


def _has_fitting_letters(terms: list[str], op: Op) -> bool:
    """Return whether every letter has a single size, or 1, wherever it occurs."""
    sizes: dict[str, int] = {}
    for term, fact in zip(terms, op.inputs, strict=True):
        for letter, size in zip(term, fact.shape, strict=False):
            if sizes.setdefault(letter, size) not in (size, 1) and size != 1:
                return False
    return True


def suggest_second_letter(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `"bi,kij,bj->bk"` for `"bi,kii,bi->bk"`, where the two dims of a term
    that have one letter have two sizes, and other terms have each of them.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    place = program.call_at(op.span)
    if unmet is None or unmet.code != EINSUM_SIZES or place is None:
        return
    text, call = place
    literals = [
        part
        for part in call.args
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    if len(literals) != 1:
        return
    written = str(literals[0].value)
    left, arrow, right = written.replace(" ", "").partition("->")
    terms = left.split(",")
    shapes = [fact.shape for fact in op.inputs]
    if not arrow or "." in left or [*map(len, terms)] != [*map(len, shapes)]:
        return
    new = _write_second_letter(terms, shapes, right)
    if new:
        quote = text.written(literals[0])[-1]
        equation = f"{quote}{','.join(new)}->{right}{quote}"
        yield Fix("fits", f"`{equation}`", (Edit(text.span(literals[0]), equation),))


def _write_second_letter(
    terms: list[str], shapes: list[tuple[int, ...]], right: str
) -> list[str]:
    """Return the terms with a new letter for the second of two dims of one letter, and
    for the dims of that size in other terms; no terms where this is unclear.
    """
    for at, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        for letter in dict.fromkeys(term):
            places = [dim for dim, own in enumerate(term) if own == letter]
            if len(places) != 2 or letter in right:
                continue
            first, second = (shape[dim] for dim in places)
            others = [
                (other, dim, shapes[other][dim])
                for other, letters in enumerate(terms)
                for dim, own in enumerate(letters)
                if own == letter and other != at
            ]
            if first == second or {size for *_, size in others} != {first, second}:
                continue
            new = next(
                (c for c in LETTERS if c > letter and c not in "".join(terms)), ""
            )
            changed = [list(letters) for letters in terms]
            changed[at][places[1]] = new
            for other, dim, size in others:
                if size == second:
                    changed[other][dim] = new
            return ["".join(letters) for letters in changed] if new else []
    return []


LETTERS = ascii_lowercase
