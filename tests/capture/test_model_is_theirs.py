"""A model is after a trace what it was before, whatever its program does to it."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import shapewright as sw
from capture.left import nothing_left
from capture.lived_in import lived_in

Program = Callable[["Owner", torch.Tensor], Any]


class Cache:
    """An object of the user's own."""

    def __init__(self) -> None:
        self.keys: list[torch.Tensor] = []
        self.last: torch.Tensor | None = None


class Owner(nn.Module):
    """Runs a program with itself as the first argument."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.weight = nn.Parameter(torch.randn(4))
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("sparse", torch.eye(4).to_sparse())
        self.cache = Cache()
        self.nest: dict[str, Any] = {"a": [{"b": []}], "c": (1, [2])}
        self.layers = [nn.Linear(4, 4)]
        self.linear.weight.grad = torch.randn(4, 4)
        self.program = program

    def forward(self, x: torch.Tensor) -> Any:
        return self.program(self, x)


def train_step(owner: Owner, x: torch.Tensor) -> Any:
    optimizer = torch.optim.AdamW(owner.parameters(), lr=0.1)
    loss = owner.norm(owner.linear(x)).square().mean() * owner.weight.sum()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(owner.parameters(), 1.0)
    optimizer.step()
    return loss


def step_by_hand(owner: Owner, x: torch.Tensor) -> None:
    (owner.linear(x) * owner.weight).sum().backward()
    with torch.no_grad():
        for parameter in owner.parameters():
            if parameter.grad is not None:
                parameter -= 0.1 * parameter.grad
                parameter.grad.zero_()
                parameter.grad = None


def changes_weights(owner: Owner, x: torch.Tensor) -> None:
    owner.weight.data.clamp_(-0.1, 0.1)
    owner.weight.data = torch.zeros(4)
    with torch.no_grad():
        owner.weight.mul_(0.5)
        owner.linear.weight[0] = 0
        owner.linear.weight.copy_(torch.zeros(4, 4))
        owner.linear.bias.detach().fill_(3)
        owner.linear.weight.view(-1)[2:5] += 1
        owner.linear.weight.t().add_(1)
        torch.add(owner.linear.weight, 1, out=owner.linear.weight)
        torch._foreach_add_([owner.weight, owner.linear.bias], 1.0)
        nn.init.zeros_(owner.linear.weight)


def changes_buffers(owner: Owner, x: torch.Tensor) -> None:
    owner.mean += x.mean(0)
    owner.mean.mul_(0.9).add_(0.1)
    owner.mean[0] = 5
    owner.seen += 1
    owner.seen.fill_(7)
    owner.mean = x.mean(0)
    owner.mean.zero_()
    torch.add(owner.mean, 1, out=owner.mean)
    owner.seen.add_(1)
    owner.mean.resize_(8)
    owner.mean.set_(torch.zeros(2))


def changes_sparse(owner: Owner, x: torch.Tensor) -> None:
    owner.sparse.mul_(2)
    owner.sparse.zero_()


def changes_grads(owner: Owner, x: torch.Tensor) -> None:
    assert owner.linear.weight.grad is not None
    owner.linear.weight.grad.zero_()
    owner.linear.weight.grad.mul_(3)
    owner.linear.weight.grad = None
    owner.weight.grad = torch.ones(4)
    owner.zero_grad()
    owner.linear.weight.grad = torch.ones(4, 4)


def changes_what_needs_grad(owner: Owner, x: torch.Tensor) -> None:
    owner.weight.requires_grad_(False)
    owner.linear.weight.requires_grad = False
    owner.requires_grad_(False)
    owner.mean.requires_grad_()
    owner.linear(x)


def changes_mode(owner: Owner, x: torch.Tensor) -> None:
    owner.eval()
    owner.norm.train(False)
    owner.train()
    owner.linear.training = False
    owner.linear(x)


def converts_itself(owner: Owner, x: torch.Tensor) -> None:
    owner.half()
    owner.to("cuda")
    owner.cpu()
    owner.linear.bfloat16()


def loads_a_state(owner: Owner, x: torch.Tensor) -> None:
    state = {
        name: torch.ones_like(value)
        for name, value in owner.linear.state_dict().items()
    }
    owner.linear.load_state_dict(state)
    owner.linear.load_state_dict(state, assign=True)


def saves_a_state(owner: Owner, x: torch.Tensor) -> None:
    torch.save({"step": 1}, io.BytesIO())
    copy.deepcopy(owner.linear)
    copy.copy(owner)
    list(owner.state_dict().values())


def adds_parts(owner: Owner, x: torch.Tensor) -> None:
    owner.extra = nn.Linear(4, 4)
    owner.add_module("more", nn.Linear(4, 4))
    owner.register_buffer("late", torch.zeros(2))
    owner.register_parameter("later", nn.Parameter(torch.zeros(2)))
    owner.linear.register_forward_hook(lambda m, a, out: out * 2)
    owner.register_state_dict_pre_hook(lambda *a: None)
    del owner.norm
    owner.linear = nn.Linear(4, 8)


def reparametrizes(owner: Owner, x: torch.Tensor) -> None:
    nn.utils.parametrizations.weight_norm(owner.linear)
    nn.utils.parametrizations.orthogonal(owner.layers[0])
    owner.linear(x)


def changes_class(owner: Owner, x: torch.Tensor) -> None:
    class Other(Owner):
        pass

    owner.__class__ = Other
    owner.cache.__class__ = type("Cache", (), {})
    owner.linear(x)


def stores_everywhere(owner: Owner, x: torch.Tensor) -> None:
    y = owner.linear(x)
    owner.hidden = y
    owner.cache.last = y
    owner.cache.keys.append(y)
    owner.nest["a"][0]["b"].append(y)
    owner.nest["c"][1].append(y)
    owner.nest["d"] = {"e": y}
    owner.layers.append(nn.Linear(4, 4))
    owner.layers[0].hidden = y
    owner.linear.weight.tag = y  # type: ignore[attr-defined]
    owner.mean.tag = y  # type: ignore[attr-defined]


def hooks_a_weight(owner: Owner, x: torch.Tensor) -> None:
    owner.weight.register_hook(lambda grad: grad * 2)
    owner.weight.register_post_accumulate_grad_hook(lambda p: None)
    (x * owner.weight).sum().backward()


def takes_gradients(owner: Owner, x: torch.Tensor) -> None:
    y = owner.norm(owner.linear(x)).sum()
    grads = torch.autograd.grad(y, [owner.linear.weight, owner.norm.weight])
    owner.cache.keys += grads


def transforms(owner: Owner, x: torch.Tensor) -> Any:
    weights = dict(owner.linear.named_parameters())

    def loss(given: dict[str, torch.Tensor], row: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(owner.linear, given, (row,)).sum()

    grads = torch.func.grad(loss)(weights, x)
    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, x)
    return grads, each, torch.func.jacrev(owner.linear)(x[0])


def reads_memory(owner: Owner, x: torch.Tensor) -> None:
    values = owner.mean.numpy()
    values[:] = 9
    owner.mean.tolist()
    owner.weight.detach().numpy()
    owner.mean.untyped_storage().nbytes()


def checkpoints(owner: Owner, x: torch.Tensor) -> Any:
    from torch.utils.checkpoint import checkpoint

    y = checkpoint(owner.linear, x, use_reentrant=False)
    y = checkpoint(lambda v: owner.norm(owner.linear(v)), y, use_reentrant=False)
    y.sum().backward()
    return y


class Square(torch.autograd.Function):
    """A custom function that keeps its input."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return 2 * ctx.saved_tensors[0] * grad


def custom_function(owner: Owner, x: torch.Tensor) -> Any:
    y = Square.apply(owner.weight)
    y.sum().backward()
    return y


def averages(owner: Owner, x: torch.Tensor) -> None:
    average = torch.optim.swa_utils.AveragedModel(owner.linear)
    average.update_parameters(owner.linear)
    torch.nn.utils.vector_to_parameters(torch.zeros(20), owner.linear.parameters())


PROGRAMS = [
    train_step, step_by_hand, changes_weights, changes_buffers, changes_sparse,
    changes_grads, changes_what_needs_grad, changes_mode, converts_itself,
    loads_a_state, saves_a_state, adds_parts, reparametrizes, changes_class,
    stores_everywhere, hooks_a_weight, takes_gradients, transforms, reads_memory,
    checkpoints, custom_function, averages,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_model_is_as_it_was(program: Program) -> None:
    owner = Owner(program).train()
    x = torch.randn(3, 4)
    kept = x.clone()
    with nothing_left(owner, owner.layers[0]):
        trace = sw.trace(owner, x)
    assert torch.equal(x, kept)
    assert trace.complete, trace.findings
    assert trace.ops


@pytest.mark.parametrize("way", ["success", "graph", "error", "shape", "interrupt"])
def test_a_model_that_has_been_lived_in(way: str) -> None:
    model, inputs = lived_in()

    def end(module: nn.Module, args: Any, out: Any) -> None:
        if way == "error":
            raise KeyError("a hook of the user's")
        if way == "shape":
            out @ torch.ones(100, 3)
        if way == "interrupt":
            raise KeyboardInterrupt
        if way == "graph":
            (model.hidden.sum() + out.sum()).backward()

    model.tied.register_forward_hook(end)
    with nothing_left(model):
        if way == "interrupt":
            with pytest.raises(KeyboardInterrupt):
                sw.trace(model, *inputs)
            return
        trace = sw.trace(model, *inputs)
    assert trace.complete == (way in ("success", "graph"))
    assert trace.module("conv").output.shape == (4, 6, 8, 8)
    assert trace.module("lazy").output.shape == (4, 5)


def test_it_still_works_and_learns() -> None:
    model, inputs = lived_in()
    sw.trace(model, *inputs)
    a, b = model(*inputs)
    (a.sum() + b.sum()).backward()
    assert a.device.type == "cpu"
    assert model.lazy.weight.shape == (5, 6)
    assert model.conv.weight.grad is not None
    assert model.steps == 1
    again = pickle.loads(pickle.dumps(model.tied.state_dict()))
    assert torch.equal(again["head.weight"], model.tied.embedding.weight)


def test_inputs_are_not_changed() -> None:
    def fill(x: torch.Tensor, cache: Any, box: Cache) -> Any:
        x.add_(1)
        x.tag = 1  # type: ignore[attr-defined]
        cache["keys"].append(x * 2)
        cache["new"] = x
        box.keys.append(x)
        box.last = x
        return x.relu_()

    x, box = torch.zeros(3), Cache()
    cache: dict[str, Any] = {"keys": [torch.ones(1)]}
    trace = sw.trace(fill, x, cache, box)
    assert trace.complete
    assert torch.equal(x, torch.zeros(3))
    assert vars(x) == {}
    assert x._version == 0
    assert [*cache] == ["keys"]
    assert len(cache["keys"]) == 1
    assert box.keys == []
    assert box.last is None


def test_a_trace_keeps_no_tensor_alive() -> None:
    made: list[weakref.ref[Any]] = []

    def program(owner: Owner, x: torch.Tensor) -> torch.Tensor:
        y = owner.norm(owner.linear(x))
        made.extend(weakref.ref(t) for t in (y, y * 2, torch.arange(3)))
        return y

    owner, x = Owner(program), torch.randn(3, 4)
    made += [weakref.ref(t) for t in (owner, x, owner.weight, owner.mean)]
    trace = sw.trace(owner, x)
    del owner, x
    gc.collect()
    assert [ref() for ref in made] == [None] * len(made)
    assert trace.module("linear").output.shape == (3, 4)
    assert "linear" in str(trace)


@pytest.mark.long
def test_size_costs_no_memory() -> None:
    model = nn.Sequential(nn.Linear(1 << 14, 1 << 14), nn.ReLU()).to("meta")
    trace = sw.trace(model, f"f32[{2**40}, {2**14}]")
    assert trace.output.shape == (2**40, 2**14)
    assert trace.complete


def test_a_conversion_shows_in_the_run_only() -> None:
    linear = nn.Linear(4, 4)
    linear.weight.grad = torch.ones(4, 4)
    seen = []

    def look() -> None:
        grad = linear.weight.grad
        assert grad is not None
        seen.append((linear.weight.dtype, str(linear.weight.device), str(grad.device)))

    def program(x: torch.Tensor) -> torch.Tensor:
        linear.half()
        look()
        linear.to("cuda")
        look()
        linear.cpu()
        look()
        return linear(x.half())

    x = torch.randn(3, 4)
    with nothing_left(linear):
        trace = sw.trace(program, x)
    assert trace.output.dtype == "float16"
    assert seen == [
        (torch.float16, "cpu", "cpu"),
        (torch.float16, "cuda:0", "cuda:0"),
        (torch.float16, "cpu", "cpu"),
    ]
