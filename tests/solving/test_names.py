"""Constants of formulas carry the names that the program has for them."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

import shapewright as sw


def names(model: nn.Module, spec: str) -> list[tuple[int, str, str]]:
    trace = sw.trace(model, spec)
    assert trace.complete
    assert trace.formulas is not None
    return [(each.value, each.name, each.module) for each in trace.formulas.names]


class Attention(nn.Module):
    def __init__(self, n_embd: int, n_head: int) -> None:
        super().__init__()
        self.n_head = n_head
        self.n_embd = n_embd
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        hs = C // self.n_head
        q = q.view(B, T, self.n_head, hs).transpose(1, 2)
        k = k.view(B, T, self.n_head, hs).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class GPT(nn.Module):
    def __init__(self, n_layer: int = 2, n_embd: int = 96, n_head: int = 12) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Attention(n_embd, n_head) for _ in range(n_layer))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = x + block(x)
        return x


def test_heads_of_a_gpt_have_their_names() -> None:
    assert names(GPT(), "f32[B, T, 96]") == [
        (288, "3 * n_embd", "blocks.0"),
        (96, "n_embd", "blocks.0"),
        (12, "n_head", "blocks.0"),
        (8, "n_embd // n_head", "blocks.0"),
    ]


def test_the_legend_is_one_line_below_the_formulas() -> None:
    text = str(sw.trace(GPT(), "f32[B, T, 96]"))
    assert "names        288 is 3 * n_embd, 96 is n_embd, 12 is n_head" in text
    assert "8 is n_embd // n_head" in text


def test_the_record_keeps_names() -> None:
    trace = sw.trace(GPT(), "f32[B, T, 96]")
    assert sw.Trace.from_json(trace.to_json()).formulas == trace.formulas


class Heads(nn.Module):
    """`layer` stands in no size, `heads` does."""

    def __init__(self, heads: int, layer: int) -> None:
        super().__init__()
        self.heads = heads
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], self.heads, -1) + self.layer


def test_two_names_of_one_value_give_none() -> None:
    assert names(Heads(6, 6), "f32[B, 30]") == []
    assert names(Heads(6, 3), "f32[B, 30]") == [(6, "heads", "")]


def test_a_number_that_is_in_no_size_names_none() -> None:
    assert names(Heads(6, 5), "f32[B, 30]") == [(6, "heads", "")]  # (B, 6, 5)


class Packed(nn.Module):
    """The 3 of q, k and v is no number of heads."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        return x.reshape(B, T, 3, self.heads, C // 3 // self.heads)


def test_a_bare_number_beside_it_takes_the_name() -> None:
    assert names(Packed(3), "f32[B, T, 36]") == []
    assert names(Packed(6), "f32[B, T, 36]") == [(6, "heads", "")]


def test_the_size_of_a_letter_has_no_name() -> None:
    assert names(Heads(2, 7), "f32[B, 30]") == []  # B = 2 in the first run


@dataclass
class Config:
    width: int = 40
    heads: int = 5
    layers: int = 3


class Configured(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.inner = nn.Linear(config.width, 2 * config.width)

    def forward(self, x: Tensor) -> Tensor:
        shape = (*x.shape[:-1], self.config.heads, -1)
        return self.inner(x).view(shape)


def test_numbers_of_a_config() -> None:
    assert names(Configured(Config()), "f32[B, T, 40]") == [
        (80, "2 * width", ""),
        (5, "heads", ""),
    ]
    assert names(Configured(Config(layers=5)), "f32[B, T, 40]") == [
        (80, "2 * width", "")
    ]


class Batched(nn.Module):
    heads = 6

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        return x.reshape(B * self.heads, T, C // self.heads)


def test_a_factor_of_a_formula() -> None:
    assert names(Batched(), "f32[B, T, 30]") == [(6, "heads", "")]


class Renamed(nn.Module):
    """What a number was set to later is another number."""

    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.width = width
        width = 2 * width
        self.inner = nn.Linear(12, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


def test_an_argument_that_was_changed_names_nothing() -> None:
    assert names(Renamed(), "f32[B, 12]") == []
