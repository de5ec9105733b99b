"""`(T, 1)` with `(T,)` in a loss, where the two lengths come from different places.

Log probabilities are stacked, returns are made of a list: that both count the same
steps shows in no axis. It shows in a loss that is made of their pairs alone, where each
time that the line runs both are new and as long as each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shapewright.reasoning.hazards.pointwise import LOSSES
from shapewright.source.span import Span
from shapewright.trace.fact import Fact
from shapewright.trace.op import Op

PAIRING = frozenset(
    "- + * / sub add mul div rsub subtract multiply divide true_divide".split()
)
"""Pointwise calls of which losses are made."""

ALONG = frozenset(
    "neg negative abs pow ** square exp log sqrt clamp clip minimum maximum min max "
    "to float double half detach clone contiguous type nan_to_num where sum mean "
    "nansum nanmean += -= *= /= add_ sub_ mul_ div_ stack cat".split()
)
"""What else stands between pairs and the loss that is made of them."""

COLUMNS = frozenset({"stack", "cat", "linear", "gather", "take_along_dim"})
"""What makes a column of its own accord: one thing for each step."""

FRESH = frozenset(
    "tensor as_tensor from_numpy Tensor FloatTensor stack cat zeros empty zeros_like "
    "empty_like new_tensor".split()
)
"""What makes a tensor of a list of what came, step by step."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A call that pairs samples: which input is the column, who made it, what follows.

    `origin` made the other, `backward` is the backward pass of the loss.
    """

    op: Op
    longer: int
    maker: Op
    origin: Op
    backward: Op | None = None


def paired_in_losses(ops: Sequence[Op], producers: Mapping[int, Op]) -> Iterator[Pair]:
    """Pairs of a trained column and fresh data of the same length, in a loss."""
    if not any(short(op) == "backward" for op in ops):
        return
    found: dict[Span, list[Pair]] = {}
    refused: set[Span] = set()
    inside: dict[int, set[Span]] = {}  # what is made of pairs alone
    reached: dict[Span, Op] = {}
    for op in ops:
        name = short(op)
        if name == "backward":
            for fact in op.inputs:
                for span in inside.get(fact.tensor, ()):
                    reached.setdefault(span, op)
            continue
        own = set[Span]()
        if name in ALONG or name in PAIRING or name in LOSSES:
            own.update(*(inside.get(fact.tensor, ()) for fact in op.inputs))
        if (name in PAIRING or name in LOSSES) and op.span is not None:
            faced = faces(op)
            pair = pair_of(op, faced, producers) if faced is not None else None
            if pair is not None:
                found.setdefault(op.span, []).append(pair)
                own.add(op.span)
            elif faced is not None:
                refused.add(op.span)
        for out in op.outputs if own else ():
            if out.requires_grad:
                inside[out.tensor] = own
    for span, pairs in found.items():
        origins = {pair.origin.index for pair in pairs}
        again = len(pairs) > 1 and len(origins) == len(pairs)
        if again and span in reached and span not in refused:
            first = pairs[0]
            yield Pair(first.op, first.longer, first.maker, first.origin, reached[span])


def short(op: Op) -> str:
    """The last part of a call's name."""
    return op.name.rpartition(".")[2]


def faces(op: Op) -> int | None:
    """Which of two inputs is a column that faces a row: `(S, 1)` with `(T,)`."""
    for at, fact in enumerate(op.inputs[:2] if len(op.inputs) > 1 else ()):
        shape, other = fact.shape, op.inputs[1 - at].shape
        if len(shape) == 2 and shape[1] == 1 and len(other) == 1 and other[0] > 1:
            return at
    return None


def pair_of(op: Op, longer: int, producers: Mapping[int, Op]) -> Pair | None:
    """The pair, where a trained column meets fresh data of the same length."""
    column, row = op.inputs[longer], op.inputs[1 - longer]
    if column.shape[0] != row.shape[0] or not column.requires_grad or row.requires_grad:
        return None
    maker = made(column, producers)
    origin = made(row, producers)
    if maker is None or origin is None or short(origin) not in FRESH:
        return None
    is_column = short(maker) in COLUMNS
    is_column |= short(maker) == "sum" and bool(dict(maker.arguments).get("keepdim"))
    return Pair(op, longer, maker, origin) if is_column else None


def made(fact: Fact, producers: Mapping[int, Op]) -> Op | None:
    """The call that made a tensor's shape: back through those that keep it."""
    before: int | None = None
    while (op := producers.get(fact.tensor)) is not None:
        if before is not None and op.index >= before:
            return None  # written again since
        before = op.index
        alike = [each for each in op.inputs if each.shape == fact.shape]
        keeps = short(op) in PAIRING or short(op) in ALONG - {"stack", "cat"}
        flattened = short(op) in ("squeeze", "flatten", "view", "reshape")
        if flattened and len(fact.shape) == 1 and op.inputs:
            alike, keeps = [op.inputs[0]], True
        if not keeps or not alike or alike[0].tensor == fact.tensor:
            return op
        fact = alike[0]
    return None
