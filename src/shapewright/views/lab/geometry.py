"""Windows and scatters in words: size formulas, how often elements are touched."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import prod

from shapewright.rules.maps.counting import times_met, times_read
from shapewright.rules.maps.drawn import Drawn
from shapewright.views.lab.following import reader


def told_of_sizes(drawn: Drawn) -> list[str]:
    """The size formula of each spatial dim, and how often elements are touched."""
    names = ("length",) if len(drawn.sizes) == 1 else ("depth", "height", "width")
    named = zip(names[-len(drawn.sizes) :], drawn.sizes, strict=False)
    lines = [f"{name}: {formula}" for name, formula in named]
    if drawn.name.rpartition(".")[2].startswith(WRITERS) and drawn.maps:
        return collisions(drawn)
    if drawn.maps and drawn.maps[0].stages and drawn.maps[0].conditions:
        return keys_read(drawn)
    if not drawn.sizes or not drawn.maps:
        return lines
    return [*lines, *as_a_product(drawn), *touched(drawn)]


def as_a_product(drawn: Drawn) -> list[str]:
    """A convolution as the product of matrices that it is, between unfold and fold."""
    one, sides = drawn.maps[0], {side.name: side.shape for side in drawn.inputs}
    if one.term != "product" or "weight" not in sides:
        return []
    first, second, *kernel = sides["weight"]
    groups = drawn.arguments.get("groups", 1)
    data = next(
        side.shape for side in drawn.inputs if side.name not in ("weight", "bias")
    )  # by the program's own name where a line is drawn
    batch = prod(data[: -len(kernel) - 1])
    if one.sizing == "spread":
        rows, inner = second * prod(kernel), first // groups
        places = prod(data[-len(kernel) :])
        how = "product, fold"
    else:
        rows, inner = first // groups, second * prod(kernel)
        places = prod(window.places for window in one.windows)
        how = "unfold, product, fold"
    each = [f"{count} {what}" for count, what in ((batch, "images"), (groups, "groups"))
            if count > 1]  # fmt: skip
    more = f", for each of {' and '.join(each)}" if each else ""
    return [f"as {how}: ({rows}, {inner}) @ ({inner}, {places}){more}"]


WRITERS = ("scatter", "index_add", "index_copy", "index_put")
"""How functions begin that write to places which values name."""


def keys_read(drawn: Drawn) -> list[str]:
    """How many of the keys each query of an attention reads."""
    one = drawn.maps[0]
    *rows, _ = one.shape
    if any(side.values is None for side in drawn.inputs) or prod(rows) > MOST_STEPS:
        return []
    lookup = {side.name: reader(side.values) for side in drawn.inputs}
    counts = [
        sum(1 for _ in one.steps({**lookup, **one.named((*index, 0))}))
        for index in product(*map(range, rows))
    ]
    keys = one.loops[0].size
    return [
        f"a query reads {between(counts)} of {keys} keys: {sum(counts)} of "
        f"{len(counts) * keys} pairs are allowed"
    ]


def collisions(drawn: Drawn) -> list[str]:
    """How many places of a scatter get more than one element."""
    one = drawn.maps[0]
    known = all(side.values is not None for side in drawn.inputs)
    if not known or prod(one.shape) * prod(n.size for n in one.loops) > MOST_STEPS:
        return []
    lookup = {side.name: reader(side.values) for side in drawn.inputs}
    counts = [
        sum(1 for _ in one.steps({**lookup, **one.named(index)}))
        for index in product(*map(range, one.shape))
    ]
    several, none = sum(count > 1 for count in counts), counts.count(0)
    text = f"of {len(counts)} places of `out`, {several} get{'s' * (several == 1)} "
    text += "more than one element"
    if several and one.combine == "last":
        text += " (which of them stays, torch does not promise)"
    return [f"{text} and {none} get{'s' * (none == 1)} none"]


def touched(drawn: Drawn) -> list[str]:
    """How often each input element is read, or how many meet in each output element."""
    one = drawn.maps[0]
    steps = prod(one.shape) * prod(loop.size for loop in one.loops)
    if steps > MOST_STEPS or one.tables:
        return []
    if drawn.name.endswith("fold") and not drawn.name.endswith("unfold"):
        met = times_met(one)
        return [f"{between(met.values())} meet in each element of `out`, and are added"]
    read = times_read(one, drawn.inputs[0].name)
    counts = [read[index] for index in product(*map(range, drawn.inputs[0].shape))]
    often = "once" if set(counts) == {1} else f"{between(counts)} times"
    return [f"each element of `{drawn.inputs[0].name}` is read {often}"]


def between(counts: Iterable[int]) -> str:
    """`1 to 4`, or `2` where all are."""
    least, most = min(counts := list(counts)), max(counts)
    return str(least) if least == most else f"{least} to {most}"


MOST_STEPS = 20_000
"""Steps of a map that are gone through to count."""
