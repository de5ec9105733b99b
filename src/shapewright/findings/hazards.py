"""Codes of what runs, but is likely not meant: these can be switched off."""

from __future__ import annotations

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
