"""Random calls of each family through the index maps: 1,000 of each, from one seed.

An item is a generator of `tests/maps`, where the suite runs 30 to 60 of its calls.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from itertools import islice
from typing import Any

import torch

from maps.families import families
from maps.oracle import function
from shapewright.runtime.operator_calls.drawing import Wrong, draw_call

CASES = 1000
SEED = 20


def names() -> list[str]:
    """The families, as `attention: layers`."""
    return list(families())


def check(family: str) -> dict[str, Any]:
    """How many calls are drawn, and equal to torch at every element looked at."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    operators: set[str] = set()
    torch.manual_seed(SEED)
    for name, args, kwargs in islice(families()[family](random.Random(SEED)), CASES):
        counts["cases"] += 1
        operators.add(name)
        try:
            with warnings.catch_warnings(action="ignore"):
                made = draw_call(function(name), name, args, kwargs)
        except Wrong as wrong:
            counts["wrong"] += 1
            reasons[f"WRONG: {str(wrong)[:120]}"] += 1
            continue
        except Exception as error:
            counts["failed"] += 1
            reasons[f"FAILED: {name}: {type(error).__name__}: {str(error)[:100]}"] += 1
            continue
        if not made.maps:
            counts["not drawn"] += 1
            reasons[made.error or made.reason] += 1
            continue
        counts["drawn"] += 1
        counts["equal"] += made.checked > 0
        counts["empty"] += not made.checked
    return {
        "counts": dict(counts),
        "reasons": dict(reasons),
        "operators": len(operators),
    }
