"""Masks made of triangles or of ranges: where they are true."""

from __future__ import annotations

from shapewright.reasoning.axes.flow import Call
from shapewright.reasoning.hazards.scene import Scene
from shapewright.trace.fact import Fact

OTHER = {"past": "future", "future": "past", None: None}
PLAIN = frozenset(
    "bool to unsqueeze view expand contiguous type detach clone logical_or".split()
)


def order(scene: Scene, fact: Fact) -> str | None:
    """Whether a mask is true in the past or in the future of the diagonal.

    A mask is rows of queries and columns of keys; `torch.tril` keeps the past.
    """
    turned = False
    for _ in range(8):
        call = scene.maker(fact)
        if call is None or not call.op.inputs:
            return None
        name, first = call.name, call.op.inputs[0]
        if name in ("tril", "triu", "tril_", "triu_"):
            if not of_ones(scene, first):
                return None
            found = "past" if name.startswith("tril") else "future"
            return OTHER[found] if turned else found
        if name in ("<", "<=", ">", ">=", "lt", "le", "gt", "ge"):
            compared = of_comparison(scene, call)
            return OTHER[compared] if turned else compared
        if name in ("==", "eq", "!=", "ne"):
            number = call.given(1)
            if number not in (0, 1) or len(call.op.inputs) > 1:
                return None
            turned ^= (number == 0) == (name in ("==", "eq"))
        elif name in ("~", "logical_not", "bitwise_not", "invert"):
            turned = not turned
        elif name == "[]":
            if first.shape[-2:] != fact.shape[-2:] and not corner(call):
                return None
        elif name not in PLAIN:
            return None
        fact = first
    return None


def corner(call: Call) -> bool:
    """Whether an index cuts a square from the front of both dims."""
    items = call.given(1)
    items = items if isinstance(items, tuple) else (items,)
    cuts = [
        item for item in items if isinstance(item, str) and item not in (":", "...")
    ]
    return all(item.startswith(":") for item in cuts) and len(cuts) == 2


def of_ones(scene: Scene, fact: Fact) -> bool:
    """Whether a tensor is all ones, which `tril` and `triu` make a mask of."""
    maker = scene.program.producers.get(fact.tensor)
    if maker is None:
        return False
    name = maker.name.rpartition(".")[2]
    if name in ("ones", "ones_like", "new_ones"):
        return True
    if name == "full":
        value = dict(maker.arguments).get("1", dict(maker.arguments).get("fill_value"))
        return value is True or value == 1
    return name in PLAIN and bool(maker.inputs) and of_ones(scene, maker.inputs[0])


def of_comparison(scene: Scene, call: Call) -> str | None:
    """Where `i[:, None] >= j[None, :]` of two ranges is true."""
    if len(call.op.inputs) != 2:
        return None
    one, other = call.op.inputs
    if not all(is_range(scene, fact) for fact in (one, other)):
        return None
    rows = [len(f.shape) > 1 and f.shape[-1] == 1 for f in (one, other)]
    if rows[0] == rows[1]:
        return None
    less = call.name in ("<", "<=", "lt", "le")
    # The query's number stands in the rows: key <= query is the past.
    return "future" if less == rows[0] else "past"


def is_range(scene: Scene, fact: Fact) -> bool:
    """Whether a tensor is `arange`, seen with other dims."""
    for _ in range(4):
        maker = scene.program.producers.get(fact.tensor)
        if maker is None:
            return False
        name = maker.name.rpartition(".")[2]
        if name == "arange":
            return True
        if name not in ("[]", "unsqueeze", "view", "to", "expand") or not maker.inputs:
            return False
        fact = maker.inputs[0]
    return False
