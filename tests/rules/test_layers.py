"""Rules of layers on random calls in random layouts, against real tensors."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from layouts import laid_out
from oracle import Verdict, run

import shapewright as sw

FLOATS = [torch.float32] * 8 + [torch.float64, torch.bfloat16]
ANY = [*FLOATS, torch.int64, torch.bool]
PRODUCTS = [*ANY, torch.complex64]
Call = tuple[Any, tuple[Any, ...], dict[str, Any]]


class Chance(random.Random):
    """A source of random arguments."""

    def tensor(self, shape: Any, dtype: Any = None) -> torch.Tensor:
        made = laid_out(list(shape), dtype or self.choice(FLOATS), self)
        grad = made.is_floating_point() and self.random() < 0.4
        return made.detach().requires_grad_() if grad else made

    def sizes(self, count: int, *among: int) -> list[int]:
        return [self.choice(among or (1, 2, 3, 4)) for _ in range(count)]

    def seldom(self, usual: Any, rare: Any, share: float = 0.06) -> Any:
        return rare if self.random() < share else usual

    def per_dim(self, dims: int, *among: int) -> Any:
        return self.choice([self.choice(among), tuple(self.sizes(dims, *among))])


def products(chance: Chance) -> Call:
    dtype = chance.seldom(torch.float32, chance.choice(PRODUCTS), 0.1)
    inner = chance.choice([1, 2, 3])
    batch = chance.sizes(chance.choice([0, 0, 1, 1, 2]), 1, 2)
    left = [*chance.seldom(batch, batch[1:], 0.3), chance.choice([1, 2, 3]), inner]
    right = [*chance.seldom(batch, batch[1:], 0.3), inner, chance.choice([1, 2, 3])]
    right = chance.seldom(chance.seldom(right, [*right[:-2], 3, 2]), [inner], 0.1)
    a = chance.tensor(chance.seldom(left, [inner], 0.1), dtype)
    b = chance.tensor(right, chance.seldom(dtype, torch.float64))
    named = {1: torch.mv, 2: torch.mm, 3: torch.bmm}.get(b.ndim, torch.matmul)
    return chance.choice([torch.matmul, named]), (a, b), {}


def linear(chance: Chance) -> Call:
    dtype = chance.seldom(torch.float32, chance.choice(PRODUCTS), 0.1)
    ins, outs = chance.sizes(2)
    x = chance.tensor([*chance.sizes(chance.choice([0, 1, 2, 2, 3])), ins], dtype)
    weight = chance.tensor([outs, chance.seldom(ins, 5)], chance.seldom(dtype, ANY[0]))
    shape = chance.choice(
        [[outs], [outs], [1], [1, outs], [], [chance.seldom(outs, 7)]]
    )
    bias = chance.tensor(shape, chance.seldom(dtype, torch.float64))
    return F.linear, (x, weight, chance.choice([bias, bias, None])), {}


def convolution(chance: Chance) -> Call:
    dims, groups = chance.choice([1, 2, 2, 3]), chance.choice([1, 1, 2, 3])
    dtype = chance.seldom(torch.float32, chance.choice(ANY), 0.2)
    ins, outs = groups * chance.choice([1, 2]), groups * chance.choice([1, 2])
    kernel = chance.sizes(dims, 2, 3) if chance.random() < 0.8 else [1] * dims
    room = chance.sizes(dims, 3, 4, 5, 6)
    shape = [chance.choice([1, 2]), chance.seldom(ins, ins + 1), *room]
    x = chance.tensor(shape[chance.seldom(0, 1, 0.1) :], dtype)
    other = chance.seldom(dtype, torch.float64)
    keywords = {
        "stride": chance.per_dim(dims, 1, 1, 2),
        "padding": chance.per_dim(dims, 0, 0, 1),
        "dilation": chance.per_dim(dims, 1, 1, 2) if kernel[0] > 1 else 1,
        "groups": groups,
    }
    if chance.random() < 0.25:
        weight = chance.tensor([ins, outs // groups, *kernel], other)
        return getattr(F, f"conv_transpose{dims}d"), (x, weight), keywords
    weight = chance.tensor([outs, ins // groups, *kernel], other)
    bias = chance.tensor([chance.seldom(outs, outs + 1)], chance.seldom(dtype, ANY[8]))
    if chance.random() < 0.1:
        keywords |= {"padding": chance.choice(["same", "valid", "odd"]), "stride": 1}
    return (
        getattr(F, f"conv{dims}d"),
        (x, weight, chance.choice([bias, None])),
        keywords,
    )


def normalization(chance: Chance) -> Call:
    shape = chance.sizes(chance.choice([2, 3, 4, 4, 5]))
    dtype = chance.seldom(torch.float32, chance.choice(ANY), 0.2)
    x = chance.tensor(shape, dtype)

    def per(size: Any) -> Any:
        size = chance.seldom(size, [2])
        return chance.choice(
            [None, chance.tensor(size, chance.seldom(dtype, ANY[0], 0.1)).contiguous()]
        )

    channels, last = [shape[1]], shape[-chance.choice([1, 1, 2]) :]
    running = per(channels)
    return chance.choice(
        [
            (F.layer_norm, (x, tuple(last), per(last), per(last)), {}),
            (F.rms_norm, (x, tuple(last), per(last)), {}),
            (F.group_norm, (x, chance.choice([1, 2, shape[1]]), per(channels)), {}),
            (F.batch_norm, (x, running, running), {"training": chance.random() < 0.5}),
            (F.instance_norm, (x,), {}),
            (F.softmax, (x, chance.choice([0, 1, -1, 3])), {}),
            (F.log_softmax, (x, chance.choice([0, 1, -1, 3])), {}),
        ]
    )


def attention(chance: Chance) -> Call:
    heads, width = chance.sizes(chance.choice([2, 2, 2, 1])), chance.choice([1, 4, 8])
    length, keys = chance.sizes(2)
    dtype = chance.choice(FLOATS)
    q = chance.tensor([*heads, length, width], dtype)
    k = chance.tensor([*heads, keys, width], chance.seldom(dtype, torch.float16))
    v = chance.tensor([*heads, keys, chance.seldom(width, 3, 0.1)], dtype)
    masks = [[length, keys], [1, keys], [length, 1], [*heads, length, keys]]
    mask = chance.tensor(chance.choice(masks), chance.choice([torch.bool, dtype]))
    keywords = chance.choice(
        [{}, {"is_causal": True}, {"attn_mask": mask}, {"dropout_p": 0.1}]
    )
    return F.scaled_dot_product_attention, (q, k, v), keywords


def pooling(chance: Chance) -> Call:
    dims = chance.choice([1, 2, 2, 3])
    shape = chance.sizes(chance.choice([1, 2, 2]), 1, 2, 3)
    x = chance.tensor(shape + chance.sizes(dims, 1, 3, 4, 7), chance.choice(ANY))
    if chance.random() < 0.3:
        names = [f"adaptive_avg_pool{dims}d", f"adaptive_max_pool{dims}d"]
        size = chance.per_dim(dims, 1, 2, 3)
        return getattr(F, chance.choice(names)), (x, size), {}
    if chance.random() < 0.2:
        factor = chance.choice([2, 0.5, 1.7])
        mode = chance.choice(["nearest", "linear", "bilinear", "bicubic", "trilinear"])
        return F.interpolate, (x,), {"scale_factor": factor, "mode": mode}
    keywords = {
        "stride": chance.choice([None, chance.per_dim(dims, 1, 2)]),
        "padding": chance.per_dim(dims, 0, 0, 1),
        "ceil_mode": chance.random() < 0.3,
    }
    name = chance.choice([f"max_pool{dims}d", f"avg_pool{dims}d"])
    return getattr(F, name), (x, chance.per_dim(dims, 1, 2, 3)), keywords


def joining(chance: Chance) -> Call:
    shape = chance.sizes(chance.choice([0, 1, 2, 3, 4, 4, 5]), 1, 2, 3)

    def one() -> torch.Tensor:
        own = list(shape)
        if own and chance.random() < 0.2:
            own[chance.randrange(len(own))] = 4
        return chance.tensor(chance.seldom(own, [0]), chance.choice(ANY))

    tensors = [one() for _ in range(chance.choice([1, 2, 3]))]
    func = chance.choice([torch.cat, torch.stack, torch.hstack, torch.vstack])
    along = func in (torch.cat, torch.stack)
    return func, (tensors, chance.choice([0, 1, -1])) if along else (tensors,), {}


def padding(chance: Chance) -> Call:
    x = chance.tensor(chance.sizes(chance.choice([1, 2, 3, 4, 5])), chance.choice(ANY))
    among = chance.choice([(0, 1, 1, 2), (0, 1, -1), (0, 0, -1), (0,)])
    pads = chance.sizes(2 * chance.choice([1, 1, 2, 3, 4]), *among)
    modes = ["constant", "constant", "reflect", "replicate", "circular"]
    return chance.choice(
        [
            (F.pad, (x, pads, chance.choice(modes)), {}),
            (F.pixel_shuffle, (x, chance.choice([1, 2])), {}),
            (F.unfold, (x, chance.choice([1, 2])), {"padding": chance.choice([0, 1])}),
            (torch.roll, (x, 1, chance.choice([0, -1])), {}),
            (torch.roll, (x, (1, 2), (0, -1)), {}),
            (torch.roll, (x, 1), {}),
            (torch.flip, (x, [chance.choice([0, -1])]), {}),
            (torch.sort, (x, chance.choice([0, -1])), {}),
            (torch.topk, (x, chance.choice([1, 2]), chance.choice([0, -1])), {}),
        ]
    )


def losses(chance: Chance) -> Call:
    shape = chance.sizes(chance.choice([1, 2, 2, 3, 4, 5]))
    dtype = chance.seldom(torch.float32, chance.choice(ANY), 0.1)
    x = chance.tensor(shape, dtype)
    keywords = {"reduction": chance.choice(["mean", "sum", "none"])}
    if chance.random() < 0.5:
        want = [shape[0], *shape[2:]] if len(shape) > 1 else []
        classes = chance.seldom(want, chance.sizes(len(want)), 0.2)
        target = torch.zeros(classes, dtype=chance.seldom(torch.int64, torch.int32))
        return chance.choice([F.cross_entropy, F.nll_loss]), (x, target), keywords
    other = chance.tensor(chance.seldom(shape, [*shape[:-1], 5]), dtype)
    pairs = [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss]
    pairs += [F.binary_cross_entropy, F.binary_cross_entropy_with_logits]
    return chance.choice(pairs), (x, other), keywords


def indexing(chance: Chance) -> Call:
    shape = chance.sizes(chance.choice([1, 2, 3, 4]), 2, 3, 4)
    x, dim = chance.tensor(shape, chance.choice(ANY)), chance.choice([0, -1, 1])
    own = chance.seldom(shape, chance.sizes(len(shape), 1, 2, 3), 0.5)
    at = torch.zeros(own).long()
    few = torch.zeros(chance.choice([(3,), (1,), (2, 2)])).long()
    table = chance.tensor([5, 3])
    items = [chance.choice([few, slice(0, 2), 0, slice(None)]) for _ in shape]
    return chance.choice(
        [
            (torch.gather, (x, dim, at), {}),
            (torch.scatter, (x, dim, at, chance.tensor(own, x.dtype)), {}),
            (torch.index_select, (x, dim, few), {}),
            (torch.Tensor.__getitem__, (x, few), {}),
            (torch.Tensor.__getitem__, (x, tuple(items)), {}),
            (F.embedding, (chance.seldom(few, few.float()), table), {}),
            (F.one_hot, (few, 4), {}),
        ]
    )


def cell(chance: Chance) -> Call:
    name, gates = chance.choice(
        [("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)]
    )
    batch, width, hidden = chance.sizes(3)
    dtype = chance.choice(FLOATS)
    x = chance.tensor([batch, chance.seldom(width, 5)], dtype)
    state = chance.seldom(torch.ones, chance.tensor, 0.2)([batch, hidden], dtype=dtype)
    weights = [torch.ones(gates * hidden, n, dtype=dtype) for n in (width, hidden)]
    bias = torch.ones(gates * hidden, dtype=chance.seldom(dtype, torch.float16))
    states = (state, state) if gates == 4 else state
    biases = chance.choice([(), (bias, bias)])
    return getattr(torch, f"{name}_cell"), (x, states, *weights, *biases), {}


def recurrent(chance: Chance) -> Call:
    if chance.random() < 0.3:
        return cell(chance)
    kind = chance.choice(["LSTM", "GRU", "RNN"])
    dtype = chance.seldom(torch.float32, torch.float64, 0.2)
    made = getattr(torch.nn, kind)(
        3, 4, chance.choice([1, 2]), bidirectional=chance.random() < 0.5,
        batch_first=chance.random() < 0.5, bias=chance.random() < 0.8,
    )  # fmt: skip
    func = {"LSTM": torch.lstm, "GRU": torch.gru, "RNN": torch.rnn_tanh}[kind]
    made = made.to(dtype)
    x = torch.ones(5, 2, 3, dtype=dtype)
    directions = 2 if made.bidirectional else 1
    batch = 5 if made.batch_first else 2
    state = torch.ones(made.num_layers * directions, batch, 4, dtype=dtype)
    state = (state, state) if kind == "LSTM" else state
    more = (made.bias, made.num_layers, 0.0, False, made.bidirectional)
    if chance.random() < 0.3:
        counts = torch.tensor([batch, batch, 1])  # one sequence is longer
        rows = torch.ones(2 * batch + 1, 3, dtype=dtype)
        return func, (rows, counts, state, made._flat_weights, *more), {}
    return func, (x, state, made._flat_weights, *more, made.batch_first), {}


FAMILIES: list[Callable[[Chance], Call]] = [
    products, linear, convolution, normalization, attention, pooling, joining, padding,
    losses, indexing, recurrent,
]  # fmt: skip


def verdict_of(call: Call) -> Verdict:
    func, args, kwargs = call
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            return run(func, args, kwargs)[0]
    except Exception as error:
        verdict: Verdict = error.verdict
        return verdict


def differences(family: Callable[[Chance], Call], seed: int, count: int) -> list[str]:
    """What the rules got wrong in so many random calls; a third at least must agree."""
    chance = Chance(seed)
    verdicts = [verdict_of(family(chance)) for _ in range(count)]
    assert sum(verdict.status == "equal" for verdict in verdicts) > count // 3
    return [verdict.detail for verdict in verdicts if verdict.status == "wrong"]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_random_calls_agree_with_torch(family: Callable[[Chance], Call]) -> None:
    assert not differences(family, seed=0, count=150)


@pytest.mark.zoo
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_many_random_calls_agree_with_torch(family: Callable[[Chance], Call]) -> None:
    wrong = [one for seed in range(1, 21) for one in differences(family, seed, 200)]
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear"])
@pytest.mark.parametrize("shape", [(2, 3, 1), (2, 3, 1, 5), (2, 3, 1, 5, 4)])
def test_an_interpolation_that_leaves_nothing_is_refused(shape, mode) -> None:
    kinds = {3: "linear", 4: "bilinear", 5: "trilinear"}
    mode = kinds[len(shape)] if mode == "linear" else mode
    call = F.interpolate, (torch.zeros(shape),), {"scale_factor": 0.5, "mode": mode}
    assert verdict_of(call).status != "wrong"
    trace = sw.trace(F.interpolate, f"f32{list(shape)}", scale_factor=0.5, mode=mode)
    assert not trace.complete
