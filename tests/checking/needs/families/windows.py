"""Convolutions, pooling and blocks that torch takes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from checking.needs.breaking import Call, call
from checking.needs.families import family

ones = torch.ones


@family("convolutions")
def convolutions() -> Iterator[Call]:
    yield call(F.conv1d, ones(2, 4, 9), ones(6, 4, 3), ones(6), stride=2).of_first(1)
    given = ones(2, 4, 9, 9), ones(6, 2, 3, 3), ones(6)
    yield call(F.conv2d, *given, stride=2, padding=1, groups=2).of_first(1)
    given = ones(4, 9, 9), ones(6, 4, 3, 3)
    yield call(F.conv2d, *given, stride=(2, 1), dilation=(1, 2)).of_first(1)
    yield call(F.conv3d, ones(1, 2, 5, 5, 5), ones(3, 2, 2, 2, 2)).of_first(1)
    yield call(F.conv_transpose1d, ones(2, 4, 5), ones(4, 3, 3), ones(3)).of_first(1)
    given = ones(2, 4, 5, 5), ones(4, 3, 3, 3), None
    yield call(
        F.conv_transpose2d, *given, stride=2, padding=1, output_padding=1
    ).of_first(1)


@family("pooling")
def pooling() -> Iterator[Call]:
    yield call(F.max_pool1d, ones(2, 3, 8), 2)
    yield call(F.max_pool2d, ones(2, 3, 8, 8), (2, 2), 2, 1)
    yield call(F.avg_pool1d, ones(2, 3, 8), 2)
    yield call(F.avg_pool2d, ones(2, 3, 8, 8), 3, 2, 1)
    yield call(F.avg_pool3d, ones(2, 3, 4, 4, 4), 2)
    yield call(F.max_pool3d, ones(2, 3, 4, 4, 4), 2)
    yield call(F.adaptive_avg_pool2d, ones(2, 3, 8, 8), (2, 2))
    yield call(F.adaptive_max_pool1d, ones(2, 3, 8), 2)


@family("blocks")
def blocks() -> Iterator[Call]:
    yield call(F.unfold, ones(2, 3, 6, 6), 2, stride=2)
    yield call(F.fold, ones(2, 12, 9), (6, 6), 2, stride=2)


@family("normalization")
def norms() -> Iterator[Call]:
    x, c = ones(2, 4, 5), ones(4)
    yield call(F.batch_norm, x, c, c, c, c).of_first(1)
    yield call(F.batch_norm, x, None, None, c, c, True).of_first(1)
    yield call(F.instance_norm, x, None, None, c, c).of_first(1)
    yield call(F.layer_norm, x, (5,), ones(5), ones(5)).of_first(1)
    yield call(F.layer_norm, x, (4, 5)).of_first(1)
    yield call(F.group_norm, x, 2, c, c).of_first(1)
    yield call(F.rms_norm, x, (5,), ones(5)).of_first(1)


@family("products")
def products() -> Iterator[Call]:
    yield call(F.linear, ones(2, 3, 4), ones(5, 4), ones(5)).of_first(1)
    yield call(F.linear, ones(2, 4), ones(5, 4)).of_first(1)
    yield call(torch.matmul, ones(2, 3, 4), ones(4, 5))
    yield call(torch.matmul, ones(2, 1, 3, 4), ones(6, 4, 5))
    yield call(torch.mm, ones(3, 4), ones(4, 5))
    yield call(torch.bmm, ones(2, 3, 4), ones(2, 4, 5))
    yield call(torch.mv, ones(3, 4), ones(4))
    yield call(torch.dot, ones(4), ones(4))
    yield call(torch.outer, ones(3), ones(4))
    yield call(torch.addmm, ones(5), ones(3, 4), ones(4, 5))
    yield call(torch.baddbmm, ones(2, 3, 5), ones(2, 3, 4), ones(2, 4, 5))
    given = ones(2, 3), ones(2, 4), ones(5, 3, 4), ones(5)
    yield call(F.bilinear, *given).of_first(2)
