"""What autograd makes of a call, in words."""

from __future__ import annotations

from collections.abc import Iterable

from shapewright.rules.maps.beside import Autograd, Gradient, Kept
from shapewright.rules.maps.costs import Repeats, repeats
from shapewright.rules.maps.drawn import Drawn
from shapewright.rules.maps.index_map import Read
from shapewright.views import units

MOVES = frozenset(
    """View UnsafeView ReshapeAlias Permute Transpose T Expand Unsqueeze Squeeze Clone
    AsStrided Alias""".split()
)
"""Nodes that only rename: the one that is told of is another, where there is one."""


def told_of_backward(drawn: Drawn) -> list[str]:
    """Autograd in a line, and one for each input that is read again and again."""
    made = drawn.beside.autograd if drawn.beside else None
    if made is None or not (made.nodes or made.reason or made.gradients):
        return []
    if made.reason:
        return [f"no gradient: {made.reason}"]
    if not made.nodes:
        return ["backward: the input itself comes back, and gets the gradient"]
    kept = listed(kept_name(one) for one in made.kept) or "nothing"
    having = [one for one in made.gradients if one.shape is not None]
    given = listed(f"`{one.name}` {one.shape}" for one in having)
    said = f"backward: {main_node(made)} keeps {kept}; gradients: {given or 'none'}"
    return [said, *(line for one in having for line in broadcast(drawn, one.name))]


def broadcast(drawn: Drawn, name: str) -> list[str]:
    """`b` is read 12 times, 0 copies: its gradient sums over dims 0 and 1 of `out`."""
    made = repeated(drawn, name)
    if made is None or made.loops or not made.dims or not made.times:
        return []
    if len(drawn.maps) != 1 or any(read.tensor == name for read in looped(drawn)):
        return []
    return [
        f"`{name}` is read {units.times(made.times)}, 0 copies: its gradient sums over "
        f"{dims_of_out(made)}"
    ]


def looped(drawn: Drawn) -> tuple[Read, ...]:
    """The reads that stand in a loop of the map."""
    one = drawn.maps[0]
    return one.reads if one.loops else ()


def main_node(made: Autograd) -> str:
    """The node that does the work."""
    names = [name.partition("Backward")[0] for name in made.nodes]
    place = next((n for n, name in enumerate(names) if name not in MOVES), 0)
    return made.nodes[place]


def kept_name(one: Kept) -> str:
    """A kept tensor in few words."""
    if one.name:
        return f"`{one.name}`"
    return f"{one.shape} {one.dtype} of its own"


def listed(parts: Iterable[str]) -> str:
    """`a, b and c`, each once."""
    every = list(dict.fromkeys(parts))
    if len(every) > 6:
        every = [*every[:5], f"{len(every) - 5} more"]
    return " and ".join([", ".join(every[:-1]), every[-1]]) if every[1:] else (
        every[0] if every else ""
    )  # fmt: skip


def repeated(drawn: Drawn, name: str) -> Repeats | None:
    """Along what an input is read again; None where there is no one map to tell."""
    shapes = {side.name: side.shape for side in drawn.inputs}
    if len(drawn.maps) != 1 or name not in shapes:
        return None
    return repeats(drawn.maps[0], name, shapes[name])


def dims_of_out(made: Repeats) -> str:
    """`dim 0 of `out``, `dims 0 and 1 of `out``."""
    many = "s" if made.dims[1:] else ""
    return f"dim{many} {listed(map(str, made.dims))} of `out`"


# -- the section -----------------------------------------------------------------------


def backward_lines(drawn: Drawn) -> list[str]:
    """The section: the graph, what is kept, the gradients, what may not be written."""
    assert drawn.beside is not None
    made = drawn.beside.autograd
    lines = written(made)
    if made.reason:
        return [f"no gradient: {made.reason}", *lines]
    lines = [graph(made), *kept_lines(made), *lines]
    lines.append("gradients, where each input asks for one:")
    wide = max((len(one.name) for one in made.gradients), default=0)
    for one in made.gradients:
        lines.append(f"  {one.name:{wide}}  {gradient(drawn, one)}")
    for what, said in made.refused:
        lines.append(f"{what}: torch refuses: {said}")
    return lines


def graph(made: Autograd) -> str:
    """The nodes that backward runs, in order."""
    if not made.nodes:
        return "no grad_fn: the input itself comes back"
    rest = f", then {', '.join(made.nodes[1:])}" if made.nodes[1:] else ""
    return f"grad_fn: {made.nodes[0]}{rest}"


def kept_lines(made: Autograd) -> list[str]:
    """What stays in memory until backward, and what it costs."""
    if not made.kept:
        return ["kept until backward: nothing"]
    wide = max(len(one.name or "another") for one in made.kept)
    lines = ["kept until backward:"]
    for one in made.kept:
        cost = f"{one.nbytes:,} bytes of its own"
        if one.name:
            seen = "a view of it, " if one.view else ""
            cost = f"{seen}no memory of its own"
        name = one.name or "another"
        lines.append(f"  {name:{wide}}  {one.shape} {one.dtype}: {cost}")
    named = listed(f"`{one.name}`" for one in made.kept if one.name)
    if named:
        lines.append(f"{named} must not be written in place before backward")
    return lines


def written(made: Autograd) -> list[str]:
    """The version counters of what was written."""
    return [
        f"written in place: `{name}._version` goes from {before} to {after}"
        for name, before, after in made.written
    ]


def gradient(drawn: Drawn, one: Gradient) -> str:
    """One input's gradient: its shape and the sum behind it, or why there is none."""
    if one.shape is None:
        return f"none: {one.reason}"
    text = str(one.shape)
    if one.reason:
        text += f", {one.reason}"
    return f"{text}{behind(repeated(drawn, one.name))}"


def behind(made: Repeats | None) -> str:
    """What backward adds up for one element of an input's gradient."""
    if made is None or made.times == 1:
        return ""
    if made.chosen:
        return ": 0 where nothing was read, a sum where something was read again"
    if made.times is None:
        return ": the sum over all elements of `out` that read it"
    over = [dims_of_out(made)] if made.dims else []
    over += [f"the loop of `{letter}`" for letter in made.loops]
    read = f"each element is read {units.times(made.times)}, 0 copies"
    return f": {read}; it sums over {listed(over)}"
