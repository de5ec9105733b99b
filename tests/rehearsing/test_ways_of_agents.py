"""The usual mistakes of agents and of vision, in each way in which they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed
from tests.rehearsing.ways import list_ways, read_rows, write
from tests.rehearsing.ways.edits import Case, read_cases

KINDS = (
    "dqn", "actor_critic", "continuous", "segmentation", "transfer", "detection",
)  # fmt: skip
PROGRAMS = [(kind, way) for kind in KINDS for way in list_ways(kind)]
CASES = [*read_cases("mistakes_of_agents.txt"), *read_cases("mistakes_of_pictures.txt")]
TOLD = [case for case in CASES if case.code]
UNTOLD = [case for case in CASES if not case.code]


def name_case(case: Case) -> str:
    """The name of a case for pytest."""
    return f"{case.kind}-{case.way}-{case.name}"


@pytest.mark.parametrize(("kind", "way"), PROGRAMS)
def test_the_right_program_is_quiet(kind: str, way: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write(read_rows(kind, way)))
    assert [finding.message for finding in report.findings] == []


@pytest.mark.parametrize("case", TOLD, ids=name_case)
def test_a_mistake_is_told_in_each_way(case: Case, tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, case.text()).findings
    same = [finding for finding in findings if finding.code == case.code]
    assert same
    if case.words:
        assert same[0].fixes[0].message == case.words
        assert same[0].fixes[0].checked


@pytest.mark.parametrize("case", UNTOLD, ids=name_case)
def test_what_nothing_tells_is_listed_with_a_reason(case: Case) -> None:
    """What is not told has a reason, and is a mistake that can be made."""
    assert case.words
    assert case.text() != write(read_rows(case.kind, case.way))
