"""The corpus of buggy and legal programs does what its labels say."""

import pytest

from bugs import verify


def test_every_program_has_its_label() -> None:
    labels = sorted(path.stem for path in verify.LABELS.glob("*.toml"))
    assert labels == verify.names()


@pytest.mark.parametrize("name", verify.names())
def test_label_is_true(name: str) -> None:
    assert verify.problems(name) == []
