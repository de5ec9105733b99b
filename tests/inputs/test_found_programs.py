"""The programs whose inputs have to be found run with those of their labels."""

import pytest

from inputs import found_programs


@pytest.mark.parametrize("name", found_programs.names())
def test_label_is_true(name: str) -> None:
    assert found_programs.outputs(name) == found_programs.label(name)["outputs"]
