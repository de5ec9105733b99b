"""Find settings of normalization layers that mean something else in another library, or
at another place among the arguments.

`momentum` is the weight of the new batch in torch, and that of the old average in
Keras: 0.99 there is 0.01 here. The second argument of `nn.BatchNorm2d` is `eps`, which
is added to the variance, and not `momentum`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.program_run import ConstructorCall, Program
from shapewright.findings.codes import INVERTED_MOMENTUM, LARGE_EPS, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.attribute_writes import AttributeWrite, iter_attribute_writes
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span, is_installed
from shapewright.record.ops import Op

AVERAGING = ("BatchNorm", "SyncBatchNorm", "LazyBatchNorm")
"""How the names of layers begin that keep averages of what they saw."""
WITH_EPS = (*AVERAGING, "InstanceNorm", "LayerNorm", "GroupNorm", "RMSNorm")
LEAST_MOMENTUM = 0.9
LEAST_EPS = 0.1


@looks_for(INVERTED_MOMENTUM)
def find_inverted_momentums(scene: HazardContext) -> Iterator[Finding]:
    """Find averages of batch normalization that keep next to nothing of the past."""
    seen: set[Span] = set()
    writes = list(_iter_momentum_writes(scene.program))
    for path, ops in _collect_normalizations(scene).items():
        built = scene.program.built.get(path)
        trained = [op for op in ops if dict(op.arguments).get("training") is True]
        is_layer = built is not None and built.class_name.startswith(AVERAGING)
        if built is None or not is_layer or not trained:
            continue
        settings = dict(built.values)
        momentum = settings.get("momentum")
        values = {dict(op.arguments).get("momentum") for op in trained}
        if settings.get("track_running_stats") is False:
            continue
        if not isinstance(momentum, float) or not LEAST_MOMENTUM <= momentum < 1:
            continue
        span = _find_setting(writes, momentum) if writes else built.span
        is_changed = span is None or values != {momentum}
        if span is None or is_changed or span in seen or is_installed(span.file):
            continue
        seen.add(span)
        other = get_other_weight(momentum)
        share = f"{momentum:.0%}" if momentum < 0.995 else f"{momentum:.1%}"
        yield Finding(
            INVERTED_MOMENTUM,
            "warning",
            f"`momentum={momentum:g}` is the weight of the new batch: {share} of the"
            " running mean and variance, with which the model is evaluated, are those"
            f" of the last batch alone; Keras' {momentum:g} is {other} here",
            span,
            path,
        )


@looks_for(LARGE_EPS)
def find_large_eps(scene: HazardContext) -> Iterator[Finding]:
    """Find numbers of another meaning at the place of `eps`."""
    seen: set[Span] = set()
    for path, built in scene.program.built.items():
        eps = dict(built.values).get("eps")
        is_large = isinstance(eps, int | float) and eps >= LEAST_EPS
        is_norm = built.class_name.startswith(WITH_EPS)
        if not is_large or not is_norm or built.span in seen:
            continue
        place = scene.program.call_at(built.span)
        node = find_positional_eps(place[1], built) if place is not None else None
        if place is None or node is None or _is_meant(place[0], node):
            continue
        seen.add(built.span)
        number = built.arguments.index("eps") + 1
        words = f"argument {number} of `nn.{built.class_name}` is `eps`"
        tail = ""
        if "momentum" in built.arguments:
            tail = ", not `momentum`"
        yield Finding(
            LARGE_EPS,
            "warning",
            f"{words}{tail}: {eps:g} is added to each variance, as large as the"
            " variance itself, and what the layer returns is scaled down",
            built.span,
            path,
        )


def get_other_weight(momentum: float) -> str:
    """Return the other weight of an average: `0.01` for 0.99."""
    return f"{1 - momentum:.6g}"


def find_positional_eps(call: ast.Call, built: ConstructorCall) -> ast.expr | None:
    """Return the argument that is `eps` by its position, or None."""
    at = built.arguments.index("eps") if "eps" in built.arguments else len(call.args)
    if at >= len(call.args) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    return call.args[at]


def _is_meant(text: SourceText, node: ast.expr) -> bool:
    """Return whether an expression is called eps."""
    return "eps" in text.written(node).lower()


def _collect_normalizations(scene: HazardContext) -> dict[str, list[Op]]:
    """Return the calls of batch normalization, by the path of their module."""
    calls: dict[str, list[Op]] = {}
    for call in scene.calls:
        if call.name == "batch_norm":
            calls.setdefault(call.op.module, []).append(call.op)
    return calls


def _iter_momentum_writes(
    program: Program,
) -> Iterator[tuple[SourceText, AttributeWrite]]:
    """Yield the statements that set the momentum of another object than `self`."""
    for text in program.own_texts():
        for write in iter_attribute_writes(text, "momentum"):
            if not (isinstance(write.owner, ast.Name) and write.owner.id == "self"):
                yield text, write


def _find_setting(
    writes: list[tuple[SourceText, AttributeWrite]], momentum: float
) -> Span | None:
    """Return the only statement that sets a momentum, if it is to this number; None
    where the program changes it as it runs.
    """
    if len(writes) != 1:
        return None
    text, write = writes[0]
    value = write.value
    is_number = isinstance(value, ast.Constant) and value.value == momentum
    return text.span(write.statement) if is_number else None
