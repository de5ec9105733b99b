"""What the tensor tutorials teach, as programs whose comments say the shapes.

Each block of each suite runs twice: for real, and without data. Both have to give what
the comments claim, and the record of the trace has to show it on that line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.seeds.blocks import Block, blocks
from tests.seeds.claims import Claim, Tensor, holds
from tests.seeds.running import Program, Seen, recorded

BLOCKS = blocks()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_trace_and_real_run_are_what_the_comments_say(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    claims = block.claims()
    assert claims, "nothing is claimed"
    program = Program(block, claims, tmp_path)
    seen, trace = program.traced()
    check("the trace", block, claims, seen)
    codes = [found.code for found in trace.findings if found.severity != "note"]
    assert codes == ([block.code] if block.code else [])
    loops = {
        found.span.line: found.message
        for found in trace.findings
        if found.code == "python-loop" and found.span is not None
    }
    at_once = block.at_once()
    assert loops.keys() == at_once.keys()
    assert all(f"`{at_once[line]}`" in said for line, said in loops.items()), loops
    assert trace.complete is not bool(block.code)
    for line, values in seen.values.items():
        facts = {str(fact) for fact in recorded(trace, line)}
        shown = {repr(tensor) for tensor in tensors(values)}
        said = f"gave {shown}, and its record has {facts}"
        assert not facts or shown <= facts, f"{block.name} line {line} {said}"
    if block.kind != "traced only":
        check("the real run", block, claims, program.really())


def check(which: str, block: Block, claims: dict[int, Claim], seen: Seen) -> None:
    """Every claim against what one of the runs has seen."""
    errors = {line: claim.error for line, claim in claims.items() if claim.error}
    assert bool(errors) is (seen.error is not None), f"{which} of {block.name}: {seen}"
    if seen.error is not None:
        ((line, words),) = errors.items()
        assert (words in seen.error, seen.error_line) == (True, line), (
            f"{which} of {block.name}: {seen.error} on line {seen.error_line}"
        )
    for line, claim in claims.items():
        if claim.error is None:
            values = seen.values.get(line, [])
            said = f"line {line} claims {claim.text}, gave {values}"
            assert follows(claim, values), f"{which} of {block.name}: {said}"


def follows(claim: Claim, values: list[Any]) -> bool:
    """Do these values, in this order, go through the steps of the claim to its end?"""
    at = -1
    for value in values:
        if at < 0 or not holds(claim.steps[at], value):
            at += 1
            if at == len(claim.steps) or not holds(claim.steps[at], value):
                return False
    return at == len(claim.steps) - 1


def tensors(nest: Any) -> list[Tensor]:
    """The tensors in a nest, in order."""
    if isinstance(nest, dict):
        nest = list(nest.values())
    if isinstance(nest, list | tuple):
        return [each for item in nest for each in tensors(item)]
    return [nest] if isinstance(nest, Tensor) else []
