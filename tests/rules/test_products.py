"""Products with an equation or many heads, on random calls against real tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from oracle import Verdict, check
from test_layers import Call, Chance, verdict_of
from torch.overrides import TorchFunctionMode

from shapewright.operators.matmul.einsum_shapes import Axes, read

LETTERS = "abcdeXYZ"


def subscripts(chance: Chance, sizes: dict[str, int], dots: list[int]) -> Any:
    """One operand's part of an equation, and its shape."""
    among = LETTERS[: chance.choice([3, 5, 8])]
    letters = [chance.choice(among) for _ in range(chance.choice([0, 1, 2, 2, 3, 4]))]
    if chance.random() < 0.9:
        letters = list(dict.fromkeys(letters))
    shape = [chance.seldom(sizes[letter], 1) for letter in letters]
    shape[:1] = chance.seldom(shape[:1], [7], 0.02) if shape else []
    if not dots or chance.random() < 0.2:
        return "".join(letters), shape
    at = chance.randint(0, len(letters))
    some = [chance.seldom(size, 1, 0.2) for size in dots[chance.randint(0, 2) :]]
    letters.insert(at, "...")
    return "".join(letters), shape[:at] + some + shape[at:]


def output(chance: Chance, left: str) -> str:
    """What comes out, seldom a letter that nothing has."""
    letters = [letter for letter in LETTERS if letter in left]
    chance.shuffle(letters)
    right = letters[: chance.choice([0, 1, 2, 3, 4])] + chance.seldom([], ["Q"], 0.02)
    if "..." in left and chance.random() < 0.85:
        right.insert(chance.randint(0, len(right)), "...")
    return "".join(right)


def broken(chance: Chance, equation: str) -> str:
    """The equation with something in it that does not belong there."""
    at = chance.randint(0, len(equation))
    wrong = chance.choice([".", "1", ",", "i", "->", " "])
    return equation[:at] + wrong + equation[at:]


def einsum(chance: Chance) -> Call:
    sizes = {x: chance.seldom(chance.choice([1, 2, 3, 4]), 0) for x in LETTERS}
    dots = chance.sizes(chance.choice([0, 0, 1, 2]), 1, 2, 3)
    rare = [torch.float64, torch.complex64, torch.int64, torch.uint8, torch.bool]
    dtype = chance.seldom(torch.float32, chance.choice(rare), 0.1)
    count = chance.choice([1, 2, 2, 2, 2, 3, 4])
    parts = [subscripts(chance, sizes, dots) for _ in range(count)]
    operands = [
        chance.tensor(shape, chance.seldom(dtype, torch.float64, 0.02))
        for _, shape in parts
    ]
    equation = ",".join(text for text, _ in parts)
    if chance.random() < 0.75:
        equation += f"->{output(chance, equation)}"
    equation = chance.seldom(equation, broken(chance, equation))
    return torch.einsum, (equation, *operands), {}


class Caught(BaseException):
    """The call that a module was about to make."""


class Catching(TorchFunctionMode):
    """Stops at the call of `multi_head_attention_forward`."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func is F.multi_head_attention_forward:
            raise Caught(func, args, kwargs or {})
        return func(*args, **(kwargs or {}))


def multihead(chance: Chance) -> Call:
    heads, batch, length, keys = chance.sizes(4, 1, 2, 3)
    width = heads * chance.choice([1, 2, 4])
    dtype = chance.seldom(torch.float32, torch.float64)
    sizes = chance.choice([[width, width], chance.sizes(2)])
    layer = torch.nn.MultiheadAttention(
        width, heads, chance.choice([0.0, 0.2]), bias=chance.random() < 0.8,
        add_bias_kv=chance.random() < 0.3, add_zero_attn=chance.random() < 0.3,
        kdim=sizes[0], vdim=sizes[1], dtype=dtype,
    ).train(chance.random() < 0.8)  # fmt: skip
    batched = chance.random() < 0.75

    def one(rows: int, features: int) -> torch.Tensor:
        shape = [rows, batch, features] if batched else [rows, features]
        return chance.tensor(shape, chance.seldom(dtype, torch.float16, 0.02))

    query = one(length, width)
    key, value = one(keys, sizes[0]), one(chance.seldom(keys, 5, 0.02), sizes[1])
    kind = chance.choice([torch.bool, dtype])
    square = [length, keys]
    masks = [square, [batch * heads if batched else heads, *square]]
    padding = chance.tensor([batch, keys] if batched else [keys], kind)
    more = {
        "attn_mask": chance.choice([None, chance.tensor(chance.choice(masks), kind)]),
        "key_padding_mask": chance.choice([None, padding]),
        "need_weights": chance.random() < 0.5,
        "average_attn_weights": chance.random() < 0.5,
    }
    try:
        with Catching():
            layer(query, key, value, **more)
    except Caught as caught:
        return caught.args  # type: ignore[return-value]
    raise AssertionError("the layer made no such call")


FAMILIES: list[Callable[[Chance], Call]] = [einsum, multihead]


def differences(family: Callable[[Chance], Call], seed: int, count: int) -> list[str]:
    """What the rules got wrong in so many random calls; half at least must agree."""
    chance = Chance(seed)
    verdicts = [verdict_of(family(chance)) for _ in range(count)]
    assert sum(verdict.status == "equal" for verdict in verdicts) > count // 2
    return [verdict.detail for verdict in verdicts if verdict.status == "wrong"]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_random_products_agree_with_torch(family: Callable[[Chance], Call]) -> None:
    assert not differences(family, seed=0, count=150)


@pytest.mark.zoo
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_many_random_products_agree_with_torch(
    family: Callable[[Chance], Call],
) -> None:
    wrong = [one for seed in range(1, 21) for one in differences(family, seed, 200)]
    assert not wrong, "\n".join(wrong[:20])


def einsum_of(*args: Any) -> Verdict:
    return check(torch.einsum, args)


def test_both_forms_of_einsum_are_read() -> None:
    x, y = torch.ones(8, 2, 3), torch.ones(8, 3, 5)
    for args in (
        ("bij,bjk->bik", x, y), ("bij,bjk", [x, y]), (" b i j , b j k -> i k ", x, y),
        (x, [0, 1, 2], y, [0, 2, 3], [3, 1]), (x, [..., 1, 2], y, [..., 2, 30]),
        ("...ij,...jk->...ki", x, y[0]), ("bij->i", x),
    ):  # fmt: skip
        assert einsum_of(*args).status == "equal"


def test_a_sum_over_nothing_is_a_view_and_left_to_torch() -> None:
    assert einsum_of("ij->ji", torch.ones(2, 3)).status == "declined"
    assert einsum_of("ii->i", torch.ones(3, 3)).status == "declined"


def test_equation_names_every_dim() -> None:
    axes = read("...i,ij", [(8, 1, 4), (4, 5)])
    assert axes == Axes(
        (("...0", "...1", "i"), ("i", "j")),
        ("...0", "...1", "j"),
        ("i",),
        {"...0": 8, "...1": 1, "i": 4, "j": 5},
    )
    diagonal = read("bii->b", [(2, 3, 3)])
    assert diagonal.operands == (("b", "i", "i"),)
    assert diagonal.summed == ("i",)
