"""Find updates of copies of a model that go the wrong way, or nowhere: a trained model
that gets the weights of its copy, parameters whose name in a loop gets a new tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import (
    REBOUND_PARAMETER,
    REVERSED_UPDATE,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
    get_dotted_name,
    is_optimizer,
    iter_assignments,
    list_reads,
)

STATES = frozenset({"parameters", "named_parameters", "buffers"})
"""Methods over whose results an update of a copy loops."""


# -- a model that gets the weights of its copy -----------------------------------------


@looks_for(REVERSED_UPDATE)
def find_reversed_updates(scene: RehearsalContext) -> Iterator[Finding]:
    """Find copies that nothing changes, and that the trained model is moved toward."""
    for text in scene.program.own_texts():
        trained = set(iter_trained(text)) if "backward" in text.text else set()
        for copy, model, start in _iter_copies(text):
            updates = list(_iter_updates(text, start))
            to_model = [u for u in updates if u[1:] == (model, copy)]
            to_copy = [u for u in updates if u[1] == copy]
            if model not in trained or copy in trained or to_copy or not to_model:
                continue
            node = to_model[0][0]
            if not is_in_training(text, node) and not _is_in_step(text, node, start):
                continue
            yield build_finding(
                REVERSED_UPDATE,
                f"the trained `{model}` gets the weights of `{copy}` here, a copy of it"
                f" that nothing changes: `{copy}` is to follow `{model}`",
                text.span(node),
                (text.span(start), f"`{copy}` is a copy from here on"),
            )


def _is_in_step(text: SourceText, node: ast.expr, start: ast.expr) -> bool:
    """Return whether a method that trains makes an update, of a copy that the object is
    built with.
    """
    method, maker = (text.around(part, *FUNCTIONS) for part in (node, start))
    if method is None or getattr(maker, "name", "") != "__init__":
        return False
    called = {get_called_name(part) for part in ast.walk(method)}
    return {"backward", "step"} <= called


def iter_trained(text: SourceText) -> Iterator[str]:
    """Yield the models whose parameters an optimizer is built of."""
    for node in text.nodes:
        if isinstance(node, ast.Call) and get_called_name(node) == "parameters":
            outer = text.parent(node)
            owner = get_receiver(node)
            name = get_dotted_name(owner) if owner is not None else ""
            if not name or not isinstance(outer, ast.Call):
                continue
            if is_optimizer(outer) or "optim" in ast.unparse(outer):
                yield name


def _iter_copies(text: SourceText) -> Iterator[tuple[str, str, ast.expr]]:
    """Yield the names of copies, of what they are copies, and where they become so."""
    for target, value in iter_assignments(text.tree):
        while isinstance(value, ast.Call) and get_called_name(value) != "deepcopy":
            owner = get_receiver(value)
            if owner is None or not isinstance(owner, ast.Call):
                break
            value = owner  # `deepcopy(model).eval()`
        if get_called_name(value) == "deepcopy" and isinstance(value, ast.Call):
            model = get_dotted_name(value.args[0]) if value.args else ""
            if model and get_dotted_name(target):
                yield get_dotted_name(target), model, value
    for node in text.nodes:
        pair = read_load(node)
        if pair is not None and text.around(node, *LOOPS) is None:
            assert isinstance(node, ast.Call)
            yield (*pair, node)


def read_load(node: ast.AST) -> tuple[str, str] | None:
    """Return the models of `copy.load_state_dict(model.state_dict())`."""
    if not isinstance(node, ast.Call) or get_called_name(node) != "load_state_dict":
        return None
    state = node.args[0] if node.args else None
    owners = [get_receiver(node)]
    if isinstance(state, ast.Call) and get_called_name(state) == "state_dict":
        owners.append(get_receiver(state))
    names = [get_dotted_name(owner) for owner in owners if owner is not None]
    return (names[0], names[1]) if len(names) == 2 and all(names) else None


def _iter_updates(
    text: SourceText, start: ast.expr
) -> Iterator[tuple[ast.expr, str, str]]:
    """Yield where a model gets weights, with its name and that of their source."""
    for node in text.nodes:
        pair = read_load(node)
        if pair is not None and node is not start and isinstance(node, ast.Call):
            yield (node, *pair)
        if not isinstance(node, ast.For) or get_called_name(node.iter) != "zip":
            continue
        names = [
            part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)
        ]
        owners = [_get_owner(part) for part in getattr(node.iter, "args", [])]
        if len(names) != 2 or len(owners) != 2 or not all(owners):
            continue
        for written in _iter_written(node):
            if written in names:
                at = names.index(written)
                yield node.iter, owners[at], owners[1 - at]


def _get_owner(node: ast.expr) -> str:
    """Return `model` of `model.parameters()`."""
    if isinstance(node, ast.Call) and get_called_name(node) in STATES:
        owner = get_receiver(node)
        return get_dotted_name(owner) if owner is not None else ""
    return ""


def _iter_written(loop: ast.For) -> Iterator[str]:
    """Yield the names whose tensors a loop writes in place."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and get_called_name(node).endswith("_"):
            owner = get_receiver(node)
            while isinstance(owner, ast.Call):
                owner = get_receiver(owner)
            if owner is not None:
                yield get_dotted_name(owner).removesuffix(".data")
        elif isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Attribute) and target.attr == "data":
                    yield get_dotted_name(target.value)


def is_in_training(text: SourceText, node: ast.expr) -> bool:
    """Return whether a loop around an update also steps, outside of which its optimizer
    is built: no fold or trial that begins anew.
    """
    for loop in text.outwards(node):
        if not isinstance(loop, ast.For | ast.While):
            continue
        called = {get_called_name(part) for part in ast.walk(loop)}
        if "step" in called:
            return "parameters" not in {
                get_called_name(part)
                for part in ast.walk(loop)
                if isinstance(text.parent(part), ast.Call)
                and "optim" in ast.unparse(text.parent(part) or part)
            }
    return False


# -- names that get a new tensor -------------------------------------------------------


@looks_for(REBOUND_PARAMETER)
def find_rebound_parameters(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loops over parameters that give the loop's name a new tensor."""
    for text in scene.program.own_texts():
        for loop in text.nodes:
            if not isinstance(loop, ast.For) or not _is_over_parameters(loop.iter):
                continue
            names = collect_names(loop.target, ast.Store)
            for statement in ast.walk(loop):
                if not isinstance(statement, ast.Assign):
                    continue
                target = statement.targets[0]
                if not isinstance(target, ast.Name) or target.id not in names:
                    continue
                is_new = isinstance(statement.value, ast.BinOp)
                own = target.id in collect_names(statement.value)
                if not is_new or not own or _is_read_behind(loop, statement, target.id):
                    continue
                yield build_finding(
                    REBOUND_PARAMETER,
                    f"`{target.id}` is a new tensor from here on, and the parameter"
                    " that it was stays as it is: nothing reads the new one",
                    text.span(statement),
                    (text.span(loop.iter), "the loop goes over parameters"),
                )


def _is_over_parameters(iterated: ast.expr) -> bool:
    """Return whether a loop goes over parameters, alone or side by side."""
    parts = iterated.args if get_called_name(iterated) == "zip" else [iterated]  # type: ignore[attr-defined]
    return bool(parts) and all(
        isinstance(part, ast.Call) and get_called_name(part) in STATES for part in parts
    )


def _is_read_behind(loop: ast.For, statement: ast.Assign, name: str) -> bool:
    """Return whether a loop reads a name behind the statement that sets it."""
    end = statement.end_lineno or statement.lineno, statement.end_col_offset or 0
    return any((node.lineno, node.col_offset) >= end for node in list_reads(loop, name))
