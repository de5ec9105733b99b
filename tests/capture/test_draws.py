"""Small random tensors are drawn for real, and the same each time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import shapewright as sw

Draw = Callable[[], torch.Tensor]
RANGES: dict[str, tuple[Draw, float, float]] = {
    "uniform_": (lambda: torch.empty(9).uniform_(-0.5, 0.5), -0.5, 0.5),
    "one": (lambda: torch.empty(1).uniform_(2, 3), 2, 3),
    "random_": (lambda: torch.empty(9, dtype=torch.int64).random_(5), 0, 4),
    "from to": (lambda: torch.empty(9, dtype=torch.int64).random_(3, 5), 3, 4),
    "bernoulli_": (lambda: torch.empty(9).bernoulli_(0.5), 0, 1),
    "geometric_": (lambda: torch.empty(9).geometric_(0.5), 1, 1e9),
    "exponential_": (lambda: torch.empty(9).exponential_(), 0, 1e9),
    "log_normal_": (lambda: torch.empty(9).log_normal_(), 0, 1e30),
    "normal_": (lambda: torch.empty(3, 3).normal_(5, 0.1), 4, 6),
    "cauchy_": (lambda: torch.empty(9).cauchy_(), -1e9, 1e9),
    "rand": (lambda: torch.rand(9), 0, 1),
    "randint": (lambda: torch.randint(3, 7, (9,)), 3, 6),
    "randperm": (lambda: torch.randperm(9), 0, 8),
    "normal of numbers": (lambda: torch.normal(5.0, 0.1, (9,)), 4, 6),
    "normal of tensors": (lambda: torch.normal(torch.full((9,), 5.0), 0.1), 4, 6),
    "rand_like": (lambda: torch.rand_like(torch.zeros(9)), 0, 1),
    "randint_like": (lambda: torch.randint_like(torch.zeros(9), 3, 7), 3, 6),
    "bernoulli": (lambda: torch.bernoulli(torch.full((9,), 0.5)), 0, 1),
    "multinomial": (lambda: torch.multinomial(torch.ones(9), 3), 0, 8),
    "poisson": (lambda: torch.poisson(torch.ones(9)), 0, 99),
    "a view": (lambda: torch.empty(3, 3).t().uniform_(2, 3), 2, 3),
    "twice": (lambda: torch.empty(9).uniform_(2, 3).uniform_(4, 5), 4, 5),
    "filled": (lambda: torch.empty(9).fill_(4), 4, 4),
    "zeroed": (lambda: torch.empty(9).zero_(), 0, 0),
    "copied": (lambda: torch.empty(9).copy_(torch.full((9,), 4.0)), 4, 4),
}


@pytest.mark.parametrize("name", RANGES)
def test_a_draw_lies_in_its_range(name: str) -> None:
    draw, low, high = RANGES[name]
    read: list[Any] = []

    def program() -> None:
        value = draw()
        read.extend(value.flatten().tolist())
        read.append(value.max().item())
        read.extend(value.numpy().ravel().tolist())

    trace = sw.trace(program)
    assert trace.complete
    assert all(low <= each <= high for each in read)
    words = ["a value was read that is a random draw"]
    sure = name in ("filled", "zeroed", "copied")
    assert {each.message for each in trace.assumptions} == set([] if sure else words)


def test_the_same_run_draws_the_same() -> None:
    drawn: list[tuple[Any, ...]] = []

    def program() -> None:
        small = torch.empty(3).uniform_().tolist()
        generator = numpy.random.default_rng().random()
        torch.seed()
        random.seed()
        more = random.random(), numpy.random.rand(), torch.randn(2).tolist()
        drawn.append((small, generator, *more))

    sw.trace(program)
    torch.rand(3), random.random(), numpy.random.rand()
    sw.trace(program)
    assert drawn[0] == drawn[1]


def test_a_program_that_seeds_has_its_own_numbers() -> None:
    drawn: list[Any] = []

    def program() -> None:
        torch.manual_seed(7)
        random.seed(7)
        numpy.random.seed(7)
        drawn.append((torch.rand(3).tolist(), random.random(), numpy.random.rand()))
        own = torch.Generator().manual_seed(7)
        drawn.append(torch.empty(3).normal_(generator=own).tolist())

    sw.trace(program)
    state = torch.get_rng_state(), random.getstate(), numpy.random.get_state()
    try:
        program()
    finally:
        torch.set_rng_state(state[0])
        random.setstate(state[1])
        numpy.random.set_state(state[2])
    assert drawn[:2] == drawn[2:]


def test_the_users_generator_is_as_before() -> None:
    own = torch.Generator().manual_seed(7)
    before = own.get_state()
    drawn: list[Any] = []
    for _ in range(2):
        sw.trace(lambda: drawn.append(torch.rand(3, generator=own).tolist()))
    assert torch.equal(own.get_state(), before)
    assert drawn[0] == drawn[1] == torch.rand(3, generator=own).tolist()


def test_the_users_states_are_as_before() -> None:
    before = torch.get_rng_state(), random.getstate(), numpy.random.get_state()[1]

    def program() -> None:
        torch.rand(3), random.random(), numpy.random.rand(3)
        random.seed(3)

    sw.trace(program)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    assert (numpy.random.get_state()[1] == before[2]).all()


def test_what_is_unknown_stays_so_where_a_part_is_written() -> None:
    def program(x: torch.Tensor) -> None:
        part = torch.empty(4)
        part[:2].uniform_(5, 6)
        part.tolist()
        written = torch.empty(4).uniform_()
        written.add_(x)
        written.tolist()
        shared = torch.empty(4).uniform_()
        other = shared.view(2, 2)
        shared.copy_(x)
        other.tolist()

    said = [each.message for each in sw.trace(program, "f32[4]").assumptions]
    assert len(said) == 3
    assert all("of unknown data" in each for each in said)


def test_a_draw_into_what_autograd_kept_is_refused() -> None:
    def program(x: torch.Tensor) -> None:
        noise = torch.empty(4)
        y = (x * noise).sum()
        noise.uniform_()
        y.backward()

    x = torch.ones(4, requires_grad=True)
    trace = sw.trace(program, x)
    assert "modified by an inplace operation" in trace.findings[0].message


KINDS = torch.distributions
DISTRIBUTIONS: dict[str, Callable[[], Any]] = {
    "Bernoulli": lambda: KINDS.Bernoulli(torch.full((3,), 0.3)),
    "Beta": lambda: KINDS.Beta(torch.ones(3), torch.ones(3)),
    "Binomial": lambda: KINDS.Binomial(5, torch.full((3,), 0.3)),
    "Categorical": lambda: KINDS.Categorical(torch.full((4,), 0.25)),
    "Cauchy": lambda: KINDS.Cauchy(0.0, torch.ones(3)),
    "Chi2": lambda: KINDS.Chi2(torch.ones(3)),
    "Dirichlet": lambda: KINDS.Dirichlet(torch.ones(3)),
    "Exponential": lambda: KINDS.Exponential(torch.ones(3)),
    "FisherSnedecor": lambda: KINDS.FisherSnedecor(torch.ones(3), torch.ones(3)),
    "Gamma": lambda: KINDS.Gamma(torch.ones(3), torch.ones(3)),
    "Geometric": lambda: KINDS.Geometric(torch.full((3,), 0.3)),
    "Gumbel": lambda: KINDS.Gumbel(0.0, torch.ones(3)),
    "HalfNormal": lambda: KINDS.HalfNormal(torch.ones(3)),
    "Kumaraswamy": lambda: KINDS.Kumaraswamy(torch.ones(3), torch.ones(3)),
    "Laplace": lambda: KINDS.Laplace(0.0, torch.ones(3)),
    "LKJCholesky": lambda: KINDS.LKJCholesky(3),
    "LogNormal": lambda: KINDS.LogNormal(0.0, torch.ones(3)),
    "LowRank": lambda: KINDS.LowRankMultivariateNormal(
        torch.zeros(3), torch.ones(3, 1), torch.ones(3)
    ),
    "Mixture": lambda: KINDS.MixtureSameFamily(
        KINDS.Categorical(torch.ones(3)), KINDS.Normal(torch.zeros(3), torch.ones(3))
    ),
    "Multinomial": lambda: KINDS.Multinomial(5, torch.ones(3)),
    "MultivariateNormal": lambda: KINDS.MultivariateNormal(
        torch.zeros(3), torch.eye(3)
    ),
    "NegativeBinomial": lambda: KINDS.NegativeBinomial(5, torch.full((3,), 0.3)),
    "OneHot": lambda: KINDS.OneHotCategorical(torch.ones(3)),
    "Pareto": lambda: KINDS.Pareto(torch.ones(3), torch.ones(3)),
    "Poisson": lambda: KINDS.Poisson(torch.ones(3)),
    "RelaxedBernoulli": lambda: KINDS.RelaxedBernoulli(
        torch.tensor(0.5), torch.full((3,), 0.3)
    ),
    "StudentT": lambda: KINDS.StudentT(torch.ones(3)),
    "Uniform": lambda: KINDS.Uniform(torch.zeros(3), torch.ones(3)),
    "VonMises": lambda: KINDS.VonMises(torch.zeros(3), torch.ones(3)),
    "Weibull": lambda: KINDS.Weibull(torch.ones(3), torch.ones(3)),
    "Wishart": lambda: KINDS.Wishart(torch.tensor(4.0), torch.eye(3)),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_samples_of_distributions_lie_in_their_support(name: str) -> None:
    make = DISTRIBUTIONS[name]

    def program() -> torch.Tensor:
        kind = make()
        sample = kind.sample((2,))
        if not kind.support.check(sample).all():
            raise ValueError("a sample outside of the support")
        return kind.log_prob(sample)  # type: ignore[no-any-return]

    trace = sw.trace(program)
    assert trace.complete
    assert not trace.findings
    real = program()
    assert trace.output.shape == tuple(real.shape)
