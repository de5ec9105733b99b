"""An index map in words: the formula in letters, the naive loop, and the elements that
are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import product
from math import prod

from shapewright.index_maps.drawn_calls import Drawn
from shapewright.index_maps.evaluation import (
    PLAIN_TERMS,
    count_meetings,
    count_reads,
)
from shapewright.index_maps.index_map import (
    SIGNS,
    IndexMap,
    Loop,
    Options,
    Read,
)
from shapewright.operators.facts import operators_with
from shapewright.views.drawing.followed_elements import build_reader


def describe_sizes(drawn: Drawn) -> list[str]:
    """Return the size formula of each spatial dim, and how often elements are read."""
    names = ("length",) if len(drawn.sizes) == 1 else ("depth", "height", "width")
    named = zip(names[-len(drawn.sizes) :], drawn.sizes, strict=False)
    lines = [f"{name}: {formula}" for name, formula in named]
    if drawn.name.rpartition(".")[2] in WRITERS and drawn.maps:
        return _describe_collisions(drawn)
    if drawn.maps and drawn.maps[0].stages and drawn.maps[0].conditions:
        return describe_keys_read(drawn)
    if not drawn.sizes or not drawn.maps:
        return lines
    return [*lines, *_describe_product(drawn), *_describe_reads(drawn)]


def _describe_product(drawn: Drawn) -> list[str]:
    """Return a convolution as a matrix product, between unfold and fold."""
    index_map, sides = drawn.maps[0], {side.name: side.shape for side in drawn.inputs}
    if index_map.term != "product" or "weight" not in sides:
        return []
    first, second, *kernel = sides["weight"]
    groups = drawn.arguments.get("groups", 1)
    data = next(
        side.shape for side in drawn.inputs if side.name not in ("weight", "bias")
    )  # by the program's own name where a line is drawn
    batch = prod(data[: -len(kernel) - 1])
    if index_map.sizing == "spread":
        rows, inner = second * prod(kernel), first // groups
        places = prod(data[-len(kernel) :])
        how = "product, fold"
    else:
        rows, inner = first // groups, second * prod(kernel)
        places = prod(window.places for window in index_map.windows)
        how = "unfold, product, fold"
    counts = [
        f"{count} {what}"
        for count, what in ((batch, "images"), (groups, "groups"))
        if count > 1
    ]
    more = f", for each of {' and '.join(counts)}" if counts else ""
    return [f"as {how}: ({rows}, {inner}) @ ({inner}, {places}){more}"]


WRITERS = operators_with("writes_by_index")
"""Functions that write to places given by values."""


def describe_keys_read(drawn: Drawn) -> list[str]:
    """Return how many of the keys each query of an attention reads."""
    index_map = drawn.maps[0]
    *rows, _ = index_map.shape
    if (
        any(side.values is None for side in drawn.inputs)
        or prod(rows) > MOST_STEPS_COUNTED
    ):
        return []
    lookup = {side.name: build_reader(side.values) for side in drawn.inputs}
    counts = [
        sum(1 for _ in index_map.steps({**lookup, **index_map.named((*index, 0))}))
        for index in product(*map(range, rows))
    ]
    keys = index_map.loops[0].size
    return [
        f"a query reads {_format_range(counts)} of {keys} keys: {sum(counts)} of "
        f"{len(counts) * keys} pairs are allowed"
    ]


def _describe_collisions(drawn: Drawn) -> list[str]:
    """Return how many positions of a scatter receive more than one element."""
    index_map = drawn.maps[0]
    known = all(side.values is not None for side in drawn.inputs)
    if (
        not known
        or prod(index_map.shape) * prod(n.size for n in index_map.loops)
        > MOST_STEPS_COUNTED
    ):
        return []
    lookup = {side.name: build_reader(side.values) for side in drawn.inputs}
    counts = [
        sum(1 for _ in index_map.steps({**lookup, **index_map.named(index)}))
        for index in product(*map(range, index_map.shape))
    ]
    several, none = sum(count > 1 for count in counts), counts.count(0)
    text = f"of {len(counts)} places of `out`, {several} get{'s' * (several == 1)} "
    text += "more than one element"
    if several and index_map.combine == "last":
        text += " (torch does not say which of them stays)"
    return [f"{text} and {none} get{'s' * (none == 1)} none"]


def _describe_reads(drawn: Drawn) -> list[str]:
    """Return how often each input element is read, or reaches each output element."""
    index_map = drawn.maps[0]
    steps = prod(index_map.shape) * prod(loop.size for loop in index_map.loops)
    if steps > MOST_STEPS_COUNTED or index_map.tables:
        return []
    if drawn.name.endswith("fold") and not drawn.name.endswith("unfold"):
        met = count_meetings(index_map)
        range_ = _format_range(met.values())
        return [f"{range_} are summed into each element of `out`"]
    read = count_reads(index_map, drawn.inputs[0].name)
    counts = [read[index] for index in product(*map(range, drawn.inputs[0].shape))]
    often = "once" if set(counts) == {1} else f"{_format_range(counts)} times"
    return [f"each element of `{drawn.inputs[0].name}` is read {often}"]


def _format_range(counts: Iterable[int]) -> str:
    """Return `1 to 4`, or `2` if all are equal."""
    least, most = min(counts := list(counts)), max(counts)
    return str(least) if least == most else f"{least} to {most}"


MOST_STEPS_COUNTED = 20_000
"""Steps of a map up to which accesses are counted."""


Lines = list[str]


def _format_place(name: str, letters: tuple[str, ...]) -> str:
    """Return `out[i, j]`, or just the name for a tensor without dims."""
    return f"{name}[{', '.join(letters)}]" if letters else name


def _format_bound(drawn: IndexMap, loop: Loop) -> str:
    """Return the upper bound of a letter: the name of its size if it has one."""
    return dict(drawn.sizes).get(loop.letter, str(loop.size))


def _format_term(drawn: IndexMap) -> str:
    """Return the expression for the value of a single step."""
    if drawn.value is not None:
        return str(drawn.value)
    reads = [str(read) for read in drawn.reads]
    if drawn.term == "copy":
        return " or ".join(reads) if reads else "0"
    if drawn.term == "product":
        return " * ".join(reads)
    return _format_call(drawn.term, reads, drawn.options)


def _format_call(name: str, operands: list[str], options: Options) -> str:
    """Return `topk(steps, k=2).indices`, or an operator's expression: `x[i] + y[j]`."""
    function, _, part = name.lstrip("_").partition(".")
    sign = SIGNS.get(function)
    if sign and len(operands) == 2 and not options:
        return f"{operands[0]} {sign} {operands[1]}"
    arguments = ", ".join([*operands, *(f"{key}={value}" for key, value in options)])
    return f"{function}({arguments}){'.' + part if part else ''}"


def _collect_options(drawn: IndexMap) -> Options:
    """Return the keyword arguments of the function that combines the steps."""
    return drawn.options if drawn.term in PLAIN_TERMS else ()


def _apply_functions(drawn: IndexMap, value: str) -> str:
    """Return the expression with the functions that are applied to it afterwards."""
    for then in drawn.then:
        sign = SIGNS.get(then.function)
        bracketed = sign and not then.options and _has_parts(value)
        inner = f"({value})" if bracketed else value
        value = _format_call(
            then.function, [inner, *map(str, then.reads)], then.options
        )
    return value


def _has_parts(value: str) -> bool:
    """Return whether a text has spaces outside of brackets: `x + y`, not `x[i, j]`."""
    depth = 0
    for character in value:
        depth += (character in "([") - (character in ")]")
        if character == " " and not depth:
            return True
    return False


def _format_start(drawn: IndexMap) -> str:
    """Return the value of an output element before the first step."""
    if isinstance(drawn.start, Read):
        return str(drawn.start)
    return "0" if drawn.start is None else f"{drawn.start:g}"


def format_formula(drawn: IndexMap, name: str = "out") -> list[str]:
    """Return the formula of the element with its cases and conditions, one per line."""
    left = _format_place(name, drawn.letters)
    conditions = [str(condition) for condition in drawn.conditions]
    if _has_cases(drawn):
        return _format_cases(drawn, left)
    right = _format_term(drawn)
    if drawn.loops:
        over = ", ".join(
            f"{loop.letter} < {_format_bound(drawn, loop)}" for loop in drawn.loops
        )
        word = "the last" if drawn.combine == "last" else drawn.combine.lstrip("_")
        if _collect_options(drawn):
            word = _format_call(drawn.combine, [], drawn.options)
        inside = " where " + " and ".join(conditions) if conditions else ""
        right = f"{word} over {over} of {right}{inside}"
        if drawn.at is not None:
            right = f"({right})[{drawn.at}]"
        if drawn.scale is not None:
            right = f"({right}) / {drawn.scale}"
        if isinstance(drawn.start, Read):
            joined = " + " if drawn.combine == "sum" else ", else "
            right = (
                f"{drawn.start}{joined}{right}"
                if drawn.combine == "sum"
                else f"{right}{joined}{drawn.start}"
            )
    elif drawn.start is not None:
        inside = " and ".join(conditions)
        when = f" if {inside}" if inside else ""
        right = f"{right}{when}, else {_format_start(drawn)}" if when else right
    return [f"{left} = {_apply_functions(drawn, right)}"]


def _has_cases(drawn: IndexMap) -> bool:
    """Return whether an element is one of several or is read only conditionally."""
    chosen = any(read.when for read in drawn.reads) and not drawn.loops
    return drawn.term == "copy" and (len(drawn.reads) > 1 or chosen)


def _format_cases(drawn: IndexMap, left: str) -> list[str]:
    """Return a line for each of the reads that are alternatives."""
    lines = []
    width = max(len(str(read)) for read in drawn.reads)
    pad = " " * len(left)
    for number, read in enumerate(drawn.reads):
        when = " and ".join(map(str, read.when)) or "otherwise"
        when = when if when == "otherwise" else f"if {when}"
        head = f"{left} =" if number == 0 else f"{pad}  "
        lines.append(f"{head} {read!s:{width}}  {when}")
    if drawn.start is not None:
        lines.append(f"{pad}   {_format_start(drawn):{width}}  otherwise")
    return lines


def format_formulas(
    drawn: IndexMap, name: str = "out", shown: Collection[str] = ()
) -> Lines:
    """Return the formulas of the stages not shown yet, then the element's own."""
    stages = [stage for stage in drawn.stages if stage.name not in shown]
    lines = [line for stage in stages for line in format_formula(stage.map, stage.name)]
    return [*lines, *format_formula(drawn, name)]


def format_loop(
    drawn: IndexMap, name: str = "out", shown: Collection[str] = ()
) -> Lines:
    """Return the equivalent naive loop in Python, without the stages shown already."""
    stages = [
        (stage.name, stage.map) for stage in drawn.stages if stage.name not in shown
    ]
    return _nest_loops([*stages, (name, drawn)], 0)


Named = tuple[str, IndexMap]


def _nest_loops(every: list[Named], depth: int) -> Lines:
    """Return loops over the outputs of several maps, each reading those before it.

    Neighbours share a loop while they share its letter.
    """
    lines: Lines = []
    while every:
        count = _count_shared(every, depth)
        group, every = every[:count], every[count:]
        _, first = group[0]
        if len(first.letters) <= depth:
            lines += _format_body(first, group[0][0])
            continue
        outer = Loop(first.letters[depth], first.shape[depth])
        lines.append(f"for {outer.letter} in range({_format_bound(first, outer)}):")
        lines += [f"    {line}" for line in _nest_loops(group, depth + 1)]
    return lines


def _count_shared(every: list[Named], depth: int) -> int:
    """Return how many of the maps, starting with the first, can share a loop."""
    _, first = every[0]
    if len(first.letters) <= depth:
        return 1
    letter = first.letters[depth], first.shape[depth]
    names: set[str] = set()
    for count, (name, index_map) in enumerate(every):
        same = len(index_map.letters) > depth and letter == (
            index_map.letters[depth], index_map.shape[depth]
        )  # fmt: skip
        own = (read for read in index_map.reads if read.tensor in names)
        if not same or any(str(read.indices[depth]) != letter[0] for read in own):
            return count
        names.add(name)
    return len(every)


def _format_body(drawn: IndexMap, name: str) -> Lines:
    """Return the statements that compute one element."""
    lines: Lines = []
    depth = 0

    def add(text: str) -> None:
        lines.append("    " * depth + text)

    left = _format_place(name, drawn.letters)
    sums = drawn.combine == "sum"
    gathered = bool(drawn.loops) and drawn.combine not in ("sum", "last")
    if gathered:
        add("steps = []")
    elif sums or drawn.start is not None:
        add(f"{left} = {_format_start(drawn)}")
    for loop in drawn.loops:
        add(f"for {loop.letter} in range({_format_bound(drawn, loop)}):")
        depth += 1
    if drawn.conditions:
        add(f"if {' and '.join(map(str, drawn.conditions))}:")
        depth += 1
    if _has_cases(drawn):
        for number, read in enumerate(drawn.reads):
            when = " and ".join(map(str, read.when))
            add(f"{'elif' if number else 'if'} {when}:" if when else "else:")
            lines.append("    " * (depth + 1) + f"{left} = {read}")
    elif gathered:
        add(f"steps.append({_format_term(drawn)})")
    elif when := " and ".join(str(c) for read in drawn.reads for c in read.when):
        add(f"if {when}:")
        lines.append(
            "    " * (depth + 1)
            + f"{left} {'+=' if sums else '='} {_format_term(drawn)}"
        )
    else:
        add(f"{left} {'+=' if sums else '='} {_format_term(drawn)}")
    depth = 0
    if gathered:
        at = f"[{drawn.at}]" if drawn.at is not None else ""
        call = _format_call(drawn.combine, ["steps"], _collect_options(drawn))
        add(f"{left} = {call}{at}")
    if sums and drawn.scale is not None:
        add(f"{left} /= {drawn.scale}")
    if drawn.then:
        add(f"{left} = {_apply_functions(drawn, left)}")
    return lines
