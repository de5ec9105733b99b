"""Find seeds that are set again in each epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import SAME_DRAWS, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    LOOPS,
    collect_names,
    get_called_name,
    get_dotted_name,
    get_last_line,
)

SEEDING = frozenset({"torch.manual_seed", "torch.cuda.manual_seed_all"})
KEEPING = frozenset({"fork_rng", "get_rng_state", "set_rng_state"})
"""Functions that put the state of random numbers back."""


@looks_for(SAME_DRAWS)
def find_same_draws(scene: RehearsalContext) -> Iterator[Finding]:
    """Find seeds that are the same in each turn of a loop that trains one model."""
    built = [optimizer.built for optimizer in scene.training.optimizers]
    for file in scene.program.trace.sources:
        text = scene.program.text(file)
        if text is None or any(get_called_name(node) in KEEPING for node in text.nodes):
            continue
        lines = [place[1] for place in built if place[0] == file]
        for node in text.nodes:
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.expr):
                continue
            if get_dotted_name(node.func) not in SEEDING or not node.args:
                continue
            function = text.around(node, ast.FunctionDef)
            for loop in _iter_turning_loops(text, node):
                if not any(_is_within(line, loop, function) for line in lines):
                    yield build_finding(
                        SAME_DRAWS,
                        "the seed is set again in each turn of the training: all of"
                        " them draw the same noise, the same dropout and the same"
                        " order of the samples",
                        text.span(node),
                        (text.span(loop).start, "the loop whose turns draw the same"),
                    )
                    break


def _iter_turning_loops(text: SourceText, seed: ast.Call) -> Iterator[ast.For]:
    """Yield the loops that train and in each turn of which the same seed is set."""
    function = text.around(seed, ast.FunctionDef)
    names = collect_names(seed.args[0])
    for outer in text.outwards(seed):
        if isinstance(outer, ast.If):
            return  # not in each turn
        if not isinstance(outer, ast.For) or names & _collect_bound(outer):
            if outer is function:
                break
        elif _has_backward(text, outer):
            yield outer
    if function is None or text.around(seed, *LOOPS) is not None:
        return
    parameters = {argument.arg for argument in function.args.args}
    if names & (parameters | _collect_bound(function)):
        return
    if not any(get_called_name(n) == "backward" for n in ast.walk(function)):
        return
    for node in text.nodes:
        if isinstance(node, ast.Call) and _is_call_of(text, node, function):
            for outer in text.outwards(node):
                if isinstance(outer, ast.For):
                    yield outer


def _is_call_of(text: SourceText, call: ast.Call, function: ast.FunctionDef) -> bool:
    """Return whether a call is of this function, and not of `model.train()`."""
    is_method = isinstance(text.parent(function), ast.ClassDef)
    if isinstance(call.func, ast.Name):
        return call.func.id == function.name and not is_method
    of_modules = function.name in ("train", "eval") and not call.args
    return is_method and get_called_name(call) == function.name and not of_modules


def _is_within(line: int, *scopes: ast.For | ast.FunctionDef | None) -> bool:
    """Return whether a line stands in a loop or function."""
    return any(
        scope.lineno <= line <= get_last_line(scope)
        for scope in scopes
        if scope is not None
    )


def _collect_bound(scope: ast.AST) -> set[str]:
    """Return the names that are assigned within a loop or function."""
    return {
        node.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _has_backward(text: SourceText, loop: ast.For) -> bool:
    """Return whether the turns of a loop compute gradients, or call what does."""
    called = {get_called_name(node) for node in ast.walk(loop)}
    if "backward" in called:
        return True
    return any(
        any(get_called_name(node) == "backward" for node in ast.walk(function))
        for own, function in text.functions()
        if own.rpartition(".")[2] in called
    )
