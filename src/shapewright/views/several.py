"""Traces of several definitions of one file."""

from __future__ import annotations

import json
from collections.abc import Sequence

from shapewright.trace.record import Trace
from shapewright.trace.report import Skipped
from shapewright.trace.version import VERSION
from shapewright.views import units


def traces_json(
    target: str, traces: Sequence[Trace], skipped: Sequence[Skipped]
) -> str:
    """Each trace as its own versioned record, and what was not traced."""
    whole = {
        "version": VERSION,
        "kind": "traces",
        "target": target,
        "traces": [json.loads(each.to_json()) for each in traces],
        "not_checked": [
            {"target": one.target, "reason": one.reason} for one in skipped
        ],
    }
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False)


def traces_summary(
    target: str, traces: Sequence[Trace], skipped: Sequence[Skipped]
) -> str:
    """The lines below the tables: what was not traced, and how many were."""
    count = units.plural(len(traces) + len(skipped), "definition")
    lines = [f"not traced: {each}" for each in skipped]
    lines.append(f"{target} only defines things: {len(traces)} of {count} traced")
    return "".join(f"{line}\n" for line in lines)
