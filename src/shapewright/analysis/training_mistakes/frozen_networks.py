"""Find networks that only measure or guide, which are left in training mode while the
program sets another one to evaluation: the features of a metric, a frozen teacher.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from shapewright.analysis.training_mistakes.compared_modes import (
    describe_layers,
    is_in_training_mode,
)
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import EVALUATED_IN_TRAINING_MODE
from shapewright.findings.finding import Finding
from shapewright.program.spans import Span, is_installed
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name
from shapewright.record.ops import Op

KEPT_UP = re.compile(r"ema|momentum|target|swa|average", re.I)
"""Parts of names of networks that are written while another one is trained."""
ACTING = "this layer acts as in training"
CONTAINERS = ("Sequential", "ModuleList")


def find_frozen_networks(scene: RehearsalContext) -> Iterator[Finding]:
    """Find networks that no call trains and no call sets to a mode, whose dropout or
    batch norm acts as in training, in a program that sets another to evaluation.
    """
    names, has_evaluated = _collect_modes(scene)
    if not has_evaluated:
        return
    calls: dict[str, list[tuple[Span, Op]]] = {}
    learning = set(map(partial(_get_class, scene), _iter_written(scene)))
    for op in scene.program.trace.ops:
        call = _find_own_call(scene, op) if op.module else None
        if call is not None:
            calls.setdefault(call[1], []).append((call[0], op))
        if op.module and any(fact.requires_grad for fact in op.outputs):
            learning |= {_get_class(scene, op.module), *(call[1:] if call else ())}
    learning.discard("")
    for name, own in calls.items():
        if name in learning | names or KEPT_UP.search(name):
            continue
        active = [(at, op) for at, op in own if is_in_training_mode(scene, op)]
        if not active or _get_class(scene, active[0][1].module) in learning:
            continue
        span, op = active[0]
        places = {part.name: (part.span, ACTING) for _, part in active[::-1]}
        if "." not in op.module and op.frames[-1].span == span:
            continue  # a layer of its own knows what it is called for
        layers = {op.name.rpartition(".")[2] for _, op in active}
        yield build_finding(
            EVALUATED_IN_TRAINING_MODE,
            f"`{name}` is used in training mode and trained by nothing:"
            f" {describe_layers(layers)}",
            span,
            *places.values(),
            *_iter_places(scene, op),
        )


def _iter_places(scene: RehearsalContext, op: Op) -> Iterator[tuple[Span, str]]:
    """Yield where a network is built."""
    built = scene.program.built.get(op.module.partition(".")[0])
    if built is None or built.span is None or "." not in op.module:
        return
    if built.class_name not in CONTAINERS:
        yield built.span, f"`{built.class_name}` is built here, in training mode"


def _collect_modes(scene: RehearsalContext) -> tuple[set[str], bool]:
    """Return what is set to a mode, and whether anything is set to evaluation."""
    names, has_evaluated = set[str](), False
    for text in scene.program.own_texts():
        for node in text.nodes:
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr in ("eval", "train"):
                names.add(text.written(called.value))
                has_evaluated |= called.attr == "eval"
    return names, has_evaluated


def _get_class(scene: RehearsalContext, path: str) -> str:
    """Return the class of the network that a layer belongs to, or "" for a list."""
    built = scene.program.built.get(path.partition(".")[0])
    is_named = built is not None and built.class_name not in CONTAINERS
    return built.class_name if built is not None and is_named else ""


def _iter_written(scene: RehearsalContext) -> Iterator[str]:
    """Yield the parameters that a call writes after their network was called."""
    called = set[str]()
    paths = {state.fact.storage: state.path for state in scene.program.trace.states}
    for op in scene.program.trace.ops:
        called.add(op.module.partition(".")[0])
        if op.kind == "inplace" and op.inputs:
            path = paths.get(op.inputs[0].storage, "")
            is_called = path.partition(".")[0] in called
            if is_called and path.endswith(("weight", "bias")):
                yield path


def _find_own_call(scene: RehearsalContext, op: Op) -> tuple[Span, str] | None:
    """Return the call by which the program reaches a layer from outside of a class of
    modules, and what is called there.
    """
    for frame in reversed(op.frames):
        place = scene.program.call_at(frame.span)
        if place is None or is_installed(frame.span.file):
            continue
        text, call = place
        owner = text.around(call, ast.ClassDef)
        if owner is not None and any(
            isinstance(part, ast.FunctionDef) and part.name == "forward"
            for part in owner.body
        ):
            continue
        called = call.func
        if get_called_name(call) == "update_bn":
            return None  # it computes statistics anew, in training mode
        name = get_dotted_name(called)
        if isinstance(called, ast.Attribute) and not name.startswith("self."):
            name = get_dotted_name(called.value)
        return (frame.span, name) if name else None
    return None
