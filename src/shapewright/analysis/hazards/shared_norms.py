"""Find one batch norm behind two layers of a block: `self.bn(self.conv1(x))` and
`self.bn(self.conv2(h))` share its weights, and its running statistics are of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import REPEATED_LAYER
from shapewright.findings.finding import Finding, Related
from shapewright.record.ops import ModuleCall, collect_leaves

NORMS = re.compile(r"BatchNorm\dd$|^SyncBatchNorm$")
SHARED = re.compile(r"shar(e|ed|es|ing)\b|siamese|twin|recurr|unroll", re.IGNORECASE)
"""Words of programs that share a layer on purpose."""


def find_shared_norms(scene: HazardContext) -> Iterator[Finding]:
    """Find batch norms that normalize what two layers beside them return."""
    last: dict[tuple[str, int | None], tuple[ModuleCall, str]] = {}
    seen: set[str] = set()
    for call in scene.program.trace.calls:
        if not NORMS.search(call.class_name) or call.path in seen or not call.path:
            continue
        source = _find_source(scene, call)
        first = last.setdefault((call.path, call.parent), (call, source))
        if not source or not first[1] or first[1] == source or first[0] is call:
            continue
        parent = call.path.rpartition(".")[0]
        if any(path.rpartition(".")[0] != parent for path in (source, first[1])):
            continue
        place = scene.program.node(call.span)
        if place is None or SHARED.search(place[0].text):
            continue
        seen.add(call.path)
        name, before, other = (
            path.rpartition(".")[2] for path in (call.path, first[1], source)
        )
        message = (
            f"`{name}` is one `{call.class_name}` behind both `{before}` and `{other}`:"
            " they share its weights, and in evaluation each is normalized by the"
            " running statistics of both"
        )
        span = first[0].span
        related = (Related(span, f"behind `{before}`"),) if span is not None else ()
        yield Finding(
            REPEATED_LAYER, "warning", message, call.span, call.path, related=related
        )


def _find_source(scene: HazardContext, call: ModuleCall) -> str:
    """Return the layer whose output a call was given as it came, or ''."""
    facts = collect_leaves(call.inputs[0])[:1]
    maker = scene.maker(facts[0]) if facts else None
    return maker.op.module if maker is not None else ""
