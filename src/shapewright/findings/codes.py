"""The codes of findings: which are hazards that can be switched off, and the
documentation page of each.
"""

from __future__ import annotations

from pathlib import Path

HAZARDS = frozenset(
    {
        # of one run
        "batch-axis",
        "batch-dependence",
        "cpu-tensor",
        "einsum-reduction",
        "implicit-broadcast",
        "layout",
        "lost-batch",
        "mask-axis",
        "one-sample",
        "outer-broadcast",
        "python-loop",
        "repeated-index",
        "view-mixes-dims",
        "wrong-axis",
        # of other sizes
        "batch-hard-coded",
        "lost-dim",
        # of a training
        "evaluated-in-training-mode",
        "gradient-without-graph",
        "gradients-cleared-unused",
        "gradients-not-cleared",
        "graph-kept",
        "mean-over-samples",
        "no-gradient",
        "not-in-optimizer",
        "scheduler-order",
        "scheduler-too-long",
        "state-not-copied",
        "sum-after-loop",
        "trained-in-eval-mode",
    }
)
"""Every other code is that of an error, which is never switched off."""


FOLDER = Path(__file__).parent / "explain"


def codes() -> list[str]:
    """Every code that has a page, in order."""
    return sorted(path.stem for path in FOLDER.glob("*.md"))


def page(code: str) -> str | None:
    """The page of a code as Markdown: ``page("torch-error")``; None without one."""
    return (FOLDER / f"{code}.md").read_text("utf-8") if code in codes() else None
