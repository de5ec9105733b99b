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
    calls, fill = FAMILIES[family].right(), FAMILIES[family].fill
    check(all_broken(1, calls, 24), judge=partial(judged, fill=fill))
