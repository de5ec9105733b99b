"""Families of operators: one thing broken at random in calls that torch takes.

What a need says of each, against torch: see `oracle.py`. `coverage.py` prints how many
refused calls have an answer.
"""

from __future__ import annotations

import pytest

from checking.needs.breaking import all_broken
from checking.needs.families import FAMILIES
from checking.needs.oracle import check


@pytest.mark.parametrize("family", FAMILIES)
def test_refused_calls_of_a_family_are_explained(family: str) -> None:
    check(all_broken(1, FAMILIES[family](), 24))
