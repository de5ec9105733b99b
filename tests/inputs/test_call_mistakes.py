"""A call written in another tool's way is refused with the sentence that says ours."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import shapewright as sw
from shapewright.inputs.errors import InputError


class Net(nn.Module):
    def __init__(self, hidden: int = 4) -> None:
        super().__init__()
        self.fc = nn.Linear(8, hidden)

    def forward(self, x):  # type: ignore[no-untyped-def]
        return self.fc(x)


class Annotated(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


class Sized(nn.Module):
    """Its forward really takes a tuple."""

    def forward(self, x, size):  # type: ignore[no-untyped-def]
        return nn.functional.interpolate(x, size=size)


class SizedWrongly(Sized):
    """The same, with a mistake that has nothing to do with the tuple."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 4)

    def forward(self, x, size):  # type: ignore[no-untyped-def]
        return self.fc((super().forward(x, size), 1))


def step(x):  # type: ignore[no-untyped-def]
    loss = (x * x).mean()
    return loss


def refused(call: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(InputError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


EVERY = (sw.trace, sw.check, sw.solve)


@pytest.mark.parametrize(
    "sizes",
    [(2, 8), [2, 8], torch.Size([2, 8]), [(2, 8)], (3, 9)],
    ids=["tuple", "list", "torch.Size", "list of tuples", "wrong for the layer"],
)
@pytest.mark.parametrize("call", EVERY)
def test_sizes_for_a_tensor(call: Any, sizes: Any) -> None:
    said = refused(call, Net(), sizes)
    assert f"sw.{call.__name__}(model, " in said
    assert '"f32[' in said


def test_the_sentence_names_who_is_called_and_what_to_write() -> None:
    assert refused(sw.trace, Net(), (2, 8)) == (
        "`Net.forward` needs a tensor, got the sizes (2, 8); a tensor of these sizes is"
        ' written `sw.trace(model, "f32[2, 8]")`'
    )


def test_sizes_for_an_annotated_tensor() -> None:
    assert '"f32[2, 3]"' in refused(sw.check, Net(), (2, 3))
    assert sw.trace(Annotated(), "f32[2, 3]").complete


@pytest.mark.parametrize("call", EVERY)
def test_sizes_as_arguments_of_their_own(call: Any) -> None:
    assert "not 4 numbers" in refused(call, Net(), 2, 3, 32, 8)


@pytest.mark.parametrize("call", [*EVERY, sw.rehearse])
def test_keyword_of_another_tool(call: Any) -> None:
    said = refused(call, Net(), input_size=(2, 8))
    assert said.startswith("`Net.forward` has no argument `input_size`; write `sw.")
    assert "8]" in said


def test_keyword_that_the_model_does_not_take() -> None:
    said = refused(sw.trace, Net(), "f32[2, 8]", blocks=3)
    assert said == (
        "`Net.forward` has no argument `blocks`; it takes (x), and every keyword of"
        " `sw.trace` belongs to it"
    )


@pytest.mark.parametrize("call", [*EVERY, sw.rehearse])
def test_class_for_an_instance(call: Any) -> None:
    assert refused(call, Net, "f32[2, 8]") == (
        f"`Net` is a class; pass an instance: `sw.{call.__name__}(Net(), ...)`"
    )


def test_class_that_needs_arguments() -> None:
    said = refused(sw.trace, nn.Linear, "f32[2, 8]")
    assert "sw.trace(Linear(in_features=..., out_features=...), ...)" in said


@pytest.mark.parametrize("path", ["model.py:Net", "model.py", Path("model.py")])
@pytest.mark.parametrize("call", EVERY)
def test_path_for_a_model(call: Any, path: Any) -> None:
    said = refused(call, path, "f32[2, 8]")
    assert f"in a shell `shapewright {call.__name__} model.py:Net`" in said


def test_tensor_for_a_model() -> None:
    said = refused(sw.trace, torch.ones(2, 8), Net())
    assert "takes a model or a function first, got a `Tensor`" in said


def test_training_step_on_sizes() -> None:
    said = refused(sw.rehearse, step, (2, 8))
    assert (
        'a tensor of these sizes is written `sw.rehearse(model, "f32[2, 8]")`' in said
    )


def test_forward_that_takes_a_tuple_runs() -> None:
    made = sw.trace(Sized(), "f32[1, 3, 8, 8]", (16, 16))
    assert made.complete
    assert made.output.shape == (1, 3, 16, 16)
    assert sw.check(Sized(), "f32[1, 3, 8, 8]", (16, 16)).exit_code == 0


def test_mistake_behind_a_tuple_is_a_finding() -> None:
    made = sw.trace(SizedWrongly(), "f32[1, 3, 8, 8]", (16, 3))
    assert not made.complete
    assert "must be Tensor, not tuple" in made.findings[-1].message


def test_hooks_that_take_more_arguments_are_left_alone() -> None:
    net = Net()
    net.register_forward_pre_hook(
        lambda module, args, kwargs: (args, {}), with_kwargs=True
    )
    assert sw.trace(net, "f32[2, 8]", extra=1).complete
