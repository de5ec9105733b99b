"""Functions of one tensor, and of tensors that line up, on what torch takes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from checking.needs.breaking import Call, call
from checking.needs.families import family

Tensor = torch.Tensor
ones = torch.ones


@family("functions of one tensor", numbers=False)
def unary() -> Iterator[Call]:
    x = torch.full((2, 3), 0.5)
    for function in (
        torch.neg, Tensor.neg_, torch.abs, torch.sqrt, Tensor.sqrt_, Tensor.exp_,
        torch.sigmoid, torch.floor, torch.round, torch.sign, torch.sgn, torch.erf,
        torch.relu, F.relu, F.gelu, F.silu, F.elu, F.selu, F.celu, F.leaky_relu,
        F.hardtanh, F.hardswish, F.hardsigmoid, F.softplus, F.softsign, F.mish,
        F.logsigmoid, F.relu6, F.tanhshrink, F.dropout, F.alpha_dropout, torch.logit,
        torch.reciprocal, torch.isposinf, torch.signbit, torch.log1p, torch.frac,
    ):  # fmt: skip
        yield call(function, x)
    for function in (torch.bitwise_not, Tensor.__invert__):
        yield call(function, ones(2, 3).bool())


@family("tensors that line up")
def lined_up() -> Iterator[Call]:
    x, y, whole = ones(2, 3), ones(2, 1), ones(2, 3).long()
    for function in (
        torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.fmod, torch.lt,
        torch.eq, torch.atan2, torch.hypot, torch.logaddexp, torch.remainder, torch.pow,
        Tensor.add_, Tensor.mul_, Tensor.__truediv__, Tensor.__floordiv__, torch.ldexp,
        torch.heaviside, torch.nextafter, torch.float_power, torch.isclose,
        torch.clamp_min, torch.copysign, torch.xlogy,
    ):  # fmt: skip
        yield call(function, x, y)
    for function in (torch.bitwise_and, torch.gcd, torch.bitwise_left_shift):
        yield call(function, whole, whole)
    yield call(torch.logical_and, x, y)
    yield call(torch.lerp, x, y, 0.5)
    yield call(torch.lerp, x, x, y)
    yield call(torch.where, x > 0, x, y)
    yield call(torch.clamp, x, y, x)
    yield call(torch.masked_fill, x, y > 0, 0.5)
    yield call(torch.complex, x, x)


@family("products that are added")
def added() -> Iterator[Call]:
    x, y = ones(2, 3), ones(2, 1)
    for function in (torch.addcmul, torch.addcdiv):
        yield call(function, x, y, x)
    for function in (Tensor.addcmul_, Tensor.addcdiv_):
        yield call(function, x, y, x, value=0.5)
    yield call(Tensor.lerp_, x, y, 0.5)
    yield call(Tensor.clamp_, x, y)
    yield call(Tensor.copy_, x, y)
