"""Work out where masks of triangles and ranges are true, and find causal masks that
show the next token to a model that has to predict it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import MASK_AXIS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with, values_of
from shapewright.record.ops import Fact, Op

Side = Literal["past", "future"]
FILLED = values_of("fills_with")
TRIANGLES = operators_with("keeps_triangle")
SHOWN = operators_with("shows_range")
ONWARD = operators_with("leads_to_softmax")
PLAIN = operators_with("keeps_mask")
TURNS = operators_with("transposes_dims") | {"T", "mT"}
FILLS = frozenset({"masked_fill", "masked_fill_"})
INVERTING = frozenset({"~", "logical_not", "bitwise_not"})
SUMS = frozenset({"+", "add", "+=", "add_"})
CLASSES = frozenset({"cross_entropy", "nll_loss"})
HIDES = -1e3
"""A number from which on a masked score counts for nothing in a softmax."""


@dataclass(frozen=True, slots=True)
class _TrueOffsets:
    """Where a mask of queries and keys is true, as `key - query`: up to `last` on the
    side of the past, from `last` on on that of the future. `triangle` made it.
    """

    side: Side
    last: int
    triangle: Op

    def invert(self) -> _TrueOffsets:
        """Return where the mask is false."""
        if self.side == "past":
            return _TrueOffsets("future", self.last + 1, self.triangle)
        return _TrueOffsets("past", self.last - 1, self.triangle)

    def turn(self) -> _TrueOffsets:
        """Return where the transposed mask is true."""
        side: Side = "future" if self.side == "past" else "past"
        return _TrueOffsets(side, -self.last, self.triangle)


def find_true_side(scene: HazardContext, fact: Fact) -> Side | None:
    """Return the side of the diagonal on which a mask is true, or None."""
    offsets = find_true_offsets(scene, fact)
    return offsets.side if offsets is not None else None


def find_true_offsets(scene: HazardContext, fact: Fact) -> _TrueOffsets | None:
    """Return where a mask of a triangle or of two ranges is true, or None.

    A mask is rows of queries and columns of keys; `torch.tril` keeps the past.
    """
    steps: list[str] = []
    offsets = None
    for _ in range(10):
        call = scene.maker(fact)
        if call is None or not call.op.inputs:
            return None
        name, first = call.name, call.op.inputs[0]
        if name in TRIANGLES:
            offsets = _find_triangle(scene, call) if is_ones(scene, first) else None
            break
        if name in ("<", "<=", ">", ">=", "lt", "le", "gt", "ge"):
            offsets = _find_comparison(scene, call)
            break
        if name in ("==", "eq", "!=", "ne"):
            number = call.given(1)
            if number not in (0, 1) or len(call.op.inputs) > 1:
                return None
            if (number == 0) == (name in ("==", "eq")):
                steps.append("invert")
        elif name in ("~", "logical_not", "bitwise_not", "invert"):
            steps.append("invert")
        elif name in TURNS and fact.ndim == 2:
            steps.append("turn")
        elif name == "[]":
            if first.shape[-2:] != fact.shape[-2:] and not _is_corner(call):
                return None
        elif name not in PLAIN:
            return None
        fact = first
    for step in reversed(steps if offsets is not None else ()):
        assert offsets is not None
        offsets = offsets.invert() if step == "invert" else offsets.turn()
    return offsets


def _find_triangle(scene: HazardContext, call: OperatorCall) -> _TrueOffsets | None:
    """Return where a triangle of ones is true."""
    diagonal = call.given(1, "diagonal", default=0)
    if not isinstance(diagonal, int):
        return None
    side: Side = "past" if call.name.startswith("tril") else "future"
    return _TrueOffsets(side, diagonal, call.op)


def _is_corner(call: OperatorCall) -> bool:
    """Return whether an index takes the front of two dims, as in `mask[:T, :T]`."""
    items = call.given(1)
    items = items if isinstance(items, tuple) else (items,)
    cuts = [
        item for item in items if isinstance(item, str) and item not in (":", "...")
    ]
    return all(item.startswith(":") for item in cuts) and len(cuts) == 2


def is_ones(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor is all ones, as `tril` and `triu` need for a mask."""
    maker = scene.program.producers.get(fact.tensor)
    if maker is None:
        return False
    name = maker.name.rpartition(".")[2]
    if FILLED.get(name) == 1:
        return True
    if name == "full":
        value = _get_full_value(maker)
        return value is True or value == 1
    return name in PLAIN and bool(maker.inputs) and is_ones(scene, maker.inputs[0])


def _get_full_value(maker: Op) -> object:
    """Return the number with which `torch.full` fills a tensor."""
    return dict(maker.arguments).get("1", dict(maker.arguments).get("fill_value"))


def _find_comparison(scene: HazardContext, call: OperatorCall) -> _TrueOffsets | None:
    """Return where a comparison of two ranges, `i[:, None] >= j[None, :]`, is true."""
    if len(call.op.inputs) != 2:
        return None
    left, right = call.op.inputs
    if not all(is_range(scene, fact) for fact in (left, right)):
        return None
    rows = [len(f.shape) > 1 and f.shape[-1] == 1 for f in (left, right)]
    if rows[0] == rows[1]:
        return None
    less = call.name in ("<", "<=", "lt", "le")
    strict = call.name in ("<", ">", "lt", "gt")
    # The query's number stands in the rows: key <= query is the past.
    if less == rows[0]:
        return _TrueOffsets("future", int(strict), call.op)
    return _TrueOffsets("past", -int(strict), call.op)


def is_range(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor is the result of `arange`, possibly with other dims."""
    for _ in range(4):
        maker = scene.program.producers.get(fact.tensor)
        if maker is None:
            return False
        name = maker.name.rpartition(".")[2]
        if name == "arange":
            return True
        if name not in SHOWN or not maker.inputs:
            return False
        fact = maker.inputs[0]
    return False


def find_softmax(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the softmax that scores reach, possibly through masks and scales, or
    None.
    """
    for _ in range(4):
        users = scene.users.get(fact.tensor, [])
        for user in users:
            if user.name in ("softmax", "_softmax"):
                return user
        onward = [user for user in users if user.name in ONWARD]
        if not onward or not onward[0].op.outputs:
            return None
        fact = onward[0].op.outputs[0]
    return None


def find_shown_targets(scene: HazardContext) -> Iterator[Finding]:
    """Find causal masks that end one key too late, in a model of next tokens."""
    seen: set[object] = set()
    for call in scene.calls:
        mask, hidden = _find_hidden(scene, call)
        if mask is None or hidden is None:
            continue
        if hidden.side != "future" or hidden.last != 2:
            continue
        op, sizes = hidden.triangle, mask.shape[-2:]
        if op.span is None or op.span in seen or len(set(sizes)) != 1 or sizes[0] < 3:
            continue
        loss = _find_token_loss(scene, sizes[0])
        if loss is None:
            continue
        seen.add(op.span)
        message = (
            "the mask shows each query the key after it: the next token, which"
            f" {scene.operation(loss.op)} asks this model to predict"
        )
        yield scene.finding(
            MASK_AXIS,
            op,
            message,
            (call.op, "the mask hides keys here, from the second after the query on"),
            (loss.op, "each place is compared with a token here"),
        )


def find_hidden_queries(scene: HazardContext) -> Iterator[Finding]:
    """Find causal masks that hide the query itself, and so every key of the first."""
    seen: set[object] = set()
    for call in scene.calls:
        mask, hidden = _find_hidden(scene, call)
        if mask is None or hidden is None:
            continue
        if hidden.side != "future" or hidden.last > 0 or not _is_infinite_fill(call):
            continue
        op, sizes = hidden.triangle, mask.shape[-2:]
        if op.span is None or op.span in seen or len(set(sizes)) != 1 or sizes[0] < 2:
            continue
        seen.add(op.span)
        message = (
            "the mask hides each query from itself, and of the first query every key:"
            " the softmax of a row of `-inf` is NaN, and so is the loss"
        )
        yield scene.finding(MASK_AXIS, op, message, (call.op, "the mask is used here"))


def _is_infinite_fill(call: OperatorCall) -> bool:
    """Return whether a mask hides scores by `-inf`, as attention does of truths."""
    if call.name in FILLS:
        return bool(call.given(2, "value") == float("-inf"))
    return any(fact.dtype == "bool" for fact in call.op.inputs[2:])


def _find_hidden(
    scene: HazardContext, call: OperatorCall
) -> tuple[Fact | None, _TrueOffsets | None]:
    """Return the mask with which a call hides scores from a softmax, and where."""
    inputs = call.op.inputs
    if call.name in FILLS and len(inputs) > 1:
        value = call.given(2, "value")
        if isinstance(value, int | float) and value <= HIDES and _is_used(scene, call):
            return inputs[1], find_true_offsets(scene, inputs[1])
    elif call.name in SUMS and len(inputs) == 2:
        if find_softmax(scene, call.op.outputs[0]) is not None:
            return inputs[1], _find_hiding_triangle(scene, inputs[1])
    elif call.name == "multi_head_attention_forward":
        for fact in inputs[-2:]:
            if len(fact.shape) == 2 and fact.dtype != "bool":
                return fact, _find_hiding_triangle(scene, fact)
            hidden = find_true_offsets(scene, fact) if len(fact.shape) == 2 else None
            if hidden is not None:
                return fact, hidden
    elif call.name == "scaled_dot_product_attention" and len(inputs) > 3:
        if inputs[3].dtype != "bool":
            return inputs[3], _find_hiding_triangle(scene, inputs[3])
        shown = find_true_offsets(scene, inputs[3])
        return inputs[3], shown.invert() if shown is not None else None
    return None, None


def _is_used(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether filled scores reach a softmax, or a filled mask attention."""
    if find_softmax(scene, call.op.outputs[0]) is not None:
        return True
    fact = call.op.outputs[0]
    for _ in range(3):
        users = scene.users.get(fact.tensor, ())
        if any("attention" in user.name for user in users):
            return True
        onward = [u for u in users if u.name in FILLS and u.op.outputs[0] != fact]
        if not onward:
            return False
        fact = onward[0].op.outputs[0]
    return False


def _find_hiding_triangle(scene: HazardContext, fact: Fact) -> _TrueOffsets | None:
    """Return where a triangle of large negative numbers hides scores, or None."""
    for _ in range(6):
        call = scene.maker(fact)
        if call is None or not call.op.inputs:
            return None
        first = call.op.inputs[0]
        if call.name in TRIANGLES:
            maker = scene.program.producers.get(first.tensor)
            if maker is None or not maker.name.endswith("full"):
                return None
            value = _get_full_value(maker)
            hides = isinstance(value, int | float) and value <= HIDES
            return _find_triangle(scene, call) if hides else None
        corner = call.name == "[]" and (
            first.shape[-2:] == fact.shape[-2:] or _is_corner(call)
        )
        if call.name not in PLAIN and not corner:
            return None
        fact = first
    return None


def _find_token_loss(scene: HazardContext, steps: int) -> OperatorCall | None:
    """Return a loss that compares each place with a token of the vocabulary which the
    model embeds; None where it predicts something else, such as tags.
    """
    tables = {
        call.op.inputs[1].shape[0]
        for call in scene.calls
        if call.name == "embedding" and call.op.inputs[0].shape[-1:] == (steps,)
    }
    for call in scene.calls:
        if call.name not in CLASSES or len(call.op.inputs) < 2 or call.op.span is None:
            continue
        scores, target = call.op.inputs[:2]
        at = 1 if scores.ndim > 1 else 0
        if scores.shape[at] in tables and target.numel % steps == 0:
            return call
    return None


def find_hiding_term(scene: HazardContext, call: OperatorCall) -> int | None:
    """Return which of two terms is a mask times a large negative number, or None."""
    for at, fact in enumerate(call.op.inputs[:2]):
        maker = scene.maker(fact)
        if maker is not None and maker.name in ("*", "mul") and len(maker.dims) == 1:
            number = maker.given(1)
            if isinstance(number, int | float) and number <= HIDES:
                return at
    return None
