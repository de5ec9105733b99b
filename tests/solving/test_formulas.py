"""Sizes as formulas: what a person reads, and what holds at other sizes."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import shapewright as sw
from solving.compared import checked
from solving.random_programs import program


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        return F.max_pool2d(F.relu(self.conv2(x)), 2)


class LeNet(Encoder):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(400, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(super().forward(x).flatten(1))


class UNet(nn.Module):
    def __init__(self, depth: int = 3) -> None:
        super().__init__()
        self.down = nn.ModuleList(
            nn.Conv2d(3 if at == 0 else 4, 4, 3, padding=1) for at in range(depth)
        )
        self.up = nn.ModuleList(nn.ConvTranspose2d(8, 4, 2, 2) for _ in range(depth))
        self.middle = nn.Conv2d(4, 8, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for conv in self.down:
            x = conv(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = self.middle(x)
        for up in self.up:
            x = torch.cat([up(x), skips.pop()], 1)
        return x


class Windows(nn.Module):
    """Windows of 7, padded to a multiple, as Swin has them."""

    def forward(self, x: Tensor) -> Tensor:
        B, H, W, C = x.shape
        x = F.pad(x, (0, 0, 0, (-W) % 7, 0, (-H) % 7))
        _, h, w, _ = x.shape
        x = x.view(B, h // 7, 7, w // 7, 7, C).permute(0, 1, 3, 2, 4, 5)
        x = x.reshape(-1, 49, C)
        back = x.view(B, h // 7, w // 7, 7, 7, C).permute(0, 1, 3, 2, 4, 5)
        return back.reshape(B, h, w, C)[:, :H, :W]


class Cropped(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[:, : min(x.shape[1], 40)]


class Triangle(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        T = x.shape[1]
        rows, columns = torch.tril_indices(T, T)
        return x[:, rows] + x[:, columns]


class Halves(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        one, two = x.chunk(2, 1)
        return torch.cat([one[:, ::3], two], 1)


class Crossed(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        scores = x @ y.transpose(1, 2)
        return torch.cat([scores @ y, x, y], 1)


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 16)

    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[0], 16)
        out = []
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h)
            out.append(h)
        return torch.stack(out, 1)


def conv(*args, **kwargs):
    return nn.Conv2d(3, 4, *args, **kwargs)


MODELS = {
    "encoder": (Encoder(), "f32[B, 3, H, W]", "(B, 16, (H - 12)//4, (W - 12)//4)"),
    "lenet": (LeNet(), "f32[B, 3, H, H]", "(B, 10)"),
    "unet": (UNet(), "f32[B, 3, H, W]", "(B, 8, H, W)"),
    "unet, one side": (UNet(), "f32[B, 3, H, 64]", "(B, 8, H, 64)"),
    "windows": (Windows(), "f32[B, H, W, 6]", "(B, H, W, 6)"),
    "min": (Cropped(), "f32[B, T, 5]", "(B, min(T, 40), 5)"),
    "triangle": (Triangle(), "f32[B, T, 5]", "(B, T*(T + 1)//2, 5)"),
    "halves": (Halves(), "f32[B, T, 5]", None),
    "two lengths": (Crossed(), "f32[B, S, 8], f32[B, T, 8]", "(B, T + 2*S, 8)"),
    "steps": (Steps(), "f32[B, T, 8]", "(B, T, 16)"),
    "lstm": (nn.LSTM(8, 16, 2, batch_first=True), "f32[B, T, 8]", None),
    "stride 3": (conv(5, 3, 1), "f32[B, 3, H, W]", "(B, 4, H//3, W//3)"),
    "dilated": (conv(3, dilation=4), "f32[B, 3, H, W]", "(B, 4, H - 8, W - 8)"),
    "even": (conv(4, 2, 1), "f32[B, 3, H, W]", "(B, 4, H//2, W//2)"),
    "patches": (conv(16, 16), "f32[B, 3, H, W]", "(B, 4, H//16, W//16)"),
    "transposed": (
        nn.ConvTranspose2d(3, 4, 3, 2, 1, 1), "f32[B, 3, H, W]", "(B, 4, 2*H, 2*W)",
    ),
    "ceil": (
        nn.MaxPool2d(3, 2, ceil_mode=True), "f32[B, 3, H, W]", "(B, 3, H//2, W//2)",
    ),
    "adaptive": (nn.AdaptiveAvgPool2d(7), "f32[B, 3, H, W]", "(B, 3, 7, 7)"),
    "upsampled": (nn.Upsample(scale_factor=1.5), "f32[B, 3, H]", "(B, 3, 3*H//2)"),
    "shuffled": (nn.PixelShuffle(2), "f32[B, 12, H, W]", "(B, 3, 2*H, 2*W)"),
    "unfolded": (nn.Unfold(2, stride=2), "f32[B, 3, H, W]", "(B, 12, (H//2)*(W//2))"),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_formulas_hold_at_other_sizes(name):
    model, spec, output = MODELS[name]
    trace, wrong = checked(model, spec)
    assert trace.formulas is not None
    assert not wrong, wrong[:3]
    if output is not None:
        assert str(trace.output.shape) == output


def test_the_range_is_that_of_what_was_accepted():
    trace = sw.formulas(LeNet(), "f32[B, 3, H, H]")
    assert trace.formulas.letters["H"].low == 32
    assert trace.formulas.letters["H"].high == 35


def test_multiples_are_told():
    trace = sw.formulas(UNet(), "f32[B, 3, H, W]")
    assert trace.formulas.letters["H"].step == 8


def test_letters_without_sizes_need_no_more_than_trace():
    trace = sw.trace(Encoder(), "f32[B=4, 3, H, W]")
    assert str(trace.output.shape) == "(4, 16, (H - 12)//4, (W - 12)//4)"


def test_sizes_compute_as_numbers():
    trace = sw.trace(Encoder(), "f32[B, 3, H, W]")
    batch, _, height, _ = trace.output.shape
    assert batch * height == 2 * 13
    assert height.formula.value({"H": 100}) == 22


def test_the_record_keeps_formulas():
    trace = sw.trace(UNet(), "f32[B, 3, H, W]")
    again = sw.Trace.from_json(trace.to_json())
    assert again == trace
    assert [str(op.outputs) for op in again.ops] == [
        str(op.outputs) for op in trace.ops
    ]
    assert again.formulas == trace.formulas


def test_no_letter_is_one_sentence():
    from shapewright.inputs.errors import InputError

    with pytest.raises(InputError, match="no input has a letter"):
        sw.formulas(Encoder(), "f32[2, 3, 64, 64]")


def test_the_model_is_left_alone():
    model = UNet()
    before = {name: id(each) for name, each in model.named_parameters()}
    sw.formulas(model, "f32[B, 3, H, W]")
    assert {name: id(each) for name, each in model.named_parameters()} == before
    assert not any(each.is_meta for each in model.parameters())


class Expanded(nn.Module):
    """The stride of an expanded dim is 0, but not where there is nothing to expand."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, 8))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)


def test_strides_are_those_of_more_than_one_element():
    trace, wrong = checked(Expanded(), "f32[B, T, 8]", 40)
    assert not wrong
    (expanded,) = [op for op in trace.ops if op.name == "Tensor.expand"]
    assert str(expanded.outputs[0].stride) == "(0, 8, 1)"
    assert sw.Trace.from_json(trace.to_json()) == trace


def test_only_one_way_of_a_program_is_claimed():
    class Halved(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if x.shape[1] > 100:
                x = x[:, ::2]
            return x

    trace, wrong = checked(Halved(), "f32[B, T, 4]", 40)
    assert not wrong
    assert trace.formulas.letters["T"].high == 100
    (branch,) = trace.formulas.branches
    assert "T = 101" in branch.message
    assert branch.span is not None


def test_both_sides_of_a_constant_are_looked_at():
    class Cut(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[:, :150].flip(1)[:, : min(x.shape[1], 90)]

    trace, wrong = checked(Cut(), "f32[B, T, 4]", 40)
    assert not wrong
    assert str(trace.output.shape) == "(B, min(T, 90), 4)"


def test_a_size_without_a_formula_is_a_letter_of_its_own():
    class Bits(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[:, : x.shape[1].bit_length()]

    trace, wrong = checked(Bits(), "f32[B, T, 4]", 20)
    assert not wrong
    assert str(trace.output.shape) == "(B, v1, 4)"
    assert "varies" in trace.formulas.varying["v1"].message


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    made = program(seed)
    trace, wrong = checked(made, "f32[B, 4, T]", 15, seed)
    assert not wrong, (made.names, trace.formulas, wrong[:2])
