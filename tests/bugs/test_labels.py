"""The corpus of buggy and legal programs does what its labels say."""

from collections.abc import Iterator

import pytest
import torch

from bugs import verify


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """The tensors are small: threads would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_every_program_has_its_label() -> None:
    labels = sorted(path.stem for path in verify.LABELS.glob("*.toml"))
    assert labels == verify.names()


@pytest.mark.parametrize("name", verify.names())
def test_label_is_true(name: str) -> None:
    assert verify.problems(name) == []
