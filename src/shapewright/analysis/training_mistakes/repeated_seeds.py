"""Find seeds that are set anew in each epoch, so that all draw the same numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import SEED_REPEATED, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import LOOPS, get_called_name
from shapewright.record.report import Observation

DRAWS = operators_with("is_random") | {"permutation", "shuffle"}
SEEDING = frozenset({"manual_seed", "manual_seed_all", "seed"})
KEEPING = frozenset({"fork_rng", "get_rng_state", "set_rng_state"})
"""Functions that put the state of random numbers back."""
DEEPEST = 3
"""Functions within functions that are looked into for a backward pass."""


@looks_for(SEED_REPEATED)
def find_repeated_seeds(scene: RehearsalContext) -> Iterator[Finding]:
    """Find seeds of a training that are set again between its steps."""
    seen: set[object] = set()
    yield from _find_new_generators(scene)
    met_seeds = list(scene.observations("seed-repeated"))
    drawn = _find_draw(scene) if met_seeds and not _is_kept(scene) else ""
    for met in met_seeds if drawn else ():
        for text, call in _iter_seeding_calls(scene, met):
            around = text.around(call, *LOOPS, ast.FunctionDef)
            is_read = around is not None and _is_read_in_training(scene, met, around)
            if around is None or not (is_read or _has_pass_behind(text, around, call)):
                continue
            if around not in seen:
                seen.add(around)
                yield build_finding(
                    SEED_REPEATED,
                    f"the seed is set to {met.name} again in each epoch: all epochs"
                    f" draw the same {drawn if _is_of_torch(call) else 'numbers'}",
                    text.span(call),
                    (scene.span(met.place, *SEEDING), "the seed is set here"),
                )
            break


def _find_new_generators(scene: RehearsalContext) -> Iterator[Finding]:
    """Find generators that are built with one seed in each epoch."""
    for text in scene.program.own_texts():
        for statement in text.nodes:
            if not isinstance(statement, ast.Assign):
                continue
            seeding = statement.value
            if get_called_name(seeding) not in SEEDING:
                continue
            generator = ast.unparse(statement.targets[0])
            if "Generator()" not in ast.unparse(seeding) or "epoch" in ast.unparse(
                seeding
            ):
                continue
            function = text.around(statement, ast.FunctionDef)
            around = text.around(statement, ast.For, ast.FunctionDef)
            if around is None or not _is_of_epoch(text, around, function):
                continue
            draws = [
                node
                for node in ast.walk(around)
                if get_called_name(node) in DRAWS
                and isinstance(node, ast.Call)
                and any(ast.unparse(w.value) == generator for w in node.keywords)
            ]
            assert isinstance(seeding, ast.Call)
            if draws and _has_pass_behind(text, around, seeding):
                yield build_finding(
                    SEED_REPEATED,
                    "this generator begins with the same seed in each epoch: all epochs"
                    " draw the same numbers",
                    text.span(statement),
                    (text.span(draws[0]), "they are drawn here"),
                )


def _is_of_epoch(
    text: SourceText, around: ast.AST, function: ast.FunctionDef | None
) -> bool:
    """Return whether a loop, or a function, is of one epoch of several: its calls stand
    in a loop.
    """
    if isinstance(around, ast.For):
        inner = [n for n in ast.walk(around) if isinstance(n, ast.For)]
        return len(inner) > 1
    calls = [
        node
        for node in text.nodes
        if function is not None
        and isinstance(node, ast.Call)
        and get_called_name(node) == function.name
    ]
    return bool(calls) and all(
        text.around(call, *LOOPS, ast.ListComp, ast.FunctionDef) is not None
        and not isinstance(
            text.around(call, *LOOPS, ast.ListComp, ast.FunctionDef), ast.FunctionDef
        )
        for call in calls
    )


def _is_of_torch(call: ast.Call) -> bool:
    """Return whether a call seeds torch, not NumPy or Python."""
    return get_called_name(call) != "seed"


def _is_kept(scene: RehearsalContext) -> bool:
    """Return whether a program puts the state of random numbers back somewhere."""
    texts = [scene.program.text(file) for file in scene.program.trace.sources]
    return any(
        get_called_name(node) in KEEPING
        for text in texts
        if text is not None
        for node in text.nodes
    )


def _iter_seeding_calls(
    scene: RehearsalContext, met: Observation
) -> Iterator[tuple[SourceText, ast.Call]]:
    """Yield the call that sets a seed, and the call of a function that does no more, as
    its name says, or that draws behind it.
    """
    names = SEEDING
    for place in (met.place, met.other):
        text = scene.program.text(place[0]) if place is not None else None
        if place is None or text is None:
            return
        calls = [
            node
            for node in text.near(place[1])
            if isinstance(node, ast.Call) and get_called_name(node) in names
        ]
        if not calls:
            return
        yield text, calls[0]
        function = text.around(calls[0], ast.FunctionDef)
        is_seeding = function is not None and (
            "seed" in function.name or _is_drawn_behind(function, calls[0])
        )
        if function is None or not is_seeding:
            return
        names = frozenset({function.name})


def _is_read_in_training(
    scene: RehearsalContext, met: Observation, around: ast.AST
) -> bool:
    """Return whether a function that seeds and draws is a generator over which a
    training loops.
    """
    is_generator = any(
        isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(around)
    )
    text = scene.program.text(met.other[0]) if met.other is not None else None
    if not is_generator or text is None or met.other is None:
        return False
    return any(
        get_called_name(node) == "backward"
        for loop in text.for_loops(met.other[1])
        for node in ast.walk(loop)
    )


EVALUATING = frozenset({"eval", "no_grad", "inference_mode"})


def _is_drawn_behind(function: ast.FunctionDef, call: ast.Call) -> bool:
    """Return whether a function draws random numbers behind the call that seeds, and is
    no evaluation, which may draw the same each time.
    """
    called = {get_called_name(node) for node in ast.walk(function)}
    return not called & EVALUATING and any(
        get_called_name(node) in DRAWS and node.lineno > call.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
    )


def _has_pass_behind(text: SourceText, around: ast.AST, call: ast.Call) -> bool:
    """Return whether a backward pass follows a call in its loop or its function."""
    if any(get_called_name(node) == "backward" for node in text.outwards(call)):
        return True  # `criterion(model(corrupt(x)), y).backward()`
    last = call.end_lineno or call.lineno
    calls = [
        node
        for node in ast.walk(around)
        if isinstance(node, ast.Call) and node.lineno > last
    ]
    return any(_has_pass(text, node, 0) for node in calls)


def _has_pass(text: SourceText, call: ast.Call, depth: int) -> bool:
    """Return whether a call is a backward pass, or its function has one."""
    name = get_called_name(call)
    if name == "backward":
        return True
    if depth == DEEPEST or not name:
        return False
    return any(
        _has_pass(text, inner, depth + 1)
        for _, function in text.functions(name)
        for inner in ast.walk(function)
        if isinstance(inner, ast.Call) and get_called_name(inner) != name
    )


def _find_draw(scene: RehearsalContext) -> str:
    """Return what a training draws at random, or an empty string."""
    ops = scene.program.trace.ops
    first = next((op.index for op in ops if op.name.endswith("backward")), len(ops))
    for op in ops[first:]:
        name = op.name.rpartition(".")[2]
        if name in DRAWS:
            return "masks of dropout" if "dropout" in name else "numbers"
    if any(True for _ in scene.observations("shuffled")):
        return "order of samples"
    return ""
