"""Find outputs of a model in evaluation mode that are compared with its outputs in
training mode, for one input.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import EVALUATED_IN_TRAINING_MODE
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, ModuleCall, Op, collect_leaves

DROPOUTS = operators_with("drops_elements")
COMPARING = operators_with("subtracts", "is_loss") | {
    "allclose",
    "equal",
    "isclose",
}
"""Calls that say how much two tensors differ, or whether."""
DELIBERATE = re.compile(
    r"train|eval|drop|stoch|noisy|perturb|(^|_)(mode|mc)(_|$)", re.I
)
"""Parts of names of outputs whose mode is meant to differ."""
FARTHEST = 5
"""Calls between an output of a model and its comparison."""


def find_compared_modes(scene: RehearsalContext) -> Iterator[Finding]:
    """Find two passes of one input through a model, one in each mode and neither with
    gradients, whose outputs are compared.
    """
    calls = [call for call in scene.program.trace.calls if is_outermost(scene, call)]
    owners = {
        leaf.tensor: call
        for call in calls
        for leaf in collect_leaves(call.output)
        if isinstance(leaf, Fact)
    }
    seen: set[object] = set()
    for op in scene.program.trace.ops if owners else ():
        if op.name.rpartition(".")[2] not in COMPARING or len(op.inputs) != 2:
            continue
        pair = [_find_owner(scene, fact, owners) for fact in op.inputs]
        known = sorted((c for c in pair if c is not None), key=lambda c: c.index)
        if len(known) != 2 or not _is_repeated(scene, *known):
            continue
        first, second = known
        modes = [_is_training(scene, call) for call in (first, second)]
        if modes[0] == modes[1] or _is_deliberate(scene, op):
            continue
        trained, other = (first, second) if modes[0] else (second, first)
        if trained.span is None or trained.span in seen:
            continue
        seen.add(trained.span)
        yield build_finding(
            EVALUATED_IN_TRAINING_MODE,
            f"this output of `{trained.class_name}` in training mode is compared with"
            f" one in evaluation mode: {describe_mode(scene, trained.class_name)}, so"
            " that the two differ for one input",
            trained.span,
            (other.span, "the output in evaluation mode"),
            (op.span, "they are compared here"),
        )


def _find_owner(
    scene: RehearsalContext, fact: Fact, owners: dict[int, ModuleCall]
) -> ModuleCall | None:
    """Return the call of a model whose output a tensor is computed of, alone."""
    for _ in range(FARTHEST):
        if fact.tensor in owners:
            return owners[fact.tensor]
        maker = scene.program.producers.get(fact.tensor)
        if maker is None or len(maker.inputs) != 1:
            return None
        fact = maker.inputs[0]
    return None


def _is_repeated(
    scene: RehearsalContext, first: ModuleCall, second: ModuleCall
) -> bool:
    """Return whether two calls are of one model with one input, without gradients and
    with no training between them.
    """
    if first.index == second.index or first.path != second.path:
        return False
    if first.class_name != second.class_name:
        return False
    inputs = [
        [leaf.tensor for leaf in collect_leaves(call.inputs) if isinstance(leaf, Fact)]
        for call in (first, second)
    ]
    ops = scene.program.trace.ops
    inside = (*ops[slice(*first.ops)], *ops[slice(*second.ops)])
    between = ops[first.ops[1] : second.ops[0]]
    return (
        bool(inputs[0])
        and inputs[0] == inputs[1]
        and not any(fact.requires_grad for op in inside for fact in op.outputs)
        and not any(op.name.rpartition(".")[2] == "backward" for op in between)
    )


def _is_training(scene: RehearsalContext, call: ModuleCall) -> bool:
    """Return whether a layer of a call acts as in training."""
    ops = scene.program.trace.ops[slice(*call.ops)]
    return any(is_in_training_mode(scene, op) for op in ops)


def _is_deliberate(scene: RehearsalContext, op: Op) -> bool:
    """Return whether a comparison says by its names that the modes differ, or asks for
    outputs that do.
    """
    place = scene.program.node(op.span)
    if place is None:
        return True
    text, node = place
    around = [node, *text.outwards(node)]
    is_denied = any(isinstance(getattr(part, "op", None), ast.Not) for part in around)
    names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
    return is_denied or any(map(DELIBERATE.search, names))


def describe_mode(scene: RehearsalContext, name: str) -> str:
    """Return what training mode does to the layers that a model of a class calls."""
    names = {
        op.name.rpartition(".")[2]
        for call in scene.program.trace.calls
        if call.class_name == name
        for op in scene.program.trace.ops[slice(*call.ops)]
        if is_in_training_mode(scene, op)
    }
    return describe_layers(names)


def describe_layers(names: set[str]) -> str:
    """Return what training mode does to calls of dropout and batch norm."""
    if not names:  # inside a layer that is one call
        return "its dropout or batch norm acts as in training"
    parts = []
    if names & DROPOUTS:
        parts.append("its dropout is active")
    if names - DROPOUTS:
        parts.append("its batch norm statistics include this data")
    return ", and ".join(parts)


def is_outermost(scene: RehearsalContext, call: ModuleCall) -> bool:
    """Return whether a model is called by no other module."""
    calls = scene.program.trace.calls
    return call.parent is None or (
        calls[call.parent].parent is None and not (calls[call.parent].path)
    )


def is_in_training_mode(scene: RehearsalContext, op: Op) -> bool:
    """Return whether a layer of dropout drops elements in a call, or one of batch norm
    goes on with its running statistics.
    """
    if scene.program.layer(op) is None:
        return False  # a function of the program, which knows no mode
    name, arguments = op.name.rpartition(".")[2], dict(op.arguments)
    if arguments.get("training") is not True:
        return False
    if name == "batch_norm":
        states = scene.program.states
        paths = [states.get(fact.tensor, "") for fact in op.inputs]
        return any(path.endswith("running_mean") for path in paths)
    return name in DROPOUTS and bool(arguments.get("p"))
