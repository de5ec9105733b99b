"""The corpus of accepted sizes is well formed, and a few of its labels are run."""

from collections.abc import Iterator

import pytest
import torch

from solve import verify

RUN = ("glu_halves", "lenet_boxes", "lenet_square", "square_tokens", "temporal_shift")


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """The tensors are small: threads would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_every_program_has_its_label() -> None:
    labels = sorted(path.stem for path in verify.LABELS.glob("*.json"))
    assert labels == verify.names()


@pytest.mark.parametrize("name", verify.names())
def test_label_is_well_formed(name: str) -> None:
    assert list(verify.malformed(name)) == []


@pytest.mark.parametrize("name", RUN)
def test_label_is_true(name: str) -> None:
    assert verify.problems(name) == []


@pytest.mark.parametrize("name", verify.names())
def test_witness_runs_and_refused_raises(name: str) -> None:
    said = verify.label(name)
    assert verify.run(name, said["witness"]).line is None
    if said["refused"] is not None:
        demand = verify.first_demand(said, said["refused"])
        assert demand is not None
        assert verify.run(name, said["refused"]).line == demand["line"]
