"""Torch's operator samples through the index maps: drawn and agreeing, or why not.

An item is an operator that has a map, under any name of it.
"""

from __future__ import annotations

import warnings
from collections import Counter
from itertools import islice
from typing import Any

import torch

from shapewright.runtime.operator_calls.drawing import Wrong, draw_call
from shapewright.runtime.operator_calls.operator_names import get_drawn_names
from zoo.observe import time_limit
from zoo.samples import BY_NAME, operators, samples

SECONDS = 20.0
MOST = 120
"""Samples of one operator; pooling has thousands."""


def names() -> list[str]:
    """Operators of torch's samples that have an index map."""
    known = get_drawn_names()
    return [name for name in operators() if BY_NAME[name].op in known]


def check(operator: str) -> dict[str, Any]:
    """Valid samples in float32 and int64: how many are drawn, and the reasons."""
    func = BY_NAME[operator].op
    name = get_drawn_names()[func]
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    valid = (one for one in samples(operator) if one.kind in ("float32", "int64"))
    for sample in islice(valid, MOST):
        counts["samples"] += 1
        try:
            with warnings.catch_warnings(), time_limit(SECONDS):
                warnings.simplefilter("ignore")
                torch.manual_seed(0)
                made = draw_call(func, name, sample.args, dict(sample.kwargs))
        except Wrong as wrong:
            counts["wrong"] += 1
            reasons[f"WRONG: {str(wrong)[:120]}"] += 1
            continue
        except Exception as error:
            counts["failed"] += 1
            reasons[f"FAILED: {type(error).__name__}: {str(error)[:100]}"] += 1
            continue
        counts["drawn" if made.maps else "not drawn"] += 1
        if not made.maps:
            reasons[made.error or made.reason] += 1
    return {"counts": dict(counts), "reasons": dict(reasons), "name": name}
