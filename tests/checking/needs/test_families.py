"""Families of operators: one thing broken at random in calls that torch takes.

What a need says of each, against torch: see `oracle.py`. `coverage.py` prints how many
refused calls have an answer.
"""

from __future__ import annotations

from functools import partial

import pytest

from checking.needs.breaking import all_broken
from checking.needs.families import FAMILIES
from checking.needs.oracle import check, judged


@pytest.mark.parametrize("family", FAMILIES)
def test_refused_calls_of_a_family_are_explained(family: str) -> None:
    known = FAMILIES[family]
    calls = all_broken(1, known.right(), 24, known.numbers)
    check(calls, judge=partial(judged, fill=known.fill))
