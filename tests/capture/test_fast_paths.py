"""Attention layers take torch's fused kernels where a real run takes them."""

from __future__ import annotations

import pytest

from tests.capture.attention_programs import program_of
from tests.capture.real_runs import Run, Seen, really, traced

OF_DTYPES = "same dtype", "scalar type", "share same datatype"
"""What kernels say of dtypes, each in its own words."""

ROW = 25


@pytest.mark.parametrize("row", range(2))
def test_random_programs(row: int) -> None:
    check_row(row)


@pytest.mark.zoo
@pytest.mark.parametrize("row", range(2, 40))
def test_more_random_programs(row: int) -> None:
    check_row(row)


def check_row(row: int) -> None:
    """Hold a row of programs against their real runs."""
    for seed in range(row * ROW, (row + 1) * ROW):
        assert not parted(seed), seed


def parted(seed: int) -> list[str]:
    """In what a trace parts from the real run: its calls, its output, its error."""
    program = program_of(seed)
    real = really(program, program.args, program.kwargs)
    program = program_of(seed)
    ours, _ = traced(program, program.args, program.kwargs)
    found = list(ours.lost)
    if outline(real) != outline(ours):
        found.append(f"real {outline(real)}, traced {outline(ours)}")
    return found


def outline(run: Run) -> object:
    """What a user notices of a run."""
    if run.error:
        line = run.error.splitlines()[0]
        return OF_DTYPES if any(word in line for word in OF_DTYPES) else line
    return [
        (leaf.shape, leaf.dtype, leaf.stride) if isinstance(leaf, Seen) else leaf
        for leaf in run.output
    ]
