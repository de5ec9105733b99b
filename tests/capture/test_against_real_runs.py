"""Every call of a trace against the same call of a real run on the CPU.

Compared, call by call: shape, dtype, stride, offset, requires_grad, is_leaf, the name
of the node, identity, aliasing and version of every tensor in and out; in the end what
the program returned, or its error.
"""

from __future__ import annotations

import pytest

from models import CASES, representative
from tests.capture.autograd_programs import PROGRAMS
from tests.capture.real_runs import MODES, Built, Call, check

SKIPPED = {
    "a_leaf_written_without_grad": ("version",),  # `x.data` counts its writes apart
    "checkpointed_and_backward": (
        "tensor",
        "storage",
    ),  # views that torch made by itself
    "custom_function_in_place": ("version",),  # `mark_dirty` counts as a write
    "parametrised": ("version",),  # so does `x.set_(y)`
    "second_derivatives": ("version",),  # and a write through a transform
    "weights_swapped": ("version", "storage"),  # a parameter keeps no values
    "storage_set": ("version", "storage"),  # whose a bare storage is, is not known
}
"""What is not compared: nothing that a call of the program shows."""


@pytest.mark.filterwarnings("ignore:`torch.nn.utils:FutureWarning")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_corners_of_autograd(name: str, mode: str) -> None:
    assert not check(PROGRAMS[name], mode, SKIPPED.get(name, ()))


def of_model(name: str, training: bool) -> Call:
    """A builder of a small model, in training or in evaluation."""

    def build() -> Built:
        model, args, kwargs = CASES[name]()
        if hasattr(model, "train"):
            model.train(training)
        return model, args, kwargs

    return build


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", representative())
def test_small_models(name: str, mode: str, training: bool) -> None:
    assert not check(of_model(name, training), mode)


@pytest.mark.zoo
@pytest.mark.parametrize("name", CASES)
def test_all_small_models(name: str) -> None:
    for mode in MODES:
        for training in (True, False):
            assert not check(of_model(name, training), mode), (mode, training)
