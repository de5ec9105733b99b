"""Find generators of random numbers that each epoch makes anew with one seed.

Only the text shows them: `torch.Generator().manual_seed(seed)` sets no seed of torch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import SEED_REPEATED
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
    get_last_name,
    iter_assignments,
)

MAKING = frozenset({"default_rng", "RandomState", "Random"})
EVALUATION = re.compile(r"(?i)eval|valid|test|plot|sample_")
OPTIMIZER = re.compile(r"optim|SGD|Adam|RMSprop|LBFGS|\.parameters\(\)")


def find_new_generators(
    scene: RehearsalContext, has_pass: Callable[[SourceText, ast.Call], bool]
) -> Iterator[Finding]:
    """Find generators that a loop over epochs makes with one seed, and that the
    training draws from.
    """
    for text in scene.program.own_texts():
        for node in text.nodes:
            seed = _get_seed(node) if isinstance(node, ast.Call) else None
            if seed is None or not isinstance(node, ast.Call):
                continue
            loop = _find_epochs(text, node)
            if loop is None or not _is_one(text, seed, loop):
                continue
            name = _find_name(text, node)
            if name and _is_drawn_in_training(text, node, name, has_pass):
                yield build_finding(
                    SEED_REPEATED,
                    f"`{name}` is made anew with the seed `{text.written(seed)}` in"
                    " each epoch: all epochs draw the same numbers",
                    text.span(node),
                    (text.span(loop.iter), "each turn of this loop makes it"),
                )


def _get_seed(call: ast.Call) -> ast.expr | None:
    """Return the seed with which a call makes a generator, or None."""
    name = get_called_name(call)
    if name == "manual_seed" and get_called_name(get_receiver(call) or call) != (
        "Generator"
    ):
        return None
    if name not in MAKING | {"manual_seed"} or len(call.args) != 1:
        return None
    return call.args[0]


def _find_epochs(text: SourceText, call: ast.Call) -> ast.For | None:
    """Return the loop whose turns make a generator: around the call, or around the
    only call of its function. No optimizer is built in it.
    """
    around = text.around(call, *LOOPS, *FUNCTIONS)
    if isinstance(around, ast.FunctionDef) and around.name != "__init__":
        calls = [
            node
            for node in text.nodes
            if isinstance(node, ast.Call) and get_called_name(node) == around.name
        ]
        if len(calls) != 1 or set(_list_parameters(around)) & collect_names(call):
            return None
        around = text.around(calls[0], *LOOPS, *FUNCTIONS)
    if not isinstance(around, ast.For) or _has_optimizer(text, around, set()):
        return None
    return around


def _list_parameters(function: ast.FunctionDef) -> list[str]:
    names = [arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)]
    return [name for name in names if name != "self"]


def _has_optimizer(text: SourceText, scope: ast.AST, seen: set[ast.AST]) -> bool:
    """Return whether a loop, or what it calls, builds an optimizer or a model: each
    turn is a training of its own then.
    """
    for node in ast.walk(scope):
        if not isinstance(node, ast.Call):
            continue
        name = get_called_name(node)
        if name[:1].isupper() and OPTIMIZER.search(text.written(node)):
            return True
        for _, part in text.definitions(name):
            if part in seen or part is scope:
                continue
            seen.add(part)
            if _has_optimizer(text, part, seen):
                return True
    return False


def _is_one(text: SourceText, seed: ast.expr, loop: ast.For) -> bool:
    """Return whether a seed is the same in each turn: a number, or a name or attribute
    that is set once.
    """
    if isinstance(seed, ast.Constant):
        return isinstance(seed.value, int)
    if not isinstance(seed, ast.Name | ast.Attribute):
        return False
    name = get_last_name(seed)
    settings = [
        target
        for target, _ in iter_assignments(text.tree)
        for part in ast.walk(target)
        if isinstance(part, ast.Name | ast.Attribute) and get_last_name(part) == name
    ]
    grown = any(
        isinstance(node, ast.AugAssign) and get_last_name(node.target) == name
        for node in text.nodes
    )
    changing = name in collect_names(loop, ast.Store)
    return len(settings) <= 1 and not grown and not changing


def _find_name(text: SourceText, call: ast.Call) -> str:
    """Return the name that a generator is assigned, or an empty string."""
    statement = text.parent(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _is_drawn_in_training(
    text: SourceText,
    call: ast.Call,
    name: str,
    has_pass: Callable[[SourceText, ast.Call], bool],
) -> bool:
    """Return whether a generator is read before a backward pass behind it, in its
    function or loop, and by no evaluation.
    """
    around = text.around(call, *LOOPS, *FUNCTIONS)
    inside = list(ast.walk(around)) if around is not None else []
    passes = [
        node.lineno
        for node in inside
        if isinstance(node, ast.Call)
        and node.lineno > call.lineno
        and has_pass(text, node)
    ]
    reads = [
        node
        for node in inside
        if isinstance(node, ast.Name) and node.id == name
        if isinstance(node.ctx, ast.Load) and node.lineno <= max(passes, default=0)
    ]
    return any(
        not EVALUATION.search(text.written(text.statement_of(node)).partition("\n")[0])
        for node in reads
    )
