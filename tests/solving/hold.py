"""Formulas of seven models against plain traces at 200 random sizes of their range.

    .venv-bench/bin/python tests/solving/hold.py [NAME ...]

For each model: how many sizes have formulas, which have none, and how often one gives
another shape or stride than a trace.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import shapewright as sw  # noqa: E402
from bench.symbolic import SUBJECTS  # noqa: E402
from solving.compared import random_sizes, written, wrong  # noqa: E402

TIMES = 200


def held(name: str) -> str:
    """What a model's formulas say and whether it holds."""
    model, spec = SUBJECTS[name].model(), SUBJECTS[name].spec
    trace = sw.formulas(model, spec)
    assert trace.formulas is not None, trace.findings
    dims = sum(len(fact.shape) for op in trace.ops for fact in op.outputs)
    draw = random.Random(0)
    found, runs, refused = 0, 0, 0
    while runs < TIMES and refused < TIMES:
        sizes = random_sizes(trace, draw)
        plain = sw.trace(model, written(spec, sizes))
        if not plain.complete:
            refused += 1
            continue
        runs += 1
        found += sum(1 for _ in wrong(trace, plain, sizes))
    varying = len(trace.formulas.varying)
    return (
        f"{name}: {dims} dims of {len(trace.ops)} calls, {varying} without a formula,"
        f" {trace.formulas.text()} ({trace.formulas.tried} runs);"
        f" {found} wrong at {runs} sizes, {refused} sizes of the range refused"
    )


if __name__ == "__main__":
    for each in sys.argv[1:] or SUBJECTS:
        print(held(each), flush=True)
