"""Edits for an image and its mask that are turned by two draws: one draw for both."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import (
    cut_lines,
    find_block,
    write_after,
    write_before,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.paired_augmentations import DRAWS
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_dotted_name,
)

NAMES = ("turned", "is_turned", "turned_together")
"""Names for the draw that decides for both, the first that is free."""
SEEDS = ("seed", "own_seed", "pair_seed")


def suggest_one_draw(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest one drawn condition for an image and its mask, or one seed for the two
    calls of a transform that draws.
    """
    other = program.node(finding.related[0].span) if finding.related else None
    if other is None or other[0] is not text or not isinstance(node, ast.expr):
        return
    first = other[1]
    if not isinstance(first, ast.expr):
        return
    if isinstance(text.parent(node), ast.If | ast.IfExp):
        yield from _suggest_condition(text, first, node)
    elif isinstance(node, ast.Call) and isinstance(first, ast.Call):
        yield from _suggest_call_for_both(text, first, node)
        yield from _suggest_seed(text, first, node)
        yield from _suggest_state(text, first, node)


def _suggest_condition(
    text: SourceText, first: ast.expr, second: ast.expr
) -> Iterator[Fix]:
    """Suggest a name for the draw, which both conditions read."""
    places = _get_places(text, first, second)
    if text.written(first) != text.written(second) or not places:
        return
    name = _choose_name(text, NAMES)
    drawn = f"{name} = {text.written(first)}"
    edits = (
        write_before(text, places[0], drawn),
        *(Edit(text.span(draw), name) for draw in (first, second)),
    )
    yield Fix("fits", f"`{join_lines(drawn)}` for both", edits)


def _suggest_seed(text: SourceText, first: ast.Call, second: ast.Call) -> Iterator[Fix]:
    """Suggest that two calls of a transform of a library, which draws by torch, begin
    with one seed.
    """
    places = _get_places(text, first, second)
    own = text.functions(get_called_name(first)) or any(map(_is_own_turn, text.nodes))
    if not places or own or not _is_of_torchvision(text):
        return
    seed = _choose_name(text, SEEDS)
    begin = f"torch.manual_seed({seed})"
    indent = text.lines[places[0].lineno - 1][: places[0].col_offset]
    drawn = f"{seed} = int(torch.randint(2**31, (1,)))\n{indent}{begin}"
    edits = (
        write_before(text, places[0], drawn),
        write_before(text, places[1], begin),
    )
    yield Fix("fits", f"`{begin}` before each of the two", edits)


def _suggest_call_for_both(
    text: SourceText, first: ast.Call, second: ast.Call
) -> Iterator[Fix]:
    """Suggest `image, mask = flip(image, mask)` for a transform of the program that
    takes several tensors.
    """
    places = _get_places(text, first, second)
    turns = _list_own_turns(text, first)
    if not places or not turns or any(turn.args.vararg is None for turn in turns):
        return
    block = find_block(text, places[0])
    is_next = block.index(places[1]) == block.index(places[0]) + 1
    pairs = [
        (place.targets[0], call)
        for place, call in zip(places, (first, second), strict=True)
        if isinstance(place, ast.Assign) and place.value is call
        if len(place.targets) == len(call.args) == 1 and not call.keywords
    ]
    if len(pairs) != 2 or not is_next:
        return
    names = ", ".join(text.line_of(target) for target, _ in pairs)
    data = ", ".join(text.line_of(call.args[0]) for _, call in pairs)
    new = f"{names} = {text.line_of(first.func)}({data})"
    edits = (cut_lines(text, places[1]), Edit(text.span(places[0]), new))
    yield Fix("fits", f"`{new}`", edits)


def _suggest_state(
    text: SourceText, first: ast.Call, second: ast.Call
) -> Iterator[Fix]:
    """Suggest that two calls of a transform of the program begin with one state of the
    generator by which it draws.
    """
    places = _get_places(text, first, second)
    drawing = {
        get_dotted_name(node.func).rpartition(".")[0]
        for turn in _list_own_turns(text, first)
        for node in ast.walk(turn)
        if isinstance(node, ast.Call) and get_called_name(node) in DRAWS
    }
    ways = STATES.get(next(iter(drawing))) if len(drawing) == 1 else None
    if not places or ways is None:
        return
    state = _choose_name(text, ("state", "own_state", "pair_state"))
    begin = f"{ways[1]}({state})"
    edits = (
        write_before(text, places[0], f"{state} = {ways[0]}()"),
        write_before(text, places[1], begin),
    )
    yield Fix("fits", f"`{begin}` before the second", edits)


STATES = {
    "random": ("random.getstate", "random.setstate"),
    "torch": ("torch.get_rng_state", "torch.set_rng_state"),
    "np.random": ("np.random.get_state", "np.random.set_state"),
}
"""How the state of a generator is read and set, by the module that draws."""


def _list_own_turns(text: SourceText, call: ast.Call) -> list[ast.FunctionDef]:
    """Return the functions of the file that a call of a transform may run."""
    named = text.functions(get_called_name(call))
    functions = [function for _, function in named] or [
        node
        for node in text.nodes
        if _is_own_turn(node) and isinstance(node, ast.FunctionDef)
    ]
    return [function for function in functions if isinstance(function, ast.FunctionDef)]


def _is_own_turn(node: ast.AST) -> bool:
    """Return whether a node begins a method by which a transform of the program is
    called.
    """
    return isinstance(node, ast.FunctionDef) and node.name == "__call__"


def _is_of_torchvision(text: SourceText) -> bool:
    """Return whether a file imports torch, and torchvision, which draws by it."""
    modules = set[str]()
    for node in text.nodes:
        if isinstance(node, ast.ImportFrom):
            modules.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Import):
            for part in node.names:
                plain = part.asname is None or part.name != "torch"
                modules.add(part.name.partition(".")[0] if plain else "")
    return {"torch", "torchvision"} <= modules


def _get_places(
    text: SourceText, first: ast.expr, second: ast.expr
) -> tuple[ast.stmt, ast.stmt] | None:
    """Return the statements that two expressions stand in, the first above the second
    in one block.
    """
    places = text.statement_of(first), text.statement_of(second)
    if places[0] is places[1] or places[1] not in find_block(text, places[0]):
        return None
    return places if places[0].lineno < places[1].lineno else None


def _choose_name(text: SourceText, names: tuple[str, ...]) -> str:
    """Return the first name that a file does not use."""
    taken = {name for node in text.nodes for name in collect_names(node)}
    return next((name for name in names if name not in taken), names[-1])


def suggest_turned_mask(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `mask = mask.flip(-1)` beside `image = image.flip(-1)`, where the dims
    count from the last one.
    """
    words = re.findall(r"`([^`]+)`", finding.message)
    if len(words) != 2 or not isinstance(node, ast.Call):
        return
    if "along another dim" in finding.message:
        statement = text.statement_of(node)
        values = getattr(statement, "value", None)
        first = values.elts[0] if isinstance(values, ast.Tuple) else None
        if first is None or first is node:
            return
        new = _write_turn(text, first, words[1], words[0])  # as the first one is
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
        return
    name, other = words
    new = f"{other} = {_write_turn(text, node, name, other)}"
    if re.search(r"[(\[, ]\d", new):
        return  # a dim that counts from the first one may be another of the mask
    edit = write_after(text, text.statement_of(node), new)
    yield Fix("fits", f"`{join_lines(new)}` below it", (edit,))


def _write_turn(text: SourceText, turn: ast.expr, name: str, other: str) -> str:
    """Return the text of a turn of another name."""
    return re.sub(rf"\b{re.escape(name)}\b", other, text.written(turn))
