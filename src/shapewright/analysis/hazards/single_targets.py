"""Find losses that compare several outputs of a sample with its one target."""

from __future__ import annotations

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import OUTER_BROADCAST
from shapewright.findings.finding import Finding


def has_one_target(call: OperatorCall) -> bool:
    """Return whether a loss compares several outputs of a sample with its one
    target: (N, 3) with (N, 1).
    """
    at = _find_compared_outputs(call)
    own = call.dims[0][at] if at is not None else ()
    return bool(own) and all(axis.kind in ("feature", "state") for axis in own)


def _find_compared_outputs(call: OperatorCall) -> int | None:
    """Return the only dim in which an output is longer than its target, which has size
    1 there; None for other shapes.
    """
    output_shape, target_shape = (fact.shape for fact in call.op.inputs[:2])
    if len(output_shape) != len(target_shape) or len(output_shape) < 2:
        return None
    unlike = [
        at
        for at, (size, other) in enumerate(zip(output_shape, target_shape, strict=True))
        if size != other
    ]
    return unlike[0] if len(unlike) == 1 and target_shape[unlike[0]] == 1 else None


def report_one_target(scene: HazardContext, call: OperatorCall) -> Finding:
    names, at = scene.names(call.op), _find_compared_outputs(call)
    count = call.op.inputs[0].shape[-1 if at is None else at]
    message = (
        f"{scene.operation(call.op)} of {names[0]} and {names[1]} compares each of the"
        f" {count} outputs of a sample with the same target"
    )
    maker = scene.program.producers.get(call.op.inputs[0].tensor)
    return scene.finding(
        OUTER_BROADCAST, call.op, message, (maker, f"{count} outputs are made here")
    )
