"""What is answered without torch's kernels for meta tensors is what these return."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
import torch

from shapewright.engine.quick_kernels import (
    _KERNELS,
    LEFT,
    QuickKernels,
    compute_quickly,
)

ATEN: Any = torch.ops.aten
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def draw(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def describe(value: Any) -> Any:
    """What a user would notice of a result: sizes, dtypes, strides and bytes."""
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage().nbytes()
        return tuple(value.shape), value.dtype, value.stride(), storage, value.device
    if isinstance(value, tuple | list):
        return [describe(item) for item in value]
    return value


def list_calls(dtype: torch.dtype, shape: tuple[int, ...]) -> list[tuple[Any, ...]]:
    """A call of each kernel, and calls that are no business of a kernel's."""
    x, y = draw(shape, dtype), draw(shape, dtype)
    mask = draw(shape, torch.bool)
    width = shape[-1:]
    weight, bias = draw(width, dtype), draw(width, dtype)
    mean = draw((*shape[:-1], 1), torch.float32 if x.itemsize == 2 else dtype)
    flat = x.reshape(-1, shape[-1])
    other = torch.float32 if dtype != torch.float32 else torch.float64
    calls = [
        (ATEN.native_layer_norm.default, x, width, weight, bias, 1e-5),
        (ATEN.native_layer_norm.default, x, width, None, None, 1e-5),
        (ATEN.native_layer_norm.default, x, shape, None, None, 1e-5),
        (ATEN.native_dropout.default, x, 0.5, True),
        (ATEN.native_dropout.default, x, 0.5, False),
        (ATEN.native_dropout_backward.default, x, mask, 2.0),
        (ATEN.addmm.default, bias, flat, draw((shape[-1], shape[-1]), dtype)),
        (ATEN.addmm.default, draw((5,), dtype), flat, draw((5, shape[-1]), dtype).t()),
        (ATEN._foreach_sqrt.default, [x, weight]),
        (ATEN.zeros_like.default, x),
        (ATEN.pow.Tensor_Scalar, x, 3),
        (ATEN.mul.Tensor, x, draw(width, dtype)),
        (ATEN.mul.Tensor, x, draw((), dtype)),
        (ATEN.mul.Tensor, draw((), dtype), x),
        (ATEN.add.Tensor, x, draw(shape, other)),
        (ATEN.add.Tensor, x, 2),
        (ATEN.add.Tensor, x.t() if x.dim() == 2 else x, 2.0),
        (ATEN.div.Tensor, mask, 2.0),
    ]
    for wanted in itertools.product([True, False], repeat=3):
        calls.append(
            (ATEN.native_layer_norm_backward.default,
             y, x, width, mean, mean, weight, bias, list(wanted))
        )  # fmt: skip
    for func, kernel in _KERNELS.items():
        name = kernel.__name__
        if name == "_answer_unary" and func._schema.name != "aten::pow":
            extra = (2.0,) if func._schema.name[6:] in ("mul", "div") else ()
            calls += [(func, x, *extra), (func, x.transpose(0, -1), *extra)]
        elif name == "_answer_binary":
            calls += [(func, x, y), (func, x, 0.5), (func, x, y.transpose(0, -1).clone()
                                                     .transpose(0, -1))]  # fmt: skip
        elif name == "_copy_plainly":
            calls.append((func, x.transpose(0, -1)))
    for func in (ATEN.tanh_backward.default, ATEN.sigmoid_backward.default,
                 ATEN.gelu_backward.default, ATEN.silu_backward.default,
                 ATEN.hardswish_backward.default):  # fmt: skip
        calls.append((func, x, y))
    calls.append((ATEN.threshold_backward.default, x, y, 0))
    return calls


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 5), (1, 1), (4,), (2, 1, 3)], ids=str)
def test_quick_results_are_torchs(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    answered = 0
    for func, *args in list_calls(dtype, shape):
        kernel = _KERNELS[func]
        answered += kernel(*args) is not LEFT
        quick = describe(compute_quickly(func, tuple(args), {}))
        assert quick == describe(func(*args)), (func, args)
    assert answered >= 30


def draw_laid(rng: random.Random, shape: tuple[int, ...]) -> torch.Tensor:
    """A real tensor of any layout: transposed, cut, expanded, channels last."""
    order = rng.sample(range(len(shape)), len(shape))
    wide = [size + rng.choice([0, 0, 2]) for size in shape]
    x = torch.randn([wide[dim] for dim in order])
    x = x.permute([order.index(dim) for dim in range(len(shape))])
    x = x[tuple(slice(0, size) for size in shape)]
    if shape and rng.random() < 0.2:
        dim = rng.randrange(len(shape))
        x = x.select(dim, 0).unsqueeze(dim).expand(shape) if shape[dim] else x
    if len(shape) == 4 and rng.random() < 0.3:
        x = x.contiguous(memory_format=torch.channels_last)
    return x.contiguous() if rng.random() < 0.3 else x


def draw_call(rng: random.Random) -> tuple[Any, ...]:
    """A call of a kernel on tensors of drawn layouts, which torch may refuse."""
    shape = tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.choice([2, 3, 3, 4, 4])))
    if rng.random() < 0.05:
        shape = (0, *shape[1:])
    x, dim = draw_laid(rng, shape), rng.randrange(-len(shape), len(shape))
    other = tuple(rng.choice([size, size, 1]) for size in shape)[
        rng.choice([0, 0, 1]) :
    ]
    y, two = draw_laid(rng, other), draw_laid(rng, shape)
    batch = shape[:-2] if len(shape) == 3 else ()
    left, right = (draw_laid(rng, (*batch, *sizes)) for sizes in ((2, 3), (3, 4)))
    longer = list(shape)
    longer[dim] += 2
    at = dim % len(shape)
    calls: list[tuple[Any, ...]] = [
        (ATEN.mul.Tensor, x, y), (ATEN.add.Tensor, y, x), (ATEN.div.Tensor, x, two),
        (ATEN.neg.default, x), (ATEN.pow.Tensor_Scalar, x, 3),
        (ATEN.mul.Scalar, x, 2.0), (ATEN.div.Scalar, x, 3.0),
        (ATEN.where.self, draw_laid(rng, other) > 0, x, y),
        (ATEN.bmm.default if batch else ATEN.mm.default, left, right),
        (ATEN.sum.dim_IntList, x, [dim], rng.random() < 0.5),
        (ATEN.mean.dim, x, [dim, dim - 1 if dim > 0 else dim + 1]),
        (ATEN._softmax.default, x, dim, False),
        (ATEN._log_softmax.default, x, dim, False),
        (ATEN._softmax_backward_data.default, x, two, dim, torch.float32),
        (ATEN._safe_softmax.default, x, dim), (ATEN.tril.default, x, 1),
        (ATEN.cat.default, [x, draw_laid(rng, tuple(longer)), two], dim),
        (ATEN.slice_backward.default, x, longer, dim, 0, shape[dim], 1),
        (ATEN.select_backward.default, x, [*shape[:at], 5, *shape[at:]], at, 3),
        (ATEN.clone.default, x),
        (ATEN.sigmoid_backward.default, x, two), (ATEN.tanh_backward.default, x, two),
        (ATEN.gelu_backward.default, x, two), (ATEN.silu_backward.default, x, two),
        (ATEN.threshold_backward.default, x, two, 0),
        (ATEN.hardswish_backward.default, x, two),
        (ATEN.sigmoid_.default, x), (ATEN.tanh_.default, x),
        (ATEN.add_.Tensor, x, y), (ATEN.mul_.Tensor, x, 2.0),
    ]  # fmt: skip
    return rng.choice(calls)


def take_data(value: Any) -> Any:
    """The same tensors without data, with the same strides."""
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(
            value.shape, value.stride(), dtype=value.dtype, device="meta"
        )
    return [take_data(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(4))
def test_quick_results_have_the_layout_of_real_ones(seed: int) -> None:
    rng = random.Random(seed)
    answered: dict[str, int] = {}
    for _ in range(900):
        func, *args = draw_call(rng)
        quick = _KERNELS[func](*map(take_data, args))
        if quick is LEFT:
            continue
        real = func(*args)
        assert (quick.shape, quick.dtype) == (real.shape, real.dtype), (func, args)
        assert quick.stride() == real.stride(), (func, [describe(arg) for arg in args])
        answered[str(func)] = answered.get(str(func), 0) + 1
    assert len(answered) == 31, answered
    assert min(answered.values()) >= 3


def test_what_is_written_in_place_is_the_same_tensor() -> None:
    x, row = draw((4, 3), torch.float32), draw((3,), torch.float32)
    for func, *args in (
        (ATEN.sigmoid_.default, x[:, 1:]), (ATEN.add_.Tensor, x, row),
        (ATEN.mul_.Tensor, x, 0.5),
    ):  # fmt: skip
        assert _KERNELS[func](*args) is args[0]
    for func, *args in (
        (ATEN.add_.Tensor, row, x), (ATEN.sigmoid_.default, row.expand(4, 3)),
    ):  # fmt: skip
        assert _KERNELS[func](*args) is LEFT  # torch is asked, and may refuse


def test_lists_in_place_are_left_as_they_are() -> None:
    for func, kernel in _KERNELS.items():
        if kernel.__name__ != "_update_lists":
            continue
        lists = [[draw((3, 4), torch.float32), draw((2,), torch.float32)]
                 for _ in range(3)]  # fmt: skip
        args: list[Any] = []
        for argument in func._schema.arguments:
            kind = str(argument.type)
            if "Tensor" in kind:
                args.append(lists[len(args)])
            elif kind.startswith("List"):
                args.append([1.0, 2.0])
            elif not argument.has_default_value():
                args.append(2.0)
        before = [(describe(item), id(item)) for item in lists[0]]
        assert kernel(*args) is None, func
        assert func(*args) is None, func
        assert [(describe(item), id(item)) for item in lists[0]] == before


def test_other_dtypes_and_sizes_are_left_to_torch() -> None:
    x = draw((2, 3), torch.float32)
    with pytest.raises(RuntimeError, match=r"reduction dim|size|shape"):
        compute_quickly(ATEN.addmm.default, (x, x, x), {})
    with pytest.raises(RuntimeError, match="normalized_shape"):
        compute_quickly(ATEN.native_layer_norm.default, (x, [4], None, None, 1e-5), {})
    ids = torch.zeros(2, 3, dtype=torch.long, device="meta")
    assert compute_quickly(ATEN.add.Tensor, (ids, 0.5), {}).dtype == torch.float32
    assert compute_quickly(ATEN.add.Tensor, (x, 1j), {}).dtype == torch.complex64
    real = torch.ones(2)
    assert compute_quickly(ATEN.add.Tensor, (real, 1.0), {}).tolist() == [2, 2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_backward_pass_with_quick_kernels_ends_as_a_real_one(
    dtype: torch.dtype,
) -> None:
    """What is added up over the steps of a loop: rows, windows, columns, the last."""

    def differentiate(device: str) -> list[Any]:
        x = torch.zeros(3, 5, 4, dtype=dtype, device=device).requires_grad_()
        y = torch.zeros(4, 3, 5, dtype=dtype, device=device).requires_grad_()
        z = y.permute(1, 2, 0)
        out = torch.stack([x[:, t] * z[:, t - 1].tanh() for t in range(5)], dim=1)
        parts = [out[b, s : s + 2].mean(0) + z[b, s] for b in range(3) for s in (0, 2)]
        loss = torch.stack(parts).sum() + out[:, -1].softmax(-1).sum()
        loss.backward()
        return [(t.grad.shape, t.grad.dtype, t.grad.stride()) for t in (x, y)]  # type: ignore[union-attr]

    with QuickKernels():
        quick = differentiate("meta")
    assert quick == differentiate("cpu")
