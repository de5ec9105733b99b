"""What is explained in words: names, chains, initializers, recurrent layers, "
"packing."""

from __future__ import annotations

import math
import re

import pytest
import torch
from torch import nn

import shapewright as sw
from shapewright.cli.main import main
from shapewright.index_maps.drawn_calls import Drawn
from shapewright.inputs.errors import InputError
from shapewright.operators.example_calls import EXAMPLES, list_examples


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_accepted_by_torch(name: str) -> None:
    drawn = sw.explain(EXAMPLES[name]).drawn
    if isinstance(drawn, Drawn):
        assert not drawn.error
        assert drawn.maps or drawn.reason or drawn.notes


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("gather", "torch.gather(f32[4, 6], dim=0, index=i64[2, 6])"),
        ("torch.gather", "torch.gather(f32[4, 6], dim=0, index=i64[2, 6])"),
        ("F.softmax", "F.softmax(f32[3, 4], dim=1)"),
        ("nn.Conv2d", "nn.Conv2d(2, 3, 3)(f32[1, 2, 4, 5])"),
        ("scatter_", "torch.scatter(f32[3, 5], 1, i64[3, 2], f32[3, 2])"),
        ("erfinv", "torch.erfinv(f32[3, 4])"),
        ("bitwise_or", "torch.bitwise_or(i64[3, 4], i64[4])"),
        ("cumprod", "torch.cumprod(f32[3, 4], dim=1)"),
        ("softshrink", "F.softshrink(f32[3, 4])"),
    ],
)
def test_a_name_draws_an_example(name: str, call: str) -> None:
    drawn = sw.explain(name).drawn
    assert isinstance(drawn, Drawn)
    assert drawn.text == call
    assert drawn.maps


def test_a_name_of_nothing_is_refused_with_one_like_it() -> None:
    with pytest.raises(InputError, match="did you mean `gather`"):
        sw.explain("gathr")
    assert not list(list_examples("two words"))


def test_a_chain_is_drawn_step_by_step_with_its_strides() -> None:
    x = torch.arange(64.0).view(2, 32)
    text = sw.explain("f32[2, 32].view(2, 8, 4).transpose(1, 2).reshape(2, 32)").text()
    rows = [
        [cell.strip() for cell in line.split("  ") if cell]
        for line in text.splitlines()[2:6]
    ]
    steps = [x, x.view(2, 8, 4), x.view(2, 8, 4).transpose(1, 2)]
    steps.append(steps[-1].reshape(2, 32))
    for row, step in zip(rows, steps, strict=True):
        assert str(tuple(step.shape)) in row
        assert f"strides ({', '.join(map(str, step.stride()))})" in [
            c.strip() for c in row
        ]
    assert [row[-1] for row in rows[1:]] == ["a view", "a view", "new storage"]
    assert text.count("checked: equal to torch") == 3


def test_a_chain_ends_at_the_step_that_torch_refuses() -> None:
    text = sw.explain("torch.arange(12).view(3, 4).t().view(12)").text()
    assert re.search(r"^  \.view\(12\) +refused$", text, re.MULTILINE)
    assert "view size is not compatible" in text


def test_values_that_are_stated_are_drawn() -> None:
    drawn = sw.explain(
        "torch.gather(f32[2, 4], 1, i64[2, 3]=[[0, 1, 2], [3, 2, 1]])"
    ).drawn
    assert isinstance(drawn, Drawn)
    assert drawn.outputs[0].values == [[0, 1, 2], [7, 6, 5]]
    ones = sw.explain("f32[3]=ones + f32[3]").drawn
    assert isinstance(ones, Drawn)
    assert ones.outputs[0].values == [1, 2, 3]
    low = sw.explain("F.one_hot(i64[6]=0..3, 3)").drawn
    assert isinstance(low, Drawn)
    assert low.outputs[0].shape == (6, 3)
    with pytest.raises(InputError, match="unknown values `wat`"):
        sw.explain("f32[2]=wat + 1")


SPREADS = [
    ("xavier_uniform_", ""), ("xavier_uniform_", ", gain=2.0"), ("xavier_normal_", ""),
    ("kaiming_uniform_", ""), ("kaiming_uniform_", ", mode='fan_out'"),
    ("kaiming_uniform_", ", a=1.5"), ("kaiming_normal_", ", nonlinearity='relu'"),
]  # fmt: skip


@pytest.mark.parametrize("sizes", ["200, 300", "60, 50, 3, 3"])
@pytest.mark.parametrize(("name", "more"), SPREADS)
def test_the_spread_of_an_initializer_is_that_of_torch(
    name: str, more: str, sizes: str
) -> None:
    text = str(sw.explain(f"nn.init.{name}(f32[{sizes}]{more})"))
    torch.manual_seed(1)
    shape = [int(size) for size in sizes.split(",")]
    weight = eval(
        f"nn.init.{name}(torch.empty(shape){more})",
        {"nn": nn, "torch": torch, "shape": shape},
    )
    if "uniform between" in text:
        match = re.search(r"between -[\d.e-]+ and ([\d.e-]+),", text)
        assert match
        assert weight.abs().max().item() == pytest.approx(float(match[1]), rel=1e-3)
    else:
        match = re.search(r"standard deviation ([\d.e-]+) =", text)
        assert match
        assert weight.std().item() == pytest.approx(float(match[1]), rel=2e-2)
    fans = [int(number) for number in re.findall(r"fan (?:in|out) (\d+)", text)]
    assert fans == [shape[1] * math.prod(shape[2:]), shape[0] * math.prod(shape[2:])]


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_packing_says_where_each_step_goes(batch_first: bool, ordered: bool) -> None:
    lengths = [4, 2, 1] if ordered else [2, 4, 1]
    sizes = "3, 4" if batch_first else "4, 3"
    text = str(sw.explain(
        f"nn.utils.rnn.pack_padded_sequence(f32[{sizes}], {lengths}, "
        f"batch_first={batch_first}, enforce_sorted={ordered})"
    ))  # fmt: skip
    x = torch.arange(12.0).view(*(3, 4) if batch_first else (4, 3))
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first, ordered)
    by_sample = x if batch_first else x.t()
    for sample, length in enumerate(lengths):
        (line,) = [line for line in text.splitlines() if f"sample {sample}" in line]
        rows = line.partition("length")[0].split()[2:]
        for step in range(4):
            if step < length:
                assert packed.data[int(rows[step])] == by_sample[sample, step]
            else:
                assert rows[step] == "."
    assert f"batch_sizes {packed.batch_sizes.tolist()}" in text


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_are_explained(kind: str) -> None:
    layer = f"nn.{kind}(4, 5, num_layers=2, bidirectional=True, batch_first=True)"
    text = str(sw.explain(f"{layer}(f32[3, 7, 4])"))
    assert "-> output  (3, 7, 10) float32" in text
    assert "-> h_n     (4, 3, 5) float32" in text
    assert ("-> c_n" in text) == (kind == "LSTM")
    assert "`output[:, -1]` is the last step" in " ".join(text.split())
    assert "the first 5 features run forwards" in " ".join(text.split())
    assert text.count(f"[{kind}]") == 8
    assert "not drawn" not in text


def test_costs_are_behind_inside(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "f32[3, 4].t()"]) == 0
    plain = capsys.readouterr().out
    assert main(["explain", "--inside", "f32[3, 4].t()"]) == 0
    inside = capsys.readouterr().out
    for word in ("cost: ", "backward: ", "way: ", "is element"):
        assert word not in plain
        assert word in inside
    assert "a view: `out` shares the storage of `input`" in plain
