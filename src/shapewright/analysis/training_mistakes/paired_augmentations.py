"""Find an image and its mask that are turned by separate draws of random numbers.

Two views of one image, or images of two kinds, may be drawn apart. So the run has to
show that one of them is the target of each pixel of what is made of the other.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import SEPARATE_DRAWS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_dotted_name,
    iter_assignments,
)

DRAWS = frozenset(
    "random rand uniform randint randrange choice bernoulli integers".split()
)
TURNS = (
    "flip",
    "rot",
    "crop",
    "affine",
    "warp",
    "mirror",
    "transpose",
    "roll",
    "shift",
)
"""Parts of the names of functions that move pixels."""
RESTARTS = re.compile(r"seed|set_?state|set_rng_state")
"""Functions by which two draws begin alike."""
LOSSES = operators_with("is_loss")
DIFFERENCES = operators_with("subtracts")
FROM_DATA = operators_with("takes_program_data")


def find_separate_draws(scene: RehearsalContext) -> Iterator[Finding]:
    """Find functions that turn two of their results by two draws."""
    pairs = [
        (text, *pair)
        for text in scene.program.own_texts()
        for _, function in text.functions()
        for pair in _find_pairs(text, function)
    ]
    if not pairs or not has_target_of_pixels(scene):
        return
    for text, first, second, names in pairs:
        yield build_finding(
            SEPARATE_DRAWS,
            f"`{names[1]}` is turned by a draw of its own: in part of the samples it no"
            f" longer fits `{names[0]}`, whose target it is",
            text.span(second),
            (text.span(first), f"the draw for `{names[0]}`"),
        )


def _find_pairs(
    text: SourceText, function: ast.AST
) -> Iterator[tuple[ast.expr, ast.expr, tuple[str, str]]]:
    """Yield two conditions that draw, and the names that are turned under each."""
    nodes = list(ast.walk(function))
    if any(RESTARTS.search(get_called_name(node)) for node in nodes):
        return
    returned = set[str]()
    for node in nodes:
        if isinstance(node, ast.Return) and node.value is not None:
            returned |= collect_names(node.value)
    yield from _find_same_calls(text, function, returned)
    turned: list[tuple[ast.expr, str]] = []
    for node in nodes:
        if isinstance(node, ast.If) and not node.orelse and is_drawn(node.test):
            names = _get_turned_names(node.body)
            if len(names) == 1:
                turned.append((node.test, names.pop()))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.IfExp):
            names = _get_turned_names([node])
            if is_drawn(node.value.test) and len(names) == 1:
                turned.append((node.value.test, names.pop()))
    known = [(test, name) for test, name in turned if name in returned]
    for (first, name), (second, other) in pairwise(known):
        counts = [sum(other == name for _, other in known) for name in (name, other)]
        if name != other and counts == [1, 1]:
            yield first, second, (name, other)


def _find_same_calls(
    text: SourceText, function: ast.AST, returned: set[str]
) -> Iterator[tuple[ast.expr, ast.expr, tuple[str, str]]]:
    """Yield two calls of what draws and moves pixels, one for the image and one for the
    mask, whose results a function returns.
    """
    calls: dict[str, list[tuple[ast.Call, str, str]]] = {}
    others: dict[str, list[ast.Call]] = {}
    results = list(_iter_results(function))
    for target, call in results:
        name = text.written(target) if target is not None else ""
        own = [text.written(argument) for argument in call.args]
        if own and any(map(_is_draw_of_file(text), call.args[1:])):
            others.setdefault(text.written(call.func), []).append(call)
        name = name or (own[0] if own else "")
        if (
            own
            and (target is None or name in returned)
            and _is_moved_by_draw(text, call)
        ):
            calls.setdefault(text.written(call.func), []).append((call, name, own[0]))
    for same in calls.values():
        for (first, name, data), (second, other, more) in pairwise(same):
            if name != other and data != more:
                yield first, second, (name, other)
    for called, drawn in others.items():
        same_calls = [c for _, c in results if text.written(c.func) == called]
        moves = any(
            is_turn(node)
            for _, moving in text.functions(get_called_name(drawn[0]))
            for node in ast.walk(moving)
        )
        if moves and len(same_calls) == 2 and same_calls[1] in drawn:
            names = [text.written(call.args[0]) for call in same_calls]
            if names[0] != names[1]:
                yield same_calls[0], same_calls[1], (names[0], names[1])


def _is_draw_of_file(text: SourceText) -> Callable[[ast.expr], bool]:
    """Return a function that tells calls which draw: by a library, or by a function of
    the file.
    """

    def is_draw(node: ast.expr) -> bool:
        name = get_called_name(node)
        return name in DRAWS or any(
            get_called_name(inner) in DRAWS
            for _, function in (text.functions(name) if name else ())
            for inner in ast.walk(function)
        )

    return is_draw


def _iter_results(function: ast.AST) -> Iterator[tuple[ast.expr | None, ast.Call]]:
    """Yield the calls whose results are given a name, with it, and those that are
    returned beside others.
    """
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            for item in node.value.elts:
                if isinstance(item, ast.Call):
                    yield None, item
    for target, value in iter_assignments(function, unpacked=True):
        if isinstance(value, ast.Call) and isinstance(target, ast.Name):
            yield target, value


def _is_moved_by_draw(text: SourceText, call: ast.Call) -> bool:
    """Return whether a call moves pixels by a draw of its own: a function of the file,
    or a transform of a class that does so.
    """
    name = get_called_name(call)
    functions = text.functions(name)
    if functions:
        return any(_is_drawing(function) for _, function in functions)
    owner = get_dotted_name(call.func).rpartition(".")[0]
    if owner and not owner.startswith("self"):
        return False  # of a library
    if not any(word in name.lower() for word in (*TURNS, "transform", "aug", "turn")):
        return False
    return any(
        (
            isinstance(node, ast.Call)
            and get_called_name(node).startswith("Random")
            and any(word in get_called_name(node).lower() for word in TURNS)
            and not _is_certain(node)
        )
        or (
            isinstance(node, ast.FunctionDef)
            and node.name in ("__call__", "forward")
            and _is_drawing(node)
        )
        for node in text.nodes
    )


def _is_certain(call: ast.Call) -> bool:
    """Return whether a random flip is one that always or never flips (`p=1.0`)."""
    chance = next((word.value for word in call.keywords if word.arg == "p"), None)
    if chance is None:
        chance = next(iter(call.args), None)
    certain = isinstance(chance, ast.Constant) and chance.value in (0, 1)
    return certain and get_called_name(call).endswith("Flip")


def _is_drawing(function: ast.AST) -> bool:
    """Return whether a function draws a number and moves pixels by it."""
    nodes = list(ast.walk(function))
    if any(RESTARTS.search(get_called_name(node)) for node in nodes):
        return False
    drawn: set[str] = set()
    for target, value in iter_assignments(function):
        if any(get_called_name(part) in DRAWS for part in ast.walk(value)):
            drawn |= collect_names(target)
    conditions = (n.test for n in nodes if isinstance(n, ast.If | ast.IfExp))
    moves = [node for node in nodes if is_turn(node)]
    if moves and any(is_drawn(test) for test in conditions):
        return True
    moves += [node for node in nodes if isinstance(node, ast.Slice)]
    return any(
        collect_names(move) & drawn
        or any(get_called_name(part) in DRAWS for part in ast.walk(move))
        for move in moves
    )


def is_drawn(test: ast.expr) -> bool:
    """Return whether a condition draws a random number itself."""
    return any(get_called_name(node) in DRAWS for node in ast.walk(test))


def _get_turned_names(body: list[ast.stmt]) -> set[str]:
    """Return the names that statements assign; none if one of them moves no pixels."""
    names: set[str] = set()
    for statement in body:
        if not isinstance(statement, ast.Assign):
            return set()
        if not any(is_turn(node) for node in ast.walk(statement.value)):
            return set()
        for target in statement.targets:
            names |= collect_names(target)
    return names


def is_turn(node: ast.AST) -> bool:
    """Return whether an expression moves pixels: a flip, a crop, `[::-1]`."""
    if isinstance(node, ast.Slice) and isinstance(node.step, ast.UnaryOp):
        return True
    return any(word in get_called_name(node).lower() for word in TURNS)


def has_target_of_pixels(scene: RehearsalContext) -> bool:
    """Return whether a loss compares each pixel of a prediction with a batch's target.

    The prediction must come of another tensor of the batch.
    """
    sources: dict[int, frozenset[int]] = {}
    data = set(scene.program.batches) or _list_data(scene)
    for op in scene.program.trace.ops:
        come = frozenset[int]()
        for fact in op.inputs:
            own = {fact.tensor} if fact.tensor in data else set()
            come |= sources.get(fact.tensor, frozenset(own))
        name = op.name.rpartition(".")[2]
        if (name in LOSSES or name in DIFFERENCES) and len(op.inputs) > 1:
            prediction, target = op.inputs[:2]
            if name in DIFFERENCES and not prediction.requires_grad:
                prediction, target = target, prediction
            sides = [
                sources.get(fact.tensor) or frozenset({fact.tensor} & data)
                for fact in (prediction, target)
            ]
            pixels = min((*prediction.shape[-2:], *target.shape[-2:]), default=1)
            same = prediction.shape[-2:] == target.shape[-2:]
            dense = same and len(target.shape) > 2 and pixels > 1 and all(sides)
            if dense and len(sides[1]) == 1 and not sides[0] & sides[1]:
                return True
        for out in op.outputs:
            if come:
                sources.setdefault(out.tensor, come)
    return False


def _list_data(scene: RehearsalContext) -> set[int]:
    """Return the tensors of pictures that a program without loaders takes as they are:
    of floats, and no parameters.
    """
    ops = scene.program.trace.ops
    taken = {
        fact.tensor
        for op in ops
        if op.name.rpartition(".")[2] in FROM_DATA
        for fact in op.outputs
    }
    produced = set(scene.program.producers) - taken
    return {
        fact.tensor
        for op in ops
        for fact in op.inputs
        if fact.tensor not in produced
        and fact.tensor not in scene.program.states
        and fact.ndim > 2
        and not fact.requires_grad
    }
