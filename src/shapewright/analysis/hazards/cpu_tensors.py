"""A tensor made on the CPU inside `forward`: it fails where the model has moved.

A factory without `device` makes its tensor on the CPU, wherever the model is. What is
followed here is who decided where a tensor is: the model and its inputs, the text (an
explicit device), or nobody.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import CPU_TENSOR, looks_for
from shapewright.findings.finding import Finding, Severity
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Op, collect_leaves

FACTORIES = {"normal", "cartesian_prod"} | (
    operators_with("is_factory") - operators_with("ignores_given_values")
)
FREE = operators_with("mixes_devices", "accepts_cpu_tensor")
"""Calls that take tensors on two devices, or move them."""
MOVES = operators_with("moves_device") | {"type_as"}


@looks_for(CPU_TENSOR)
def find_cpu_tensors(scene: HazardContext) -> Iterator[Finding]:
    """Find calls that combine a tensor of the model with a tensor created without a
    device.
    """
    program = scene.program
    inputs = set(program.inputs) or _find_model_inputs(program)
    if not scene.model or not inputs:
        return
    home = inputs | set(program.states)
    nowhere: dict[int, Op] = {}
    seen = set(home)
    for op in program.trace.ops:
        name = op.name.rpartition(".")[2]
        if name in MOVES:
            for fact in (*op.inputs[:1], *op.outputs):
                nowhere.pop(fact.tensor, None)
                seen.add(fact.tensor)
            if name == "to" and len(op.inputs) > 1:
                home.update(fact.tensor for fact in op.outputs)
            continue
        if not op.inputs and _is_deviceless(scene, op, name):
            for fact in op.outputs:
                nowhere[fact.tensor] = op
        if not op.inputs or _is_of_script(scene, op):
            continue
        for at, fact in enumerate(op.inputs):
            if fact.tensor not in seen and _is_plain_attribute(scene, op, at):
                nowhere[fact.tensor] = op
        seen.update(fact.tensor for fact in (*op.inputs, *op.outputs))
        lost = [fact for fact in op.inputs if fact.tensor in nowhere]
        ours = [fact for fact in op.inputs if fact.tensor in home]
        if lost and ours and name not in FREE and "device" not in dict(op.arguments):
            wide = [fact for fact in lost if fact.shape]
            if wide and any(fact.shape for fact in ours) and op.span is not None:
                yield _report_cpu_tensor(
                    scene, op, nowhere[wide[0].tensor], op.inputs.index(wide[0])
                )
                for fact in wide:  # once for each tensor
                    nowhere.pop(fact.tensor, None)
        if "device" in dict(op.arguments):
            continue
        if ours and (any(fact.shape for fact in ours) or not lost):
            home.update(fact.tensor for fact in op.outputs)
        elif lost and len(lost) == len(op.inputs):
            for fact in op.outputs:
                nowhere.setdefault(fact.tensor, nowhere[lost[0].tensor])


def _find_model_inputs(program: Program) -> set[int]:
    """Return the tensors that a script passes to its modules."""
    calls = (call for call in program.trace.calls if call.parent == 0)
    return {fact.tensor for call in calls for fact in collect_leaves(call.inputs)}


def _is_of_script(scene: HazardContext, op: Op) -> bool:
    """Return whether a script made a call outside of all modules."""
    if not scene.of_function and scene.program.inputs:
        return False
    call = scene.program.call_of(op)
    return call is None or call.parent is None


def _is_deviceless(scene: HazardContext, op: Op, name: str) -> bool:
    """Return whether the program's own text called a factory without a device."""
    arguments = dict(op.arguments)
    if _is_of_script(scene, op):
        return False  # a script that makes its tensors where it makes its model
    return (
        name in FACTORIES
        and arguments.get("device") is None
        and op.span is not None
        and scene.program.layer(op) is None
        and bool(op.outputs and op.outputs[0].shape)
        and op.outputs[0].device == "cpu"
    )


def _is_plain_attribute(scene: HazardContext, op: Op, at: int) -> bool:
    """Return whether the text names a module attribute that is no parameter or buffer.

    `model.to` does not move it.
    """
    fact = op.inputs[at]
    if not fact.shape or fact.device != "cpu" or fact.requires_grad:
        return False
    maker = scene.program.producers.get(fact.tensor)
    if op.span is None or (maker is not None and not _is_of_script(scene, maker)):
        return False
    word = scene.words(op)[at].strip("`")
    # A buffer that `forward` replaces is one before and after.
    paths = {path.rpartition(".")[2] for path in scene.program.states.values()}
    return word.startswith("self.") and word.rpartition(".")[2] not in paths


def _report_cpu_tensor(scene: HazardContext, op: Op, maker: Op, at: int) -> Finding:
    name = scene.names(op)[at]
    attribute = maker.name.rpartition(".")[2] not in FACTORIES
    how = "is a plain attribute on the CPU" if attribute else "was made on the CPU"
    message = (
        f"{scene.operation(op)} gets {name}, which {how}: it fails if the model is"
        " on another device"
    )
    why = f"`{maker.name}` is called without `device`"
    if attribute:
        known = [word for word in scene.words(maker) if word.startswith("`self.")]
        why = (
            f"{known[0]} is neither a parameter nor a buffer, so `model.to` does "
            "not move it"
        )
    # A script was run on the device that it names, and there it is no mistake.
    severity: Severity = "warning" if scene.program.inputs else "note"
    return scene.finding(CPU_TENSOR, op, message, (maker, why), severity=severity)
