"""Recording real values: what is kept, what it can be used for, what stays behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

import shapewright as sw
from examples.lenet import Net


class Block(nn.Module):
    """A residual block that activates in place, as torchvision's do."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width)
        self.relu = nn.ReLU(inplace=True)
        self.linear = nn.Linear(width, width)

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        return x + scale * self.linear(self.relu(self.norm(x)))


def blocks() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(Block(4), Block(4))


def hooks_of(model: nn.Module) -> list[dict[str, Any]]:
    """Everything about each module that a hook could have changed."""
    return [{k: _copied(v) for k, v in vars(m).items()} for m in model.modules()]


def _copied(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value


def test_inputs_and_outputs_are_the_tensors_of_the_run() -> None:
    net, images = Net(), torch.randn(8, 3, 32, 32)
    with sw.recording(net, "fc*", "conv1") as seen:
        scores = net(images)
    assert seen["fc3"].output is scores
    assert seen["conv1"].args[0] is images
    assert seen["conv1"].inputs == ((images,), {})
    assert torch.equal(seen["conv1"].output, net.conv1(images))
    assert [call.path for call in seen] == ["conv1", "fc1", "fc2", "fc3"]
    assert [call.class_name for call in seen.find("fc*")] == ["Linear"] * 3


def test_a_module_that_runs_twice_has_two_calls() -> None:
    net = Net()
    with sw.recording(net, "pool") as seen:
        net(torch.randn(8, 3, 32, 32))
    assert [call.call for call in seen] == [1, 2]
    assert seen["pool"].output.shape == (8, 6, 14, 14)
    assert seen["pool", 2].output.shape == (8, 16, 5, 5)
    assert seen["pool", -1] is seen[1]
    with pytest.raises(
        LookupError, match=r"`pool` was called 2 times: there is no cal"
    ):
        seen["pool", 3]


def test_several_runs_continue_the_count_until_cleared() -> None:
    net = nn.Sequential(nn.Linear(3, 2))
    with sw.recording(net, "0") as seen:
        for batch in (1, 2, 3):
            net(torch.randn(batch, 3))
        assert [call.output.shape[0] for call in seen] == [1, 2, 3]
        seen.clear()
        net(torch.randn(4, 3))
    assert [(call.call, call.output.shape[0]) for call in seen] == [(1, 4)]


def test_a_penalty_on_activations_reaches_the_weights() -> None:
    net = Net()
    with sw.recording(net, "conv1") as seen:
        net(torch.randn(2, 3, 32, 32))
    seen["conv1"].output.pow(2).mean().backward()
    assert net.conv1.weight.grad is not None
    assert net.conv1.weight.grad.abs().sum() > 0
    assert net.conv2.weight.grad is None


def test_the_gradient_at_an_activation_can_be_asked_for() -> None:
    net = Net()
    with sw.recording(net, "conv2") as seen:
        scores = net(torch.randn(2, 3, 32, 32))
    (gradient,) = torch.autograd.grad(scores[:, 3].sum(), seen["conv2"].output)
    assert gradient.shape == (2, 16, 10, 10)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_features_without_gradients(mode: Any) -> None:
    net, images = Net(), torch.randn(2, 3, 32, 32)
    with mode(), sw.recording(net, "fc2") as seen:
        net(images)
    assert not seen["fc2"].output.requires_grad
    with sw.recording(net, "fc2", detach=True) as seen:
        net(images)
    assert not seen["fc2"].output.requires_grad


@dataclass(frozen=True)
class Result:
    scores: Tensor
    parts: list[Tensor]


class Pair(NamedTuple):
    first: Tensor
    second: Tensor


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)

    def forward(self, pair: Pair, *, extra: dict[str, Any]) -> Result:
        y = self.inner(pair.first + pair.second)
        return Result(y, [y * 2, extra["shift"][0] + y])


def test_keywords_and_nests_come_as_they_were() -> None:
    model = Nested()
    pair, extra = Pair(torch.ones(4, 3), torch.ones(4, 3)), {"shift": (torch.ones(2),)}
    with sw.recording(model, "") as seen, sw.recording(model, detach=True) as bare:
        returned = model(pair, extra=extra)
    call = seen[""]
    assert call.args == (pair,)
    assert isinstance(call.args[0], Pair)
    assert call.kwargs["extra"]["shift"][0] is extra["shift"][0]
    assert isinstance(call.output, Result)
    assert call.output.parts[1] is returned.parts[1]
    returned.parts.clear()
    assert len(call.output.parts) == 2
    assert bare[""].output.scores.grad_fn is None
    assert call.output.scores.grad_fn is not None


def test_hooks_of_the_user_come_first() -> None:
    net = nn.Sequential(nn.Linear(3, 2))
    net[0].register_forward_pre_hook(lambda _, args: (args[0] + 1,))
    net[0].register_forward_hook(lambda _, args, output: output * 0)
    with sw.recording(net, "0") as seen:
        net(torch.zeros(1, 3))
    assert seen["0"].args[0].tolist() == [[1, 1, 1]]
    assert seen["0"].output.tolist() == [[0, 0]]


def test_values_written_in_place_are_refused_not_wrong() -> None:
    model, x = blocks(), torch.randn(8, 4)
    with sw.recording(model, "0.*") as seen:
        model(x)
    with pytest.raises(LookupError, match=r"^the output of `0.norm` was written in pl"):
        _ = seen["0.norm"].output
    with pytest.raises(LookupError, match=r"^the input of `0.relu` was written in pla"):
        _ = seen["0.relu"].args
    assert seen["0.linear"].output.shape == (8, 4)


def test_copies_keep_values_and_gradients_from_before_a_write() -> None:
    model, x = blocks(), torch.randn(8, 4)
    with sw.recording(model, "0.*", copy=True) as seen:
        model(x)
    before, after = seen["0.norm"].output, seen["0.relu"].output
    assert before.min() < 0
    assert torch.equal(before.relu(), after)
    assert torch.equal(seen["0.relu"].args[0], before)
    before.sum().backward()
    assert model[0].norm.bias.grad is not None


def test_inference_tensors_are_copied_as_they_have_no_version() -> None:
    model, x = blocks().eval(), torch.randn(8, 4)
    with torch.inference_mode(), sw.recording(model, "0.*") as seen:
        model(x)
    assert seen["0.norm"].output.min() < 0
    assert seen["0.relu"].output.min() == 0


def test_no_hook_is_left_behind() -> None:
    model = blocks()
    before = hooks_of(model)
    with sw.recording(model) as seen:
        assert hooks_of(model) != before
        model(torch.randn(8, 4))
    for now, then in zip(hooks_of(model), before, strict=True):
        assert now.keys() == then.keys()
        for name in then:
            assert now[name] is then[name] or now[name] == then[name], name
    count = len(seen)
    model(torch.randn(8, 4))
    assert len(seen) == count


def test_no_hook_is_left_behind_after_an_exception() -> None:
    model = blocks()
    before = hooks_of(model)
    with pytest.raises(RuntimeError, match="mat1"), sw.recording(model) as seen:
        model[1].linear(torch.randn(8, 3))
    assert hooks_of(model) == before
    assert seen["1.linear"].args[0].shape == (8, 3)
    with pytest.raises(LookupError, match=r"`1.linear` did not return: it raised"):
        _ = seen["1.linear"].output


def test_an_exception_that_the_program_catches_ends_only_its_call() -> None:
    model = blocks()
    with sw.recording(model, "*linear") as seen:
        with pytest.raises(RuntimeError):
            model[0].linear(torch.randn(8, 3))
        model[0].linear(torch.randn(7, 4))
    assert seen["0.linear", 2].output.shape == (7, 4)


class Again(nn.Module):
    """Calls itself."""

    def forward(self, x: Tensor, left: int = 2) -> Tensor:
        return x if left == 0 else self(x + 1, left - 1) * 10


def test_recursion_and_recordings_inside_each_other() -> None:
    model = Again()
    with sw.recording(model) as outer:
        model(torch.zeros(()))
        with sw.recording(model) as inner:
            model(torch.ones(()), left=0)
    assert [float(call.output) for call in outer] == [200.0, 20.0, 2.0, 1.0]
    assert [float(call.output) for call in inner] == [1.0]
    assert inner[0].kwargs == {"left": 0}


def test_a_shared_module_is_found_under_each_of_its_paths() -> None:
    shared = nn.Linear(2, 2)
    model = nn.ModuleDict({"first": shared, "second": shared})
    with sw.recording(model, "second") as seen:
        model["first"](torch.ones(1, 2))
    assert seen["second"] is seen[0]
    assert seen.find("s*") == (seen[0],)


def test_mistakes_name_what_is_close() -> None:
    net = Net()
    with (
        pytest.raises(
            LookupError, match=r"^no module of `Net` matches `covn1`; close: "
        ),
        sw.recording(net, "covn1"),
    ):
        pass
    with (
        pytest.raises(LookupError) as caught,
        sw.recording(net, "conv*", "layer1.*"),
    ):
        pass
    assert str(caught.value) == (
        "no module of `Net` matches `layer1.*`; "
        "there are `conv1`, `conv2`, `pool`, `fc1`, `fc2`, `fc3`"
    )
    with sw.recording(net, "conv*") as seen:
        with pytest.raises(
            LookupError, match=r"^`conv1` was not called while recordin"
        ):
            seen["conv1"]
        with pytest.raises(
            LookupError, match=r"^`fc1` is not recorded; close: `conv1`"
        ):
            seen["fc1"]
    with pytest.raises(TypeError, match=r"takes an `nn.Module`, got `function`"):
        sw.recording(lambda x: x).__enter__()


def test_checkpointed_modules_keep_their_first_call() -> None:
    from torch.utils.checkpoint import checkpoint

    body = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    x = torch.randn(2, 3, requires_grad=True)
    with sw.recording(body, "0") as seen:
        y = checkpoint(body, x, use_reentrant=False)
        assert len(seen) == 1
        y.sum().backward()
    assert len(seen) == 2  # the recomputation
    assert torch.equal(seen["0"].output, seen["0", 2].output)


def test_a_traced_program_may_record() -> None:
    net = Net()

    def penalty(images: Tensor) -> Tensor:
        with sw.recording(net, "conv1") as seen:
            net(images)
        return seen["conv1"].output.pow(2).mean()

    trace = sw.trace(penalty, "f32[8, 3, 32, 32]")
    assert trace.complete
    assert trace.output.shape == ()
    assert trace.op("Tensor.pow").inputs[0].shape == (8, 6, 28, 28)


def test_a_compiled_model_is_recorded_uncompiled() -> None:
    model = torch.compile(Net(), backend="eager")
    images = torch.randn(2, 3, 32, 32)
    scores = model(images)
    with sw.recording(model, "fc3") as seen:
        again = model(images)
    assert seen["fc3"].output is again
    assert torch.equal(again, scores)
