"""Padding, resizing, sampling and unpooling of images that torch takes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from checking.needs.breaking import Call, call
from checking.needs.families import family

ones = torch.ones


@family("grids")
def grids() -> Iterator[Call]:
    yield call(F.affine_grid, ones(2, 2, 3), [2, 3, 4, 5], align_corners=False)
    yield call(F.affine_grid, ones(2, 3, 4), [2, 3, 4, 5, 6], align_corners=False)
    grid = ones(2, 4, 5, 2)
    yield call(F.grid_sample, ones(2, 3, 6, 6), grid, align_corners=False)
    grid = ones(2, 4, 5, 6, 3)
    yield call(F.grid_sample, ones(2, 3, 4, 4, 4), grid, align_corners=False)


@family("unpooling")
def unpooling() -> Iterator[Call]:
    small, where = F.max_pool2d(ones(2, 3, 6, 6), 2, return_indices=True)
    yield call(F.max_unpool2d, small, where, [2, 2])
    yield call(F.max_unpool2d, small, where, 2, output_size=[6, 6])
    small, where = F.max_pool1d(ones(2, 3, 6), 2, return_indices=True)
    yield call(F.max_unpool1d, small, where, 2)


@family("resizing")
def resizing() -> Iterator[Call]:
    yield call(F.interpolate, ones(2, 3, 4, 4), (8, 8), mode="bilinear")
    yield call(F.interpolate, ones(2, 3, 4, 4), scale_factor=2)
    yield call(F.interpolate, ones(2, 3, 4), 8, mode="linear")
    yield call(torch.pixel_shuffle, ones(2, 8, 3, 3), 2)
    yield call(torch.pixel_unshuffle, ones(2, 3, 4, 4), 2)


@family("padding")
def padding() -> Iterator[Call]:
    yield call(F.pad, ones(2, 3, 4, 4), (1, 1, 2, 2))
    for mode in ("reflect", "replicate", "circular"):
        yield call(F.pad, ones(2, 3, 4, 4), (1, 1, 2, 2), mode)
        yield call(F.pad, ones(2, 3, 4), (1, 2), mode)
    yield call(F.local_response_norm, ones(2, 3, 4), 2)
