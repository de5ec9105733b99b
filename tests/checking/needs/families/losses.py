"""Losses and distances on what torch takes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from checking.needs.breaking import Call, call
from checking.needs.families import family

ones, full = torch.ones, torch.full


@family("losses of classes")
def classes() -> Iterator[Call]:
    labels = torch.tensor([0, 2, 1])
    for function in (F.cross_entropy, F.nll_loss):
        yield call(function, ones(3, 4), labels)
        yield call(function, ones(3, 4), labels, ones(4))
        yield call(function, ones(3, 4, 5), torch.zeros(3, 5, dtype=torch.int64))
    yield call(F.cross_entropy, ones(3, 4), ones(3, 4))
    yield call(F.multi_margin_loss, ones(3, 4), labels)
    yield call(F.multi_margin_loss, ones(3, 4), labels, weight=ones(4))
    yield call(F.multilabel_margin_loss, ones(3, 4), torch.zeros(3, 4).long())
    yield call(F.multilabel_soft_margin_loss, ones(3, 4), ones(3, 4))


@family("losses of pairs")
def pairs() -> Iterator[Call]:
    x = full((3, 4), 0.5)
    for function in (
        F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.kl_div,
        F.poisson_nll_loss, F.soft_margin_loss, F.hinge_embedding_loss,
        F.binary_cross_entropy, F.binary_cross_entropy_with_logits,
    ):  # fmt: skip
        yield call(function, x, ones(3, 4))
    yield call(F.binary_cross_entropy_with_logits, x, ones(3, 4), pos_weight=ones(4))
    yield call(F.gaussian_nll_loss, x, ones(3, 4), ones(3, 4))
    yield call(F.gaussian_nll_loss, x, ones(3, 4), ones(3))


@family("losses of distances")
def distances() -> Iterator[Call]:
    x = ones(3, 4)
    yield call(F.triplet_margin_loss, x, x, x)
    yield call(F.triplet_margin_with_distance_loss, x, x, x)
    yield call(F.cosine_embedding_loss, x, x, ones(3))
    yield call(F.margin_ranking_loss, ones(3), ones(3), ones(3))


@family("ctc")
def ctc() -> Iterator[Call]:
    x = ones(5, 3, 6).log_softmax(-1)
    two = torch.tensor([2, 2, 2])
    yield call(
        F.ctc_loss, x, ones(3, 2, dtype=torch.int64), torch.tensor([5, 4, 5]), two
    )
    yield call(F.ctc_loss, x, ones(6, dtype=torch.int64), [5, 4, 5], [2, 1, 3])


@family("distances")
def between() -> Iterator[Call]:
    yield call(torch.cdist, ones(3, 4), ones(5, 4))
    yield call(torch.cdist, ones(2, 3, 4), ones(2, 5, 4))
    yield call(F.pdist, ones(3, 4))
    yield call(F.pairwise_distance, ones(3, 4), ones(3, 4))
    yield call(F.cosine_similarity, ones(3, 4), ones(3, 4))
    yield call(F.cosine_similarity, ones(2, 3, 4), ones(2, 1, 4), 2)
