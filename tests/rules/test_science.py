"""Rules of what research code calls, on random calls in random layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from test_layers import Call, Chance, verdict_of

FLOATS = [torch.float32, torch.float32, torch.float32, torch.float64]


def contraction(chance: Chance) -> Call:
    dtype = chance.seldom(torch.float32, chance.choice([torch.int64, torch.complex64]))
    dims = chance.sizes(4)
    order = chance.sample(range(3), 3)
    a = chance.tensor([dims[0], dims[1], chance.seldom(dims[2], 1)], dtype)
    other = [dims[1], dims[2], dims[3]]
    b = chance.tensor([other[dim] for dim in order], dtype)
    pair = ([1, 2], [order.index(0), order.index(1)])
    vector = chance.tensor([3], dtype)
    rows = chance.tensor([dims[0], 3], chance.seldom(dtype, torch.float64))
    weight = chance.tensor([dims[3], dims[2], 3], dtype)
    return chance.choice(
        [
            (torch.tensordot, (a, b), {"dims": pair}),
            (torch.tensordot, (a, b), {"dims": chance.choice([0, 1, 2])}),
            (torch.tensordot, (vector, rows), {"dims": ([0], [1])}),
            (torch.inner, (a, chance.tensor([4, dims[2]], dtype)), {}),
            (torch.vdot, (vector, chance.seldom(vector, rows)), {}),
            (torch.kron, (a, b), {}),
            (torch.outer, (vector, vector), {}),
            (torch.addr, (chance.tensor([3, 3], dtype), vector, vector), {}),
            (torch.cross, (rows, vector.expand(1, 3)), {"dim": 1}),
            (torch.linalg.cross, (rows, rows), {}),
            (torch.linalg.vecdot, (rows, rows), {"dim": chance.choice([0, -1])}),
            (torch.trace, (rows,), {}),
            (F.bilinear, (a, a[..., :1].expand(*a.shape[:2], 3), weight), {}),
        ]
    )


def distance(chance: Chance) -> Call:
    dtype = chance.choice(FLOATS)
    rows, width = chance.choice([2, 3, 30]), chance.choice([1, 4])
    batch = chance.sizes(chance.choice([0, 0, 1]), 1, 2)
    one = chance.tensor([*batch, rows, width], dtype)
    two = chance.tensor([*chance.choice([[], batch]), 5, width], dtype)
    like = chance.tensor(chance.choice([one.shape, [rows, width], [width]]), dtype)
    return chance.choice(
        [
            (torch.cdist, (one, two, chance.choice([1.0, 2.0, 3.0])), {}),
            (F.cosine_similarity, (one, like), {"dim": chance.choice([0, 1, -1])}),
            (F.pairwise_distance, (one, like), {"keepdim": chance.random() < 0.5}),
            (torch.dist, (one, like), {}),
            (F.pdist, (one,), {}),
        ]
    )


def margins(chance: Chance) -> Call:
    dtype, shape = chance.choice(FLOATS), chance.sizes(chance.choice([1, 2, 2, 3]))
    x, y, z = (chance.tensor(shape, dtype) for _ in range(3))
    keywords: dict[str, Any] = {"reduction": chance.choice(["mean", "sum", "none"])}
    labels = torch.zeros(shape[:1], dtype=torch.int64)
    sign = chance.tensor(shape[:1], dtype)
    both = {**keywords, "log_target": chance.random() < 0.5}
    return chance.choice(
        [
            (F.kl_div, (x, y), {**both, "reduction": "batchmean"}),
            (F.kl_div, (x, y), both),
            (F.triplet_margin_loss, (x, y, z), keywords),
            (F.triplet_margin_loss, (x, y, z), {**keywords, "swap": True}),
            (F.margin_ranking_loss, (x, y, z), keywords),
            (F.hinge_embedding_loss, (x, y), keywords),
            (F.soft_margin_loss, (x, y.detach()), keywords),
            (F.cosine_embedding_loss, (x, y, sign), keywords),
            (F.multilabel_soft_margin_loss, (x, y), keywords),
            (F.poisson_nll_loss, (x, y), {**keywords, "full": chance.random() < 0.5}),
            (F.multi_margin_loss, (x, labels), keywords),
            (F.multilabel_margin_loss, (x, torch.zeros(shape).long()), keywords),
        ]
    )


def sampled(chance: Chance) -> Call:
    dims, dtype = chance.choice([2, 2, 3]), chance.choice(FLOATS)
    batch, room = chance.choice([1, 2]), chance.sizes(dims)
    x = chance.tensor([batch, chance.choice([1, 3]), *chance.sizes(dims)], dtype)
    grid = chance.tensor([chance.seldom(batch, 3), *room, dims], dtype)
    keywords = {
        "mode": chance.choice(["bilinear", "bilinear", "nearest", "bicubic"]),
        "padding_mode": chance.choice(["zeros", "border", "reflection"]),
        "align_corners": chance.random() < 0.5,
    }
    theta = chance.tensor([batch, dims, dims + 1], dtype)
    logits = chance.tensor([4, 5], dtype)
    corners = {"align_corners": True}
    return chance.choice(
        [
            (F.grid_sample, (x, grid), keywords),
            (F.grid_sample, (x, grid), keywords),
            (F.affine_grid, (theta, [batch, 3, *room]), corners),
            (F.gumbel_softmax, (logits,), {"hard": chance.random() < 0.5}),
        ]
    )


def regular(chance: Chance, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
    """Matrices in any layout that have an inverse and a Cholesky factor."""
    order = chance.sample(range(len(shape)), len(shape))
    turned = torch.empty([shape[dim] for dim in order], dtype=dtype)
    made = turned.permute([order.index(dim) for dim in range(len(shape))])
    made.copy_(torch.eye(shape[-2], shape[-1], dtype=dtype) * 4 + 0.25)
    return made


def decomposed(chance: Chance) -> Call:
    batch, size = chance.sizes(chance.choice([0, 1, 2]), 1, 2), chance.choice([1, 3, 4])
    dtype = chance.choice(FLOATS)
    a = regular(chance, [*batch, size, size], dtype)
    tall = regular(chance, [*batch, size, chance.choice([2, 3, 5])], dtype)
    L = torch.linalg
    full = {"full_matrices": chance.random() < 0.5}
    mode = {"mode": chance.choice(["reduced", "complete"])}
    square = [L.inv, L.det, L.slogdet, L.cholesky, L.eigh, L.eigvalsh, L.eig]
    square += [torch.logdet, torch.matrix_exp]
    return chance.choice(
        [
            *((func, (a,), {}) for func in chance.sample(square, 4)),
            (L.qr, (tall,), mode),
            (L.svd, (tall,), full),
            (L.svdvals, (tall,), {}),
            (L.matrix_norm, (tall,), {"keepdim": chance.random() < 0.5}),
            (L.solve, (a, tall), {}),
            (L.solve, (a, tall[..., 0].clone()), {}),
            (L.solve_triangular, (a, tall), {"upper": True}),
            (torch.cholesky_solve, (tall, a), {}),
        ]
    )


def spectra(chance: Chance) -> Call:
    kind = chance.choice([torch.float32, torch.complex64, torch.int64, torch.float64])
    shape = chance.sizes(chance.choice([1, 2, 3]), 1, 2, 3, 4, 5)
    x = chance.tensor(shape, kind)
    x = chance.choice([x, x.contiguous().clone()])
    name = chance.choice(["fft", "ifft", "rfft", "irfft"])
    if chance.random() < 0.5:
        size = chance.choice([None, None, 3, 6])
        return getattr(torch.fft, name), (x, size, chance.choice([-1, 0])), {}
    if chance.random() < 0.2:
        return chance.choice([torch.fft.fftshift, torch.fft.ifftshift]), (x,), {}
    if chance.random() < 0.5 and len(shape) > 1:
        sizes = chance.choice([None, [3, 4], [2, 5]])
        return getattr(torch.fft, name + "2"), (x, sizes), {}
    dims = chance.choice([None, [-1], [0], list(range(len(shape)))])
    return getattr(torch.fft, name + "n"), (x,), {"dim": dims}


def statistics(chance: Chance) -> Call:
    shape = chance.sizes(chance.choice([1, 2, 2, 3]), 1, 2, 3, 4)
    dtype = chance.seldom(chance.choice(FLOATS), torch.int64, 0.2)
    x, y = chance.tensor(shape, dtype), chance.tensor(shape, dtype)
    x = x if x.dim() != 2 or chance.random() < 0.5 else x.contiguous()
    edges = torch.arange(4).to(dtype)
    dim, keep = chance.choice([0, -1]), chance.random() < 0.5
    return chance.choice(
        [
            (torch.histc, (x.detach(),), {"bins": 4, "min": 0, "max": 3}),
            (torch.bucketize, (x, edges), {"out_int32": chance.random() < 0.3}),
            (torch.searchsorted, (edges, x), {"right": chance.random() < 0.5}),
            (torch.cov, (x,), {}),
            (torch.corrcoef, (x,), {}),
            (torch.diff, (x,), {"dim": dim}),
            (torch.trapezoid, (x,), {"dim": dim}),
            (torch.isclose, (x, y), {}),
            (torch.isin, (x, edges), {}),
            (torch.polar, (x, chance.choice([y, y[:1]])), {}),
            (torch.complex, (x, y), {}),
            (torch.diag, (x, chance.choice([0, 1, -2])), {}),
            (torch.diag_embed, (x, chance.choice([0, 1, -1])), {}),
            (torch.diagflat, (x,), {}),
            (torch.logaddexp, (x, y), {}),
            (torch.multinomial, (x.detach(), chance.choice([1, 2])), {}),
            (torch.quantile, (x, 0.5, chance.choice([None, 0, -1])), {"keepdim": keep}),
            (torch._weight_norm, (x, x[(..., *[slice(0, 1)] * (x.dim() - 1))], 0), {}),
            (torch.msort, (x,), {}),
            (F.alpha_dropout, (x, 0.3), {"training": keep}),
            (torch.column_stack, ([x, y, x[..., 0] if x.dim() == 2 else y],), {}),
        ]
    )


def overwritten(chance: Chance) -> Call:
    shape = chance.sizes(chance.choice([1, 2, 3]), 2, 3, 4)
    dtype = chance.seldom(chance.choice(FLOATS), torch.int64, 0.2)
    x, dim = chance.tensor(shape, dtype), chance.choice([0, -1])
    few = torch.zeros(2, dtype=torch.int64)
    own = list(shape)
    own[dim] = 2
    source = chance.tensor(chance.seldom(own, shape), dtype)
    at = torch.zeros(own, dtype=torch.int64)
    how = chance.choice(["sum", "prod", "mean", "amax", "amin"])
    narrow = chance.choice([at, at[:1]])
    return chance.choice(
        [
            (torch.index_add, (x, dim, few, source), {}),
            (torch.index_copy, (x, dim, few, source), {}),
            (torch.Tensor.index_add_, (x.detach(), dim, few, source.detach()), {}),
            (torch.Tensor.index_copy_, (x.detach(), dim, few, source.detach()), {}),
            (torch.index_fill, (x, dim, few, chance.choice([1, 1.5])), {}),
            (torch.scatter_reduce, (x, dim, at, source, how), {}),
            (torch.take_along_dim, (x, narrow, dim), {}),
            (torch.take, (x, at), {}),
        ]
    )


FAMILIES: list[Callable[[Chance], Call]] = [
    contraction, distance, margins, sampled, decomposed, spectra, statistics,
    overwritten,
]  # fmt: skip


def differences(family: Callable[[Chance], Call], seed: int, count: int) -> list[str]:
    """What the rules got wrong in so many random calls; a quarter at least agree."""
    chance = Chance(seed)
    verdicts = [verdict_of(family(chance)) for _ in range(count)]
    assert sum(verdict.status == "equal" for verdict in verdicts) > count // 4
    return [verdict.detail for verdict in verdicts if verdict.status == "wrong"]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_random_calls_agree_with_torch(family: Callable[[Chance], Call]) -> None:
    assert not differences(family, seed=0, count=150)


@pytest.mark.zoo
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_many_random_calls_agree_with_torch(family: Callable[[Chance], Call]) -> None:
    wrong = [one for seed in range(1, 21) for one in differences(family, seed, 200)]
    assert not wrong, "\n".join(wrong[:20])
