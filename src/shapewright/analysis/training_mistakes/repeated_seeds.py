"""Find seeds that are set anew in each epoch, so that all draw the same numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.epoch_generators import (
    find_new_generators,
)
from shapewright.analysis.training_mistakes.item_seeds import find_item_seeds
from shapewright.findings.codes import SEED_REPEATED, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import LOOPS, get_called_name
from shapewright.record.report import Observation

DRAWS = operators_with("is_random")
OF_ARRAYS = frozenset({"seed"})
"""`np.random.seed` and `random.seed`: what they draw is no call of torch."""
SEEDING = frozenset({"manual_seed", "manual_seed_all"}) | OF_ARRAYS
KEEPING = frozenset({"fork_rng", "get_rng_state", "set_rng_state"}) | {
    "get_state", "set_state", "getstate", "setstate",
}  # fmt: skip
"""Functions that put the state of random numbers back."""
DEEPEST = 3
"""Functions within functions that are looked into for a backward pass."""


@looks_for(SEED_REPEATED)
def find_repeated_seeds(scene: RehearsalContext) -> Iterator[Finding]:
    """Find seeds of a training that are set again between its steps."""
    yield from find_item_seeds(scene)
    seen: set[object] = set()
    met_seeds = list(scene.observations("seed-repeated"))
    is_kept = _is_kept(scene)
    drawn = _find_draw(scene) if met_seeds and not is_kept else ""
    for met in met_seeds if not is_kept else ():
        for text, call in _iter_seeding_calls(scene, met):
            around = text.around(call, *LOOPS, ast.FunctionDef)
            if around is None or not _has_pass_behind(text, around, call):
                continue
            what = "numbers" if _is_of_arrays(scene, met) else drawn
            if not what:
                continue
            if around not in seen:
                seen.add(around)
                yield build_finding(
                    SEED_REPEATED,
                    f"the seed is set to {met.name} again in each epoch: all epochs"
                    f" draw the same {what}",
                    text.span(call),
                    (scene.span(met.place, *SEEDING), "the seed is set here"),
                )
            break
    if not is_kept:
        yield from find_new_generators(scene, _has_pass)


def _is_of_arrays(scene: RehearsalContext, met: Observation) -> bool:
    """Return whether the seed at a place is one of NumPy or of Python, which draw more
    behind it.
    """
    text = scene.program.text(met.place[0])
    return any(
        get_called_name(node) in OF_ARRAYS
        for node in (text.near(met.place[1]) if text is not None else ())
    )


def _is_kept(scene: RehearsalContext) -> bool:
    """Return whether a program puts the state of random numbers back somewhere."""
    texts = list(scene.program.own_texts())
    return any(
        get_called_name(node) in KEEPING
        for text in texts
        if text is not None
        for node in text.nodes
    )


def _iter_seeding_calls(
    scene: RehearsalContext, met: Observation
) -> Iterator[tuple[SourceText, ast.expr]]:
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
        loops = text.for_loops(place[1])
        if not calls and "__iter__" in names and loops:
            yield text, loops[0].iter
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


DRAWS_OF_ARRAYS = frozenset({"permutation", "shuffle", "uniform", "choice", "sample"})
"""Functions of NumPy and Python that draw, beside those that torch has too."""
EVALUATING = frozenset({"eval", "no_grad", "inference_mode"})


def _is_drawn_behind(function: ast.FunctionDef, call: ast.Call) -> bool:
    """Return whether a function draws random numbers behind the call that seeds, and is
    no evaluation, which may draw the same each time.
    """
    called = {get_called_name(node) for node in ast.walk(function)}
    return not called & EVALUATING and any(
        get_called_name(node) in DRAWS | DRAWS_OF_ARRAYS and node.lineno > call.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
    )


def _has_pass_behind(text: SourceText, around: ast.AST, call: ast.expr) -> bool:
    """Return whether a backward pass follows a call in its loop or its function."""
    if any(get_called_name(node) == "backward" for node in text.outwards(call)):
        return True  # `criterion(model(corrupt(x)), y).backward()`
    last = call.end_lineno or call.lineno
    calls = [
        node
        for node in ast.walk(around)
        if isinstance(node, ast.Call) and node.lineno > last
    ]
    return any(_has_pass(text, node) for node in calls)


def _has_pass(text: SourceText, call: ast.Call, depth: int = 0) -> bool:
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
