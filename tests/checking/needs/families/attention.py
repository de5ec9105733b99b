"""Attention on what torch takes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from checking.needs.breaking import Call, call
from checking.needs.families import family

ones = torch.ones


@family("scaled dot products")
def products() -> Iterator[Call]:
    q, k = ones(2, 3, 4, 6), ones(2, 3, 5, 6)
    yield call(F.scaled_dot_product_attention, q, k, k)
    yield call(F.scaled_dot_product_attention, q, k, k, ones(4, 5).bool())
    yield call(F.scaled_dot_product_attention, q, k, k, ones(2, 1, 4, 5))
    yield call(F.scaled_dot_product_attention, q[:, :1], k, k)


@family("multi-head attention", numbers=False)
def heads() -> Iterator[Call]:
    q, k = ones(4, 2, 6), ones(5, 2, 6)
    weights = ones(18, 6), ones(18), None, None, False, 0.0, ones(6, 6), ones(6)
    func = F.multi_head_attention_forward
    masks = torch.zeros(4, 5).bool(), torch.zeros(4, 4, 5), None
    padding = torch.zeros(2, 5).bool()
    for mask in masks:
        given = q, k, k, 6, 2, *weights
        yield call(func, *given, attn_mask=mask).of_first(3)
        yield call(func, *given, attn_mask=mask, key_padding_mask=padding).of_first(3)
    yield call(func, q[:, 0], k[:, 0], k[:, 0], 6, 2, *weights).of_first(3)
