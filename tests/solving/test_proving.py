"""Formulas and demands proven for all sizes, refuted, or left undecided."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

import shapewright as sw
from shapewright.commands.solve.proofs import prove_formulas
from shapewright.commands.solve.runs import from_arguments
from shapewright.record.solution import Proof, Statement
from shapewright.runtime.symbolic_run import find_missing
from shapewright.sizes.demands import AtLeast, Between, Multiple
from shapewright.sizes.expressions import Letter, Size, read
from shapewright.views.terminal.solution import format_proof
from solving.test_formulas import Cropped, Crossed, Encoder, LeNet, Triangle, UNet

pytestmark = pytest.mark.skipif(find_missing() is not None, reason=str(find_missing()))

H, T, W = Letter("H"), Letter("T"), Letter("W")


def proof_of(model, *spec, demands=(), change=None, seconds=300) -> Proof:
    trace = sw.formulas(model, *spec)
    if change is not None:
        trace = change(trace)
    feeding = from_arguments(spec, {}).freed()
    return prove_formulas(model, feeding, trace, demands, seconds)


def verdicts(proof: Proof) -> dict[str, str]:
    return {each.place or each.text: each.heading for each in proof.statements}


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        q, k, v = (
            each.view(B, T, 2, 4).transpose(1, 2) for each in self.qkv(x).chunk(3, -1)
        )
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(B, T, C)


class Scaled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.interpolate(x, scale_factor=2)


@pytest.mark.parametrize(
    ("model", "spec", "extent"),
    [
        (Encoder(), "f32[B, 3, H, W]", "for B >= 1, H >= 32, W >= 32"),
        (LeNet(), "f32[B, 3, H, H]", "for B >= 1, 32 <= H <= 35"),
        (Cropped(), "f32[B, T, 5]", "for B >= 1, T >= 8"),
        (Crossed(), "f32[B, S, 8], f32[B, T, 8]", "for B >= 1, S >= 8, T >= 8"),
        (Attention(), "f32[B, T, 8]", "for B >= 1, T >= 8"),
        (Scaled(), "f32[B, 3, H, W]", None),
        (nn.Conv1d(4, 6, 3, stride=2), "f32[B, 4, 2*T]", None),
        (nn.LSTM(8, 6, batch_first=True), "f32[B, T, 8]", None),
    ],
)
def test_formulas_are_proven(model: nn.Module, spec: str, extent: str | None) -> None:
    proof = proof_of(model, spec)
    assert proof.statements
    assert {each.heading for each in proof.statements} == {"proven"}
    if extent is not None:
        assert {each.detail for each in proof.statements} == {extent}


def test_modules_are_stated_as_well_as_outputs() -> None:
    proof = proof_of(Encoder(), "f32[B, 3, H, W]")
    said = {each.place: each.text for each in proof.statements}
    assert said["output"] == "(B, 16, (H - 12)//4, (W - 12)//4)"
    assert said["conv1"] == "(B, 6, H - 4, W - 4)"


def claimed(formula: str, at: int):
    """A trace whose output's last size has another formula."""

    def change(trace):
        shape = list(trace.output.shape)
        shape[at] = Size(int(shape[at]), read(formula))
        return replace(trace, output=replace(trace.output, shape=tuple(shape)))

    return change


def test_a_wrong_formula_is_refuted_with_sizes() -> None:
    wrong = claimed("(H - 11)//4", 2)
    proof = proof_of(Encoder(), "f32[B, 3, H, W]", change=wrong)
    found = proof.statements[0]
    assert (found.place, found.verdict) == ("output", "refuted")
    assert read("(H - 11)//4").value(found.sizes) != (found.sizes["H"] - 12) // 4
    plain = sw.trace(Encoder(), written("f32[B, 3, H, W]", found.sizes))
    assert f"it is {plain.output.shape} there" == found.detail
    assert not proof.proven


def written(spec: str, sizes) -> str:
    from shapewright.inputs.spec import parse_spec

    return str(parse_spec(spec).with_sizes(**sizes))


def test_what_depends_on_data_is_not_decided() -> None:
    class Picks(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[x > 0]

    (found,) = proof_of(Picks(), "f32[B, T, 5]").statements
    assert (found.verdict, found.detail) == ("not decided", "a size depends on data")


def test_a_value_that_decides_is_not_decided() -> None:
    class Reads(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[:, :3] if x.sum().item() > 0 else x[:, :2]

    found = proof_of(Reads(), "f32[B, T, 5]").statements[0]
    assert found.verdict == "not decided"
    assert "GuardOnDataDependentSymNode" in found.detail


def test_a_letter_made_a_plain_number_is_said() -> None:
    (found,) = proof_of(Triangle(), "f32[B, T, 5]").statements
    assert found.verdict == "not decided"
    assert "takes T == 16 for granted at " in found.detail
    assert "shown for B >= 2, T = 16" in found.detail


def test_no_time_is_not_decided() -> None:
    found = proof_of(Encoder(), "f32[B, 3, H, W]", seconds=0).statements[0]
    assert found.verdict == "not decided"
    assert "in 0 s" in found.detail


class Eights(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        assert x.shape[1] % 8 == 0
        return x


def test_demands_are_needed_and_enough() -> None:
    two = [Multiple(H, 4), Multiple(W, 4)]
    said = verdicts(proof_of(UNet(2), "f32[B, 3, H, W]", demands=two))
    assert said["H % 4 == 0"] == said["W % 4 == 0"] == "proven"
    assert said["no other demand"] == "proven"


def test_a_demand_between_two_sizes() -> None:
    said = verdicts(proof_of(LeNet(), "f32[B, 3, H, H]", demands=[Between(H, 32, 35)]))
    assert said["32 <= H <= 35"] == said["no other demand"] == "proven"


def test_a_demand_that_is_too_strict_is_refuted() -> None:
    proof = proof_of(Eights(), "f32[B, T, 5]", demands=[Multiple(T, 16)])
    found = next(each for each in proof.statements if each.text == "T % 16 == 0")
    assert (found.verdict, found.detail) == ("refuted", "taken there")
    assert found.sizes["T"] % 16 == 8


def test_demands_that_leave_something_out_are_refuted() -> None:
    proof = proof_of(Eights(), "f32[B, T, 5]", demands=[Multiple(T, 4)])
    said = {each.text: each for each in proof.statements}
    assert said["T % 4 == 0"].verdict == "proven"
    assert said["no other demand"].verdict == "refuted"
    assert said["no other demand"].sizes["T"] % 8 == 4


def test_the_users_model_is_as_it_was() -> None:
    class Keeps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(4)
            self.cell = nn.GRU(6, 5)
            self.seen: list[Tensor] = []
            self.last: Tensor | None = None

        def forward(self, x: Tensor) -> Tensor:
            self.last = self.norm(x)
            self.seen.append(self.last)
            return self.last

    model = Keeps()
    states = {name: each.clone() for name, each in model.state_dict().items()}
    tensors = dict(model.state_dict(keep_vars=True))
    weights = list(model.cell._flat_weights)
    kernels = torch._C._get_mkldnn_enabled(), torch._C._get_nnpack_enabled()
    proof = proof_of(model, "f32[B, 4, T]", demands=[AtLeast(T, 1)])
    assert proof.statements[0].verdict == "proven"
    assert all(torch.equal(each, states[n]) for n, each in model.state_dict().items())
    now = model.state_dict(keep_vars=True)
    assert all(each is tensors[name] for name, each in now.items())
    assert all(a is b for a, b in zip(weights, model.cell._flat_weights, strict=True))
    assert model.seen == []
    assert model.last is None
    assert kernels == (torch._C._get_mkldnn_enabled(), torch._C._get_nnpack_enabled())
    assert torch.is_grad_enabled()


def test_the_proof_as_text() -> None:
    proof = Proof(
        (
            Statement("(B, 16, H//2)", "output", "proven", "for B >= 1, H >= 4"),
            Statement("(B, 8)", "fc", "refuted", "it is (1, 9) there", {"B": 1}),
            Statement("H % 2 == 0", "", "not decided", "a size depends on data"),
        ),
        2,
        ("B >= 1, H >= 4",),
    )
    assert format_proof(proof) == (
        "proven          output (B, 16, H//2)  for B >= 1, H >= 4\n"
        "refuted at B=1  fc (B, 8)  it is (1, 9) there\n"
        "not decided     H % 2 == 0  a size depends on data\n"
    )
