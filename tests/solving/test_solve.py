"""Which sizes a program takes: what `solve` says, and whether runs agree."""

from __future__ import annotations

import json

import pytest
import torch
from torch import Tensor, nn

import shapewright as sw
from shapewright.cli.main import main
from shapewright.inputs.errors import InputError
from solve.measure import measured
from solving.test_formulas import LeNet, UNet

SAMPLE = (
    "batch_norm_head", "gpt_block_size", "unet_square", "late_fusion", "fpn",
    "square_tokens", "siamese_tracker", "mlp_mixer", "lenet_boxes", "vgg_view",
)  # fmt: skip


@pytest.mark.parametrize("name", SAMPLE)
def test_domains_of_the_corpus(name):
    domain, lines, note = measured(name)
    assert domain, note
    assert lines, note


class Blocks(nn.Module):
    """Attention over at most 64 positions, in blocks of 8."""

    def __init__(self) -> None:
        super().__init__()
        self.position = nn.Parameter(torch.zeros(64, 16))

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        if T % 8:
            raise ValueError("the length must be a multiple of 8")
        x = x + self.position[:T]
        return x.view(B, T // 8, 8, C).mean(2)


def test_a_bound_and_a_multiple():
    solution = sw.solve(Blocks(), "f32[B, T, 16]")
    assert {each.text for each in solution.demands} == {"T % 8 == 0", "T <= 64"}
    assert solution.takes(B=1, T=64)
    assert not solution.takes(B=1, T=72)
    assert str(solution.output.shape) == "(B, T//8, 16)"


def test_each_demand_has_its_line_and_a_run_that_shows_it():
    solution = sw.solve(Blocks(), "f32[B, T, 16]")
    for each in solution.demands:
        assert each.span is not None
        assert each.span.file.endswith("test_solve.py")
        assert not each.demand.holds(each.refused.sizes)
        assert not sw.trace(
            Blocks(), f"f32[{each.refused.sizes['B']}, {each.refused.sizes['T']}, 16]"
        ).complete


def test_the_plain_sentence():
    text = str(sw.solve(UNet(4), "f32[B, 3, H, W]"))
    assert "H and W are multiples of 16" in text
    assert "works        B = 2, H = 64, W = 64" in text


def test_a_letter_with_a_size_is_fixed():
    solution = sw.solve(LeNet(), "f32[B=4, 3, H, 32]")
    assert solution.letters == ("H",)
    assert [each.text for each in solution.demands if not each.implied] == [
        "32 <= H <= 35"
    ]


def test_sizes_of_two_inputs_that_agree():
    def distance(x: Tensor, y: Tensor) -> Tensor:
        return (x - y.flip(1)).norm(dim=2)

    solution = sw.solve(distance, "f32[B, S, 8], f32[B, T, 8]")
    assert solution.takes(B=2, S=7, T=7)
    assert not solution.takes(B=2, S=7, T=8)


def test_training_refuses_one_sample():
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(6)

        def forward(self, x: Tensor) -> Tensor:
            return self.norm(x)

    assert [e.text for e in sw.solve(Net(), "f32[B, 6]").demands] == ["B >= 2"]
    assert not sw.solve(Net().eval(), "f32[B, 6]").demands


def test_wanted_outputs_are_run():
    solution = sw.solve(UNet(), "f32[B, 3, H, W]", want="[B, 8, 64, 96]")
    sizes = solution.wanted[0].sizes
    assert (sizes["H"], sizes["W"]) == (64, 96)
    none = sw.solve(UNet(), "f32[B, 3, H, W]", want="[B, 8, 60, 96]")
    assert not none.wanted
    assert none.exit_code == 1


def test_inputs_that_no_size_fits():
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(10, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.fc(x)

    solution = sw.solve(Net(), "f32[B, 12]")
    assert solution.works is None
    assert solution.exit_code == 1
    assert "needs 10 input features, got 12" in str(solution)


def test_nothing_to_solve_for_is_one_sentence():
    with pytest.raises(InputError, match="no input has a letter"):
        sw.solve(UNet(), "f32[1, 3, 64, 64]")


NET = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, 2, 1)
        self.up = nn.ConvTranspose2d(4, 3, 2, 2)

    def forward(self, x):
        return torch.cat([self.up(self.conv(x)), x], 1)
"""


def test_the_command(tmp_path, capsys, monkeypatch):
    (tmp_path / "net.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    assert main(["solve", "-i", "f32[B, 3, H, W]", "net.py:Net"]) == 0
    out = capsys.readouterr().out
    assert "net.py:13" in out
    assert "gives        (B, 6, H, W) f32" in out


def test_the_command_in_json(tmp_path, capsys, monkeypatch):
    (tmp_path / "net.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    spec = "f32[B, 3, H, W]"
    assert main(["solve", "--format", "json", "-i", spec, "net.py:Net"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["version"] == 1
    assert made["letters"] == ["B", "H", "W"]
    assert made["works"]["sizes"] == {"B": 2, "H": 64, "W": 64}
    assert made["demands"][0]["span"]["line"] == 13


def test_without_a_spec_inputs_are_found(tmp_path, capsys, monkeypatch):
    (tmp_path / "net.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    assert main(["solve", "net.py:Net"]) == 0
    out = capsys.readouterr().out
    assert "f32[B=" in out
    assert "H and W are multiples of 2" in out


def test_a_time_that_is_over_is_one_sentence(tmp_path, capsys, monkeypatch):
    slow = NET.replace(
        "        return torch", "        time.sleep(5)\n        return torch"
    )
    (tmp_path / "net.py").write_text(f"import time\n{slow}")
    monkeypatch.chdir(tmp_path)
    spec = "f32[B, 3, H, W]"
    assert main(["solve", "--timeout", "0.5", "-i", spec, "net.py:Net"]) == 1
    out = capsys.readouterr().out
    assert "nothing is known yet" in out
    assert "Traceback" not in out


class Flat(nn.Module):
    """A layer that gets what two convolutions leave, and has some number of inputs."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(features, 120)

    def flat(self, x: Tensor) -> Tensor:
        x = torch.max_pool2d(self.conv1(x), 2)
        return torch.max_pool2d(self.conv2(x), 2).flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc1(self.flat(x))


def test_a_layer_that_fits_nowhere_says_what_it_would_need():
    needed = sw.solve(Flat(7), "f32[B, 3, H, W]").needed
    assert needed is not None
    assert (needed.layer, needed.argument, needed.has) == ("fc1", "in_features", 7)
    for height, width in ((32, 32), (47, 91), (160, 33)):
        features = value_of(needed.formula, H=height, W=width)
        assert Flat(features)(torch.zeros(1, 3, height, width)).shape == (1, 120)


def value_of(formula: str, **sizes: int) -> int:
    """A formula as Python works it out."""
    value = eval(formula, {}, sizes)
    assert type(value) is int
    return value


def test_where_some_sizes_fit_nothing_is_needed():
    assert sw.solve(Flat(400), "f32[B, 3, H, W]").needed is None


def test_a_need_holds_in_steps_of_sizes_that_come_as_far():
    class Net(nn.Module):
        def __init__(self, features: int) -> None:
            super().__init__()
            self.fc = nn.Linear(features, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.fc(x.view(x.shape[0], -1, 8, x.shape[2] // 8 * 2).flatten(2))

    solution = sw.solve(Net(5), "f32[B, 4, S]")
    assert solution.needed is not None
    for size in (8, 64, 120):
        features = value_of(solution.needed.formula, S=size)
        Net(features)(torch.zeros(2, 4, size))


def test_of_two_layers_on_a_line_the_one_that_fits_nowhere_is_named():
    class Net(Flat):
        def __init__(self) -> None:
            super().__init__(400)
            self.fc2 = nn.Linear(100, 10)

        def forward(self, x: Tensor) -> Tensor:
            return self.fc2(self.fc1(self.flat(x)))

    needed = sw.solve(Net(), "f32[B, 3, H, W]").needed
    assert needed is not None
    assert (needed.layer, needed.has, needed.formula) == ("fc2", 100, "120")


def test_a_need_of_no_layer_is_not_told():
    def sums(x: Tensor) -> Tensor:
        return x @ torch.zeros(5, 5)

    solution = sw.solve(sums, "f32[B, 6]")
    assert solution.works is None
    assert solution.needed is None


LACKING = """
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 32)
        self.head = nn.Linear(33, 100)

    def forward(self, tokens):
        return self.head(self.embed(tokens).flatten(1))
"""


def test_the_command_names_the_layer_that_fits_nowhere(tmp_path, capsys, monkeypatch):
    (tmp_path / "net.py").write_text(LACKING)
    monkeypatch.chdir(tmp_path)
    assert main(["solve", "-i", "i64[B, T]", "net.py:Net"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "`head` (Linear, in_features=33, net.py:9) needs in_features=32*T here:"
        " 512 at B = 2, T = 16" in out
    )
    main(["solve", "--format", "json", "-i", "i64[B, T]", "net.py:Net"])
    needed = json.loads(capsys.readouterr().out)["needed"]
    assert (needed["formula"], needed["value"], needed["has"]) == ("32*T", 512, 33)
    assert needed["span"]["line"] == 9
