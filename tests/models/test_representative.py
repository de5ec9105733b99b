"""A third of the small models: a real run on the CPU against the trace."""

from __future__ import annotations

import pytest

from models import CASES, representative
from zoo import small


@pytest.mark.parametrize("name", representative())
def test_every_module_output_is_what_a_real_run_gives(name: str) -> None:
    result = small.check(name)
    assert result["verdict"] == "equal", result["cause"]


def test_there_are_sixty_models() -> None:
    assert len(CASES) >= 60
