"""What a fix may not change: such edits run, and do something else than is meant.

No fix is better than a wrong one. An edit is judged twice: by its text before it is
tried (`edits.py`), and by what the run with it shows against the run that failed
(`runs.py`).
"""

from __future__ import annotations

from shapewright.analysis.fixes.refusals.edits import (
    OF_WIDTH,
    is_of_other_data,
    is_refused,
)
from shapewright.analysis.fixes.refusals.runs import (
    FailedRun,
    RunOutline,
    build_failed_outline,
    build_outline,
    is_refused_after,
)

__all__ = [
    "OF_WIDTH",
    "FailedRun",
    "RunOutline",
    "build_failed_outline",
    "build_outline",
    "is_of_other_data",
    "is_refused",
    "is_refused_after",
]
