"""What stands for unknown data satisfies what made it, and contradicts nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch.nn import functional as F

import shapewright as sw

Values = torch.Tensor
CLOSE = 1e-4


def rest(x: Values) -> Values:
    return (x > 0).sum()


PROMISES: dict[str, Callable[[Values], bool]] = {
    "softmax": lambda x: abs(F.softmax(x, 1).sum(1)[0].item() - 1) < CLOSE,
    "softmax by the list": lambda x: abs(sum(x.softmax(1)[0].tolist()) - 1) < CLOSE,
    "softmax in numpy": lambda x: abs(x.softmax(1).numpy()[0].sum() - 1) < CLOSE,
    "softmax of a view": lambda x: abs(float(x.softmax(1).t()[:, 0].sum()) - 1) < CLOSE,
    "log_softmax": lambda x: abs(x.log_softmax(1).exp().sum(1)[0].item() - 1) < CLOSE,
    "by hand": lambda x: (
        abs((x.exp() / x.exp().sum(1, keepdim=True)).sum(1)[1].item() - 1) < CLOSE
    ),
    "normalized": lambda x: abs(F.normalize(x, dim=1)[0].norm().item() - 1) < CLOSE,
    "sigmoid": lambda x: 0 <= x.sigmoid().max().item() <= 1,
    "entropy": lambda x: -(x.softmax(1) * x.log_softmax(1)).sum().item() >= 0,
    "tanh": lambda x: -1 <= x.tanh()[0, 0].item() <= 1,
    "relu": lambda x: float(x.relu().min()) >= 0,
    "abs": lambda x: x.abs().min().item() >= 0,
    "norm": lambda x: x.norm().item() >= 0,
    "argmax": lambda x: x[:, :1].argmax(1).max().item() < 1,
    "argmax of all": lambda x: x.argmax().item() < x.numel(),
    "topk": lambda x: max(x.topk(2).indices[0].tolist()) < x.shape[1],
    "topk is sorted": lambda x: falls(x.topk(3).values[0].tolist()),
    "sort": lambda x: falls(x.sort(dim=1).values[0].tolist()[::-1]),
    "argsort": lambda x: sorted(x.argsort(1)[0].tolist()) == list(range(x.shape[1])),
    "cumsum": lambda x: falls(x.softmax(1).cumsum(1)[0].tolist()[::-1]),
    "mean": lambda x: x.max().item() >= x.mean().item() >= x.min().item(),
    "clamp": lambda x: 3 <= x.clamp(3, 5).max().item() <= 5,
    "randint": lambda x: 5 <= torch.randint(5, 9, (50000,))[7].item() < 9,
    "uniform": lambda x: 2 <= torch.empty(50000).uniform_(2, 3).mean().item() < 3,
    "rand": lambda x: torch.rand(50000).max().item() < 1,
    "multinomial": lambda x: (
        max(torch.multinomial(x.softmax(1), 2)[0].tolist()) < x.shape[1]
    ),
    "a count": lambda x: (x > 0).sum().item() == x[x > 0].shape[0],
    "one mask": lambda x: agrees(x > 0, x),
    "its opposite": lambda x: agrees(~(x > 0), x),
    "one of two": lambda x: agrees((x > 0) & (x < 3), x),
    "all": lambda x: bool((x > 0).all()) == (rest(x).item() == x.numel()),
    "all of two": lambda x: (
        bool(((x > 0) & (x < 3)).all()) == (x[(x > 0) & (x < 3)].shape[0] == x.numel())
    ),
    "a share": lambda x: (
        abs((x > 0).float().mean().item() - rest(x).item() / x.numel()) < CLOSE
    ),
    "the same again": lambda x: x.sum().item() == x.sum().item(),
    "numbers in order": lambda x: (rest(x) > 0).item() == (rest(x).item() > 0),
    "no nan": lambda x: not torch.isnan(x).any(),
    "finite": lambda x: bool(torch.isfinite(x).all()),
    "probabilities": lambda x: not (x.softmax(1) > 1).any(),
    "a float": lambda x: type(x.sum().item()) is type(float(x.mean())) is float,
    "a whole number": lambda x: type(x.argmax().item()) is int,
    "large and constant": lambda x: torch.arange(70000)[69999].item() == 69999,
    "large and zero": lambda x: torch.zeros(70000).sum().item() == 0,
}  # fmt: skip


def falls(numbers: list[float]) -> bool:
    return all(one >= next_ for one, next_ in pairwise(numbers))


def agrees(mask: Values, x: Values) -> bool:
    """Whether everything that can be asked of a mask has one answer."""
    counts = {
        int(mask.sum()), int(mask.count_nonzero()), mask.nonzero().shape[0],
        x[mask].shape[0], x.masked_select(mask).shape[0], int(mask.float().sum()),
        int(mask.numpy().sum()), sum(map(sum, mask.tolist())), len(mask.nonzero()),
        mask.numel() - int((~mask).sum()), torch.where(mask)[0].shape[0],
    }  # fmt: skip
    count = counts.pop()
    some, every = bool(mask.any()), bool(mask.all())
    return not counts and some == (count > 0) and every == (count == mask.numel())


@pytest.mark.parametrize("shape", ["f32[6, 5]", "f32[7, 3]", "f32[300, 700]"])
@pytest.mark.parametrize("name", PROMISES)
def test_a_promise_is_kept(name: str, shape: str) -> None:
    kept: list[Any] = []
    trace = sw.trace(lambda x: kept.append(PROMISES[name](x)), shape)
    assert trace.complete
    assert kept == [True]
    assert PROMISES[name](torch.rand(6, 5) + 0.5)


def test_a_check_of_a_distribution_passes() -> None:
    def program(x: Values) -> Values:
        kind = torch.distributions.Categorical(probs=x.softmax(1))
        again = torch.distributions.OneHotCategorical(probs=x.softmax(1)).sample()
        return kind.log_prob(kind.sample()) + again.sum(1) + kind.entropy()

    trace = sw.trace(program, "f32[6, 5]")
    assert trace.complete
    assert not trace.findings


def test_what_was_supposed_of_all_is_kept_by_the_indexing_that_follows() -> None:
    def program(x: Values) -> Values:
        mask = x < 1
        assert mask.all()
        return x[mask]

    assert sw.trace(program, "f32[6, 5]").output.shape == (30,)


def test_what_follows_from_constants_is_no_assumption() -> None:
    def program(x: Values) -> Values:
        return x[: int(torch.ones(300, 300).sum()) // 30000]

    trace = sw.trace(program, "f32[6, 5]")
    assert trace.output.shape == (3, 5)
    assert not trace.assumptions


UNARY: list[Callable[[Values], Values]] = [
    lambda t: t.softmax(-1), lambda t: t.sigmoid(), lambda t: t.relu(),
    lambda t: t.sort(-1).values, lambda t: t.abs(), lambda t: t.t(),
    lambda t: t * 2, lambda t: t[:2], lambda t: t.clamp(0, 1), lambda t: t.cumsum(0),
    lambda t: t / t.sum(), lambda t: t.flip(0), lambda t: F.normalize(t, dim=-1),
    lambda t: t.exp(), lambda t: t.square(), lambda t: t + 1, lambda t: t.tanh(),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(25))
def test_random_programs_agree_with_themselves(seed: int) -> None:
    """What torch guarantees of any tensor holds of the answers."""
    chosen = random.Random(seed).choices(UNARY, k=5)
    read: dict[str, Any] = {}

    def program(x: Values) -> None:
        for step in chosen:
            x = step(x)
        mask = x > x.mean()
        read.update(
            max=x.max().item(), mean=x.mean().item(), min=x.min().item(),
            sum=x.sum().item(), list=x.tolist(), size=x.numel(), norm=x.norm().item(),
            mask=agrees(mask, x), soft=x.softmax(-1).sum(-1).tolist(),
            best=x.argmax(-1).max().item(), wide=x.shape[-1],
        )  # fmt: skip

    def holds() -> None:
        assert read["max"] + CLOSE >= read["mean"] >= read["min"] - CLOSE
        flat = [each for row in read["list"] for each in row]
        assert abs(sum(flat) - read["sum"]) <= CLOSE * max(1, abs(read["sum"]))
        assert abs(max(flat) - read["max"]) < CLOSE * max(1, abs(read["max"]))
        assert len(flat) == read["size"]
        assert read["norm"] >= 0
        assert read["mask"]
        assert all(abs(each - 1) < CLOSE for each in read["soft"])
        assert 0 <= read["best"] < read["wide"]

    assert sw.trace(program, "f32[6, 5]").complete
    holds()
    program(torch.rand(6, 5))
    holds()
