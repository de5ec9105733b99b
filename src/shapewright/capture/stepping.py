"""Places of the program that took one element or row of a tensor after the other.

All that a run pays for the finding `python-loop` where there is no such loop: one look
at each event when the run is over.
"""

from __future__ import annotations

from typing import Any

import torch

from shapewright.capture.folding import Fold
from shapewright.source.span import Span

GETITEM = torch.Tensor.__getitem__
SETITEM = torch.Tensor.__setitem__
UNBIND = torch.Tensor.unbind
INDEXING = frozenset({GETITEM, SETITEM, UNBIND, torch.unbind})

AT_LEAST = 8
"""Different places that one expression reached. Fewer steps than that cost less than
the attention that a note asks for, and small examples are often written out."""


def stepped(events: list[tuple[Any, ...]], fold: Fold) -> tuple[Span, ...]:
    """The expressions that reached at least `AT_LEAST` different places of tensors."""
    indexed = [event for event in events if event[0].func in INDEXING]
    if len(indexed) < AT_LEAST and all(len(e[2]) < AT_LEAST for e in indexed):
        return ()
    reached: dict[tuple[int, int], set[Any]] = {}
    found: dict[tuple[int, int], Span] = {}
    for answer, _, outs, site, number in indexed:
        if not site:
            continue
        place = (id(site[0][0]), site[0][1])
        if place in found:
            continue
        where = whole_numbers(answer)
        if where:
            places = reached.setdefault(place, set())
            places.add(where)
            many = len(places) >= AT_LEAST
        else:
            many = answer.func is UNBIND and len(outs) >= AT_LEAST
        if many:
            span, _ = fold.place(site, number)
            if span is not None:
                found[place] = span
    return tuple(found.values())


def whole_numbers(answer: Any) -> tuple[tuple[int, int], ...]:
    """The numbers among the indices of `x[...]`, with where they stand."""
    given = answer.arguments[0]
    if answer.func is UNBIND or len(given) < 2:
        return ()
    items = given[1] if type(given[1]) is tuple else (given[1],)
    return tuple([(n, item) for n, item in enumerate(items) if type(item) is int])
