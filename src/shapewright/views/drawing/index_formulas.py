"""An index map in words: the formula in letters, and the naive loop."""

from __future__ import annotations

from collections.abc import Collection

from shapewright.index_maps.evaluation import PLAIN_TERMS
from shapewright.index_maps.index_map import IndexMap, Loop, Options, Read

Lines = list[str]

SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "true_divide": "/", "pow": "**",
    "floor_divide": "//", "remainder": "%", "eq": "==", "ne": "!=", "lt": "<",
    "le": "<=", "gt": ">", "ge": ">=", "logical_and": "and", "logical_or": "or",
}  # fmt: skip


def place(name: str, letters: tuple[str, ...]) -> str:
    """`out[i, j]`; the name alone for a tensor without dims."""
    return f"{name}[{', '.join(letters)}]" if letters else name


def size(drawn: IndexMap, loop: Loop) -> str:
    """What a letter runs up to: the size's name where it has one."""
    return dict(drawn.sizes).get(loop.letter, str(loop.size))


def term(drawn: IndexMap) -> str:
    """What one step gives."""
    if drawn.value is not None:
        return str(drawn.value)
    reads = [str(read) for read in drawn.reads]
    if drawn.term == "copy":
        return " or ".join(reads) if reads else "0"
    if drawn.term == "product":
        return " * ".join(reads)
    return called(drawn.term, reads, drawn.options)


def called(name: str, operands: list[str], options: Options) -> str:
    """`topk(steps, k=2).indices`; with a sign where there is one: `x[i] + y[j]`."""
    function, _, part = name.lstrip("_").partition(".")
    sign = SIGNS.get(function)
    if sign and len(operands) == 2 and not options:
        return f"{operands[0]} {sign} {operands[1]}"
    given = ", ".join([*operands, *(f"{key}={value}" for key, value in options)])
    return f"{function}({given}){'.' + part if part else ''}"


def gathered_options(drawn: IndexMap) -> Options:
    """The keyword arguments that are those of `combine`."""
    return drawn.options if drawn.term in PLAIN_TERMS else ()


def after(drawn: IndexMap, value: str) -> str:
    """The value with the functions that come after it."""
    for then in drawn.then:
        sign = SIGNS.get(then.function)
        bracketed = sign and not then.options and has_parts(value)
        inner = f"({value})" if bracketed else value
        value = called(then.function, [inner, *map(str, then.reads)], then.options)
    return value


def has_parts(value: str) -> bool:
    """Whether a text has spaces outside of all brackets: `x + y`, not `x[i, j]`."""
    depth = 0
    for character in value:
        depth += (character in "([") - (character in ")]")
        if character == " " and not depth:
            return True
    return False


def started(drawn: IndexMap) -> str:
    """What stands in an output element before the first step."""
    if isinstance(drawn.start, Read):
        return str(drawn.start)
    return "0" if drawn.start is None else f"{drawn.start:g}"


def formula(drawn: IndexMap, name: str = "out") -> list[str]:
    """The element's formula, its cases and conditions, a line each."""
    left = place(name, drawn.letters)
    conditions = [str(condition) for condition in drawn.conditions]
    if by_cases(drawn):
        return cases(drawn, left)
    right = term(drawn)
    if drawn.loops:
        over = ", ".join(f"{loop.letter} < {size(drawn, loop)}" for loop in drawn.loops)
        word = "the last" if drawn.combine == "last" else drawn.combine.lstrip("_")
        if gathered_options(drawn):
            word = called(drawn.combine, [], drawn.options)
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
        right = f"{right}{when}, else {started(drawn)}" if when else right
    return [f"{left} = {after(drawn, right)}"]


def by_cases(drawn: IndexMap) -> bool:
    """Whether an element is one of several, or is read only under a condition."""
    chosen = any(read.when for read in drawn.reads) and not drawn.loops
    return drawn.term == "copy" and (len(drawn.reads) > 1 or chosen)


def cases(drawn: IndexMap, left: str) -> list[str]:
    """One line for each read to choose from."""
    lines = []
    width = max(len(str(read)) for read in drawn.reads)
    pad = " " * len(left)
    for number, read in enumerate(drawn.reads):
        when = " and ".join(map(str, read.when)) or "otherwise"
        when = when if when == "otherwise" else f"if {when}"
        head = f"{left} =" if number == 0 else f"{pad}  "
        lines.append(f"{head} {read!s:{width}}  {when}")
    if drawn.start is not None:
        lines.append(f"{pad}   {started(drawn):{width}}  otherwise")
    return lines


def formulas(drawn: IndexMap, name: str = "out", told: Collection[str] = ()) -> Lines:
    """The formulas of the stages that are not told of yet, and the element's own."""
    stages = [stage for stage in drawn.stages if stage.name not in told]
    lines = [line for stage in stages for line in formula(stage.map, stage.name)]
    return [*lines, *formula(drawn, name)]


def loop(drawn: IndexMap, name: str = "out", told: Collection[str] = ()) -> Lines:
    """The naive loop that does the same, as Python; without stages told of already."""
    stages = [(one.name, one.map) for one in drawn.stages if one.name not in told]
    return nested([*stages, (name, drawn)], 0)


Named = tuple[str, IndexMap]


def nested(every: list[Named], depth: int) -> Lines:
    """Loops over the outputs of several maps, of which each reads those before it.

    Neighbours go through one loop while they share its letter.
    """
    lines: Lines = []
    while every:
        count = together(every, depth)
        group, every = every[:count], every[count:]
        _, first = group[0]
        if len(first.letters) <= depth:
            lines += body(first, group[0][0])
            continue
        outer = Loop(first.letters[depth], first.shape[depth])
        lines.append(f"for {outer.letter} in range({size(first, outer)}):")
        lines += [f"    {line}" for line in nested(group, depth + 1)]
    return lines


def together(every: list[Named], depth: int) -> int:
    """How many of the maps, from the first, can go through one loop."""
    _, first = every[0]
    if len(first.letters) <= depth:
        return 1
    letter = first.letters[depth], first.shape[depth]
    names: set[str] = set()
    for count, (name, one) in enumerate(every):
        same = len(one.letters) > depth and letter == (
            one.letters[depth], one.shape[depth]
        )  # fmt: skip
        own = (read for read in one.reads if read.tensor in names)
        if not same or any(str(read.indices[depth]) != letter[0] for read in own):
            return count
        names.add(name)
    return len(every)


def body(drawn: IndexMap, name: str) -> Lines:
    """What is done for one element."""
    lines: Lines = []
    depth = 0

    def add(text: str) -> None:
        lines.append("    " * depth + text)

    left = place(name, drawn.letters)
    sums = drawn.combine == "sum"
    gathered = bool(drawn.loops) and drawn.combine not in ("sum", "last")
    if gathered:
        add("steps = []")
    elif sums or drawn.start is not None:
        add(f"{left} = {started(drawn)}")
    for one in drawn.loops:
        add(f"for {one.letter} in range({size(drawn, one)}):")
        depth += 1
    if drawn.conditions:
        add(f"if {' and '.join(map(str, drawn.conditions))}:")
        depth += 1
    if by_cases(drawn):
        for number, read in enumerate(drawn.reads):
            when = " and ".join(map(str, read.when))
            add(f"{'elif' if number else 'if'} {when}:" if when else "else:")
            lines.append("    " * (depth + 1) + f"{left} = {read}")
    elif gathered:
        add(f"steps.append({term(drawn)})")
    elif when := " and ".join(str(c) for read in drawn.reads for c in read.when):
        add(f"if {when}:")
        lines.append(
            "    " * (depth + 1) + f"{left} {'+=' if sums else '='} {term(drawn)}"
        )
    else:
        add(f"{left} {'+=' if sums else '='} {term(drawn)}")
    depth = 0
    if gathered:
        at = f"[{drawn.at}]" if drawn.at is not None else ""
        made = called(drawn.combine, ["steps"], gathered_options(drawn))
        add(f"{left} = {made}{at}")
    if sums and drawn.scale is not None:
        add(f"{left} /= {drawn.scale}")
    if drawn.then:
        add(f"{left} = {after(drawn, left)}")
    return lines
