"""What stands beside a drawing: autograd and dispatch are what torch itself does."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
import torch
from torch import nn

import shapewright as sw
from maps import (
    test_along_a_dim,
    test_convolving,
    test_elementwise,
    test_gathering,
    test_joining,
    test_layers,
    test_padding,
    test_products,
    test_repeating,
    test_views,
)
from maps.oracle import Case, function
from shapewright.index_maps.costs import find_repeats
from shapewright.index_maps.drawn_calls import Autograd, Dispatch, Drawn

F = nn.functional
GENERATORS: list[Callable[[random.Random], Iterator[Case]]] = [
    test_products.matmuls, test_products.linears, test_elementwise.pairs,
    test_elementwise.singles, test_gathering.gathers, test_gathering.scatters,
    test_views.reshapes, test_views.reorders, test_repeating.repeats,
    test_convolving.convolutions, test_joining.joins, test_along_a_dim.reductions,
    test_padding.pads, test_layers.norms_of_last_dims,
]  # fmt: skip


def explained(call: Any, *args: Any, **kwargs: Any) -> Drawn:
    made = sw.explain(call, *args, **kwargs).drawn
    assert isinstance(made, Drawn)
    return made


def autograd(call: Any, *args: Any, **kwargs: Any) -> Autograd:
    beside = explained(call, *args, **kwargs).beside
    assert beside is not None
    return beside.autograd


def dispatch(call: Any, *args: Any, **kwargs: Any) -> Dispatch:
    beside = explained(call, *args, **kwargs).beside
    assert beside is not None
    return beside.dispatch


def really(name: str, args: Any, kwargs: Any) -> tuple[Any, list[torch.Tensor]]:
    """The call with gradients asked for, and its inputs in order."""
    leaves: list[torch.Tensor] = []

    def leaf(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            leaves.append(value.detach().clone().requires_grad_())
            return leaves[-1].clone()  # which may be written in place
        return [leaf(item) for item in value] if isinstance(value, list) else value

    given = [leaf(value) for value in args]
    more = {key: leaf(value) for key, value in kwargs.items()}
    return function(name)(*given, **more), leaves


def backward_of(outs: list[torch.Tensor]) -> str:
    """Run backward from all outputs; what torch says where it refuses."""
    try:
        torch.autograd.backward([out.sum() for out in outs if out.requires_grad])
    except RuntimeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("generator", GENERATORS)
def test_gradients_are_those_of_a_real_backward(
    generator: Callable[[random.Random], Iterator[Case]],
) -> None:
    compared = 0
    for name, args, kwargs in islice(generator(random.Random(3)), 12):
        drawn = explained(function(name), *args, **kwargs)
        assert drawn.beside is not None
        made = drawn.beside.autograd
        out, leaves = really(name, args, kwargs)
        outs = list(out) if isinstance(out, tuple | list) else [out]
        if not (leaves and any(one.requires_grad for one in outs)):
            assert made.reason
            continue
        if made.nodes:  # else the input itself comes back
            assert outs[0].grad_fn.name().endswith(made.nodes[0])
        said = backward_of(outs)
        if said:  # torch refuses where a source is larger than its index
            assert {one.reason for one in made.gradients} == {said}
            continue
        due = [None if x.grad is None else tuple(x.grad.shape) for x in leaves]
        assert [one.shape for one in made.gradients] == due
        compared += len(due)
        if len(drawn.maps) == 1 and drawn.maps[0].term == "copy":
            moved_only(drawn, leaves)
    assert compared or generator in (test_elementwise.pairs,)


def moved_only(drawn: Drawn, leaves: list[torch.Tensor]) -> None:
    """Where elements are only moved or added, a gradient counts how often each is."""
    one = drawn.maps[0]
    if one.then or one.scale or one.combine not in ("sum", "last"):
        return
    sides = [side for side in drawn.inputs if side.dtype.startswith("float")]
    for side, leaf in zip(sides, leaves, strict=True):
        times = find_repeats(one, side.name, side.shape).times
        if times is not None and leaf.grad is not None and drawn.outputs[0].size:
            assert leaf.grad.unique().tolist() == [times]


KEPT: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (torch.mul, (torch.ones(2, 3), torch.ones(3))),
    (torch.add, (torch.ones(2, 3), torch.ones(3))),
    (torch.sigmoid, (torch.ones(2, 3),)),
    (torch.matmul, (torch.ones(2, 3), torch.ones(3, 4))),
    (F.linear, (torch.ones(2, 3, 6), torch.ones(4, 6), torch.ones(4))),
    (F.conv2d, (torch.ones(1, 3, 8, 8), torch.ones(4, 3, 3, 3))),
    (F.layer_norm, (torch.rand(2, 3), (3,), torch.ones(3), torch.ones(3))),
    (F.max_pool2d, (torch.ones(1, 1, 4, 4), 2)),
    (F.dropout, (torch.ones(3, 4),)),
    (torch.softmax, (torch.ones(3, 4), 1)),
    (torch.logsumexp, (torch.ones(3, 4), 1)),
    (torch.index_select, (torch.ones(3, 4), 0, torch.tensor([0, 2]))),
    (torch.var, (torch.ones(3, 4),)),
    (torch.cumprod, (torch.ones(3, 4), 0)),
]


@pytest.mark.parametrize(("call", "args"), KEPT)
def test_what_is_kept_is_what_torch_keeps(
    call: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    seen: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        seen.append(tensor)
        return tensor

    given = [
        value.clone().requires_grad_()
        if isinstance(value, torch.Tensor) and value.is_floating_point()
        else value
        for value in args
    ]
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = call(*given)
    inputs = {x.untyped_storage().data_ptr() for x in given if torch.is_tensor(x)}
    theirs = {t.data_ptr(): t for t in seen}.values()
    made = autograd(call, *args).kept
    assert sorted(one.shape for one in made) == sorted(tuple(t.shape) for t in theirs)
    own = [
        t.untyped_storage().nbytes()
        for t in theirs
        if t.untyped_storage().data_ptr() not in {*inputs, out.data_ptr()}
    ]
    assert sorted(one.nbytes for one in made if not one.name) == sorted(own)


def test_kept_tensors_have_the_names_of_the_call() -> None:
    made = autograd(F.linear, torch.ones(3, 6), torch.ones(4, 6), torch.ones(4))
    assert [(one.name, one.shape, one.view) for one in made.kept] == [
        ("input", (3, 6), False),
        ("weight", (6, 4), True),
    ]
    assert [one.name for one in autograd(torch.sigmoid, torch.ones(3)).kept] == ["out"]
    assert autograd(torch.add, torch.ones(3), torch.ones(3)).kept == ()


@pytest.mark.parametrize(
    ("call", "args", "said"),
    [
        (torch.argmax, (torch.ones(3),), "`out` is int64"),
        (torch.eq, (torch.ones(3), torch.ones(3)), "`out` is bool"),
        (torch.add, (torch.tensor([1]), 2), "no input has a floating dtype"),
        (torch.zeros, (3,), "a new tensor is a leaf"),
    ],
)
def test_a_call_without_a_gradient_says_why(
    call: Callable[..., Any], args: tuple[Any, ...], said: str
) -> None:
    drawing = sw.explain(call, *args)
    assert said in autograd(call, *args).reason
    assert said in drawing.autograd


def test_inputs_that_cannot_ask_for_a_gradient_are_named() -> None:
    x, mean, var = torch.rand(4, 3), torch.zeros(3), torch.ones(3)
    made = autograd(F.batch_norm, x, mean, var, None, None, True)
    by_name = {one.name: one for one in made.gradients}
    assert by_name["input"].shape == (4, 3)
    assert by_name["running_mean"].shape is None
    assert "not differentiable with respect to" in by_name["running_mean"].reason
    assert mean.tolist() == [0, 0, 0]


def test_a_write_in_place_counts_the_version_and_a_leaf_refuses_it() -> None:
    x = torch.ones(3, 4, requires_grad=True)
    drawing = sw.explain(x.add_, torch.ones(4))
    made = autograd(x.add_, torch.ones(4))
    assert made.written == (("input", 0, 1),)
    assert "a leaf Variable that requires grad" in made.refused[0][1]
    assert [one.shape for one in made.gradients] == [(3, 4), (4,)]
    assert "`input._version` goes from 0 to 1" in drawing.autograd
    assert x._version == 0
    assert x.grad is None


def test_views_that_must_not_be_written_say_so() -> None:
    made = autograd(torch.Tensor.transpose, torch.ones(2, 3), 0, 1)
    assert "a view of a leaf Variable" in made.refused[0][1]
    made = autograd(torch.unbind, torch.ones(2, 3))
    assert "modified inplace" in made.refused[0][1]


def test_a_broadcast_operand_is_read_and_never_copied() -> None:
    text = sw.explain("f32[3, 4] + f32[4]").text(inside=True)
    assert "`other` is read 3 times, 0 copies: its gradient sums over dim 0" in text
    text = sw.explain("F.linear(f32[2, 3, 6], f32[4, 6], f32[4])").text(
        200, inside=True
    )
    assert "`bias` is read 6 times, 0 copies: its gradient sums over dims 0 and 1" in (
        text
    )
    text = sw.explain("torch.gather(f32[4, 6], 0, i64[2, 6])").autograd
    assert "0 where nothing was read, a sum where something was read again" in text


def test_nothing_of_the_persons_changes() -> None:
    x = torch.rand(3, 4, requires_grad=True)
    y = (x * 2).t()
    before, version = y.tolist(), y._version
    state = torch.get_rng_state()
    for call in (torch.relu, F.dropout, torch.Tensor.relu_, torch.Tensor.mul_):
        sw.explain(call, y, *([y] if call is torch.Tensor.mul_ else []))
    assert (y.tolist(), y._version) == (before, version)
    assert x.grad is None
    assert y.grad_fn is not None
    assert torch.equal(state, torch.get_rng_state())
    assert torch.is_grad_enabled()


def test_gradients_are_told_inside_of_modes_too() -> None:
    with torch.no_grad():
        assert autograd(torch.relu, torch.ones(3)).nodes == ("ReluBackward0",)
    with torch.inference_mode():
        assert autograd(torch.relu, torch.ones(3)).nodes == ("ReluBackward0",)


# -- dispatch --------------------------------------------------------------------------


def test_an_operator_goes_through_autograd_to_its_kernel() -> None:
    (made,) = dispatch(torch.gather, torch.ones(2, 3), 0, torch.tensor([[0]])).calls[:1]
    assert (made.name, made.keys) == ("aten::gather", ("AutogradCPU", "CPU"))
    drawing = sw.explain("torch.gather(f32[4, 6], 0, i64[2, 6])")
    text = drawing.text(100, inside=True)
    assert "way: torch.gather -> aten::gather -> AutogradCPU -> CPU" in text
    assert "(GatherBackward0)" in drawing.dispatch


def test_a_composite_operator_is_the_calls_below_it() -> None:
    calls = dispatch("F.linear(f32[3, 6], f32[4, 6], f32[4])").calls
    assert (calls[0].name, calls[0].composite) == ("aten::linear", True)
    assert calls[0].keys == ("CompositeImplicitAutograd",)
    inner = {one.name: one.keys for one in calls if one.depth == 1}
    assert inner["aten::addmm"] == ("AutogradCPU", "CPU")


@pytest.mark.parametrize(
    ("call", "name", "keys"),
    [
        ("f32[3] + f32[3]", "aten::add.Tensor", ("AutogradCPU", "CPU")),
        ("f32[3].add_(1)", "aten::add_.Tensor",
         ("AutogradCPU", "ADInplaceOrView", "CPU")),
        ("f32[2, 3].transpose(0, 1)", "aten::transpose.int",
         ("AutogradCPU", "ADInplaceOrView", "CompositeExplicitAutograd")),
        ("torch.zeros(3)", "aten::zeros",
         ("BackendSelect", "CompositeExplicitAutograd")),
    ],
)  # fmt: skip
def test_the_overload_and_the_keys_in_order(
    call: str, name: str, keys: tuple[str, ...]
) -> None:
    (first, *_) = dispatch(call).calls
    assert (first.name, first.keys) == (name, keys)


def test_what_is_said_of_keys_is_what_the_dispatcher_has() -> None:
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    seen = 0
    for call in ("f32[2, 3] @ f32[3, 4]", "F.softmax(f32[3, 4], 1)", "f32[3].relu_()"):
        for one in dispatch(call).calls:
            for key in one.keys:
                packet = getattr(torch.ops.aten, one.name[6:].partition(".")[0])
                more = [n for n in packet.overloads() if n != "default"]
                names = [one.name, *(f"{one.name}.{n}" for n in more)]
                known = [n for n in names if torch._C._dispatch_has_kernel(n)]
                alias = key.replace("AutogradCPU", "Autograd")
                assert any(has(n, key) or has(n, alias) for n in known), (one, key)
                seen += 1
    assert seen > 8


def test_a_profiler_of_the_persons_is_left_alone() -> None:
    with torch.autograd.profiler.profile() as theirs:
        made = dispatch(torch.relu, torch.ones(3))
    assert made.reason
    assert not made.calls
    assert any(event.name == "aten::relu" for event in theirs.function_events)
    assert dispatch(torch.relu, torch.ones(3)).calls
