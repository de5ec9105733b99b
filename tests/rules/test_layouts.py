"""Elementwise rules on random layouts, dtypes and numbers, against real tensors."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest
import torch
from layouts import DTYPES, laid_out, partner, random_shape
from oracle import Tally, Verdict, resolve, rules_by_function, run

from shapewright.operators import metadata_rules

NUMBERS = (True, 2, 3, 1.5, 2.0)


def attempt(func: Any, args: tuple[Any, ...], kwargs: Any = None) -> Verdict:
    """The verdict of one call, whether it raises or not."""
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            return run(func, args, kwargs or {})[0]
    except Exception as error:
        verdict: Verdict = error.verdict
        return verdict


PATTERNS = {
    "pointwise.shapes": "t", "pointwise.arithmetic_shapes": "to",
    "pointwise.activation_shapes": "t", "torch.nn.functional._threshold": "tnn",
    "torch.prelu": "tw", "torch.dropout": "tp1", "torch.feature_dropout": "tp1",
    "torch.softmax": "td", "torch.log_softmax": "td",
    "torch.nn.functional.softmax": "td", "torch.nn.functional.log_softmax": "td",
    "torch.nn.functional.softmin": "td", "torch.special.softmax": "td",
    "torch.special.log_softmax": "td", "pointwise.selection_shapes": "too",
    "torch.where": "boo", "torch.Tensor.where": "tbo",
    "torch.masked_fill": "tbo", "torch.clamp_min": "to", "torch.clamp_max": "to",
    "torch.addcmul": "tss", "torch.addcdiv": "tss", "torch.lerp": "tss",
    "torch.pow": "oo", "reduction.shapes": "tDk", "torch.amax": "tdk",
    "torch.amin": "tdk", "torch.argmax": "tdk", "torch.argmin": "tdk",
    "torch.max": "tdk", "torch.median": "tdk", "torch.min": "tdk",
    "torch.mode": "tdk", "torch.nanmedian": "tdk", "torch.cumsum": "td",
    "torch.cumprod": "td", "torch.cummax": "td", "torch.cummin": "td",
    "torch.logcumsumexp": "td", "torch.kthvalue": "tddk", "torch.prod": "tdk",
    "torch.count_nonzero": "tD", "torch.norm": "tnDk",
    "torch.linalg.vector_norm": "tnDk", "torch.linalg.norm": "tnDk",
    "torch.nn.functional.normalize": "tnd", "torch.aminmax": "t", "torch.clone": "t",
    "torch.tril": "t", "torch.triu": "t", "torch.zeros_like": "t",
    "torch.empty_like": "t", "torch.full_like": "tn", "torch.rand_like": "t",
    "torch.Tensor.zero_": "t", "torch.Tensor.fill_": "to", "torch.Tensor.copy_": "to",
    "torch.Tensor.normal_": "t", "torch.Tensor.uniform_": "t",
    "torch.Tensor.exponential_": "t",
}  # fmt: skip
"""What to try a rule with, by its name or its family's: t a tensor, o a tensor or a
number, s a tensor of the first one's dtype or a number, b a bool tensor, w one weight
per channel, n a number, p a probability, 1 true, d a dim, D dims, k true or false."""


def pattern(name: str) -> str:
    """The pattern for a rule, "" for rules that are tested elsewhere."""
    module = metadata_rules.RULES[name].metadata.__module__.partition(".operators.")[2]
    plain = name.replace("torch.Tensor.", "torch.").removesuffix("_")
    return PATTERNS.get(name) or PATTERNS.get(plain) or PATTERNS.get(module, "")


def test_every_pattern_is_of_a_rule() -> None:
    rules = metadata_rules.RULES
    families = {
        rule.metadata.__module__.partition(".operators.")[2] for rule in rules.values()
    }
    plain = {
        name.replace("torch.Tensor.", "torch.").removesuffix("_") for name in rules
    }
    assert set(PATTERNS) - {"torch.pow"} <= families | set(rules) | plain


def operands(letters: str, chance: random.Random) -> list[Any]:
    """Arguments by a pattern; tensors mostly broadcast together."""
    shape, dtype = random_shape(chance), chance.choice(DTYPES)
    made: list[Any] = []
    for letter in letters:
        made.append(one_operand(letter, shape, dtype, not made, chance))
    return made


def one_operand(
    letter: str, shape: list[int], dtype: Any, first: bool, chance: random.Random
) -> Any:
    """One argument. The first has the shape and dtype as given."""
    number = chance.choice(NUMBERS)
    plain = {"n": 1.5, "p": chance.choice([0.0, 0.5, 1.0]), "1": True}
    if letter in plain:
        return plain[letter]
    if letter in "dDk":
        return dims(letter, len(shape), chance)
    if letter == "w":
        size = chance.choice([1, ([*shape, 1, 1])[min(len(shape), 2) - 1]])
        return laid_out([size], dtype, chance)
    if letter == "b":
        return laid_out(partner(shape, chance), torch.bool, chance)
    if letter in "os" and not first and chance.random() < 0.25:
        return number
    if letter == "o" and chance.random() < 0.5:
        dtype = chance.choice(DTYPES)
    return laid_out(shape if first else partner(shape, chance), dtype, chance)


def dims(letter: str, ndim: int, chance: random.Random) -> Any:
    """A dim, seldom out of range; one or several; or a choice to keep them."""
    if letter == "k":
        return chance.random() < 0.5
    if letter == "D" and chance.random() < 0.6:
        some = chance.sample(range(ndim), chance.randint(0, ndim))
        return chance.choice([tuple, list])(some)
    return chance.choice([0, -1, 1, chance.randint(-ndim, ndim)])


def sweep(name: str, seeds: int) -> Tally:
    """Verdicts of the function on random operands."""
    tally, func = Tally(), resolve(name)
    assert func in rules_by_function()
    for seed in range(seeds):
        chance = random.Random(f"{name}{seed}")
        tally.add(attempt(func, tuple(operands(pattern(name), chance))))
    return tally


@pytest.mark.parametrize(
    "name", [name for name in metadata_rules.RULES if pattern(name)]
)
def test_elementwise_rule_on_random_layouts(name: str) -> None:
    tally = sweep(name, 8)
    assert not tally.wrong, "\n".join(tally.wrong[:10])


@pytest.mark.zoo
@pytest.mark.parametrize(
    "name", [name for name in metadata_rules.RULES if pattern(name)]
)
def test_elementwise_rule_on_many_random_layouts(name: str) -> None:
    tally = sweep(name, 2000)
    assert not tally.wrong, "\n".join(tally.wrong[:10])
