"""Find state dicts of which `strict=False` loaded next to nothing."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.state_dicts import explain_loose_load
from shapewright.findings.codes import UNMATCHED_STATE_DICT, looks_for
from shapewright.findings.finding import Finding


@looks_for(UNMATCHED_STATE_DICT)
def find_unmatched_state_dicts(scene: HazardContext) -> Iterator[Finding]:
    """Find calls of `load_state_dict` after which the model is as it was built."""
    for span, misloaded in scene.program.loads:
        if misloaded.matched is not None:
            yield explain_loose_load(span, misloaded)
