"""Find writes to what a parametrization has computed: weights of `weight_norm` that are
initialized. The weight is computed anew for each use, so the write is lost.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import PARAMETRIZED_WRITE, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Op

LOOKING = operators_with(
    "measures_spread", "adds_up_elements", "finds_extremes", "leaves_graph",
    "reads_size", "returns_python_value",
)  # fmt: skip
"""Calls that show a tensor and train nothing with it."""
PARAMETRIZED = re.compile(r"(^|\.)(ParametrizationList(_\d+)?|parametrizations)\.")
WEIGHT_NORM = "_weight_norm"
INITIALIZING = re.compile(r"\binit\.\w+_$|^(xavier|kaiming|orthogonal|trunc)\w*_$")


@looks_for(PARAMETRIZED_WRITE)
def find_lost_writes(scene: HazardContext) -> Iterator[Finding]:
    """Find writes to a weight that a parametrization computes anew for each use."""
    computed: dict[int, OperatorCall] = {}
    last: dict[object, int] = {}
    for call in scene.calls:
        if _is_parametrization(call.op) and call.op.inputs:
            last[_get_key(call.op)] = call.op.index
            if call.op.kind in ("new", "copy"):
                computed.update({fact.storage: call for fact in call.op.outputs})
    if not computed:
        return
    touched: dict[int, list[OperatorCall]] = {}
    for call in scene.calls:
        for storage in {fact.storage for fact in call.op.inputs}:
            if storage in computed:
                touched.setdefault(storage, []).append(call)
    seen: set[object] = set()
    for storage, maker in computed.items():
        calls = touched.get(storage, [])
        write, name = _find_write(scene, calls, storage, maker)
        if write is None or write.span is None or write.span in seen:
            continue
        if last[_get_key(maker.op)] <= max(write.index, maker.op.index):
            continue
        seen.add(write.span)
        is_norm = WEIGHT_NORM in maker.op.name
        kind = "`weight_norm`" if is_norm else "a parametrization"
        yield scene.finding(
            PARAMETRIZED_WRITE,
            write,
            f"{name} is computed by {kind} anew for each use: this writes to a tensor"
            " that nothing reads, and the parameters stay as they were",
        )


def _find_write(
    scene: HazardContext, calls: list[OperatorCall], storage: int, maker: OperatorCall
) -> tuple[Op | None, str]:
    """Return the call that writes to a weight which nothing reads then, and the name of
    the weight.
    """
    writes = [call for call in calls if _is_write(call, storage)]
    if not writes:
        call = None if calls else _find_initialization(scene, maker.op)
        return (maker.op, f"`{call}`") if call else (None, "")
    later = [call for call in calls if call.op.index > writes[0].op.index]
    if any(not _is_lookout(call, storage) for call in later):
        return None, ""
    return writes[0].op, _name_weight(scene, writes[0])


def _find_initialization(scene: HazardContext, op: Op) -> str:
    """Return the weight that a function of `nn.init` is given where it is computed, or
    an empty string: what these functions write is not recorded.
    """
    text_and_node = scene.program.node(op.span)
    if text_and_node is None:
        return ""
    text, node = text_and_node
    call = text.around(node, ast.Call) if not isinstance(node, ast.Call) else node
    if call is None or not INITIALIZING.search(text.written(call.func)):
        return ""
    words = [word.value for word in call.keywords if word.arg == "tensor"]
    weight = (call.args or words)[0] if call.args or words else None
    is_attribute = isinstance(weight, ast.Attribute)
    return text.written(weight) if is_attribute and weight is not None else ""


def _is_parametrization(op: Op) -> bool:
    """Return whether a call computes a weight of its parameters."""
    return op.name.endswith(WEIGHT_NORM) or bool(PARAMETRIZED.search(op.module))


def _get_key(op: Op) -> object:
    """Return what is the same for all computations of one weight."""
    if op.name.endswith(WEIGHT_NORM):
        return tuple(fact.storage for fact in op.inputs)
    return op.module


def _is_write(call: OperatorCall, storage: int) -> bool:
    """Return whether the program writes to a storage in place."""
    is_own = bool(call.op.inputs) and call.op.inputs[0].storage == storage
    return call.op.kind == "inplace" and is_own and not _is_parametrization(call.op)


def _is_lookout(call: OperatorCall, storage: int) -> bool:
    """Return whether a call writes to a storage, views it or only shows what it has."""
    if call.op.inputs[0].storage == storage and call.op.kind in ("inplace", "view"):
        return len(call.op.inputs) == 1 or call.op.kind == "inplace"
    return call.name in LOOKING


def _name_weight(scene: HazardContext, call: OperatorCall) -> str:
    """Return the program's words for a weight, without `.data`."""
    name = scene.words(call.op)[0]
    return name.replace(".data`", "`") if name.startswith("`") else "this weight"
