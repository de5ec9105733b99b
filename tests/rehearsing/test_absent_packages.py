"""Packages of kernels that are not installed: their signatures, computed with torch."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from shapewright import api
from shapewright.runtime.absent.packages import STAND_INS, replace_packages
from shapewright.runtime.absent.stand_ins import (
    causal_conv1d,
    flash_attn,
    mamba_ssm,
    torch_scatter,
    xformers,
)
from tests.rehearsing.rehearsed import rehearsed

TRAINING = """\
import torch
from torch import nn
from flash_attn import flash_attn_func
from apex.normalization import FusedRMSNorm
from apex.optimizers import FusedAdam


class Block(nn.Module):
    def __init__(self, width=64, heads=HEADS):
        super().__init__()
        self.norm, self.heads = FusedRMSNorm(width), heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, 10)

    def forward(self, x):
        B, T, D = x.shape
        parts = self.qkv(self.norm(x)).view(B, T, 3, self.heads, D // self.heads)
        q, k, v = parts.unbind(2)
        return self.out(flash_attn_func(q, k, v, causal=True).reshape(B, T, D))


model = Block().cuda()CAST
optimizer = FusedAdam(model.parameters(), lr=1e-3)
for step in range(2):
    x = torch.randn(8, 16, 64, device="cuda")CAST
    loss = model(x).float().square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def written(cast: str = ".bfloat16()", heads: int = 4) -> str:
    return TRAINING.replace("CAST", cast).replace("HEADS", str(heads))


def test_a_training_with_absent_kernels_reaches_its_end(tmp_path: Path) -> None:
    before = [*sys.meta_path], {*sys.modules}
    report = rehearsed(tmp_path, written(), device="cuda")
    assert report.findings == ()
    assert report.complete
    told = {each.stands_for: each for each in report.assumptions if each.stands_for}
    assert told["the package `flash_attn`"].message == (
        "signatures of https://github.com/Dao-AILab/flash-attention, 2.8"
    )
    assert told["the package `flash_attn`"].basis == "documented"
    assert [*sys.meta_path] == before[0]
    assert not {"flash_attn", "apex"} & ({*sys.modules} - before[1])


def test_what_the_kernel_refuses_is_refused(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, written(""), device="cuda").findings
    assert "FlashAttention only support fp16 and bf16 data type" in finding.message
    assert finding.span is not None
    assert finding.span.line == 18


def test_check_takes_them_too(tmp_path: Path) -> None:
    file = tmp_path / "block.py"
    file.write_text(written().partition("model = ")[0])
    report = api.check_target(f"{file}:Block", "f32[2, 16, 64]")
    assert report.findings == ()
    assert any("`flash_attn`" in each.stands_for for each in report.assumptions)


GUARDED = """\
import torch

try:
    from flash_attn import flash_attn_func
except ImportError:
    flash_attn_func = None
assert flash_attn_func is None
"""


def test_a_program_with_a_way_of_its_own_takes_it(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, GUARDED)
    assert report.findings == ()
    assert report.assumptions == ()


def test_an_unknown_package_stays_an_error(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, "import torch, flash_atn\n").findings
    assert "No module named 'flash_atn'" in finding.message


@pytest.mark.parametrize("name", STAND_INS)
def test_every_module_of_a_stand_in_can_be_imported(name: str) -> None:
    source = importlib.import_module(f"shapewright.runtime.absent.stand_ins.{name}")
    told: list[tuple[str, str, str]] = []
    with replace_packages(
        lambda *each: told.append(each), lambda file: file == __file__
    ):
        importlib.import_module(name)
        for inner, names in source.MODULES.items():
            module = importlib.import_module(f"{name}.{inner}".rstrip("."))
            assert names.keys() <= vars(module).keys()
    assert told == [(f"the package `{name}`", source.SOURCE, "documented")]
    assert name not in sys.modules


# -- against what the packages document ------------------------------------------------


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_attention_is_that_of_the_reference(causal: bool, groups: int) -> None:
    q = torch.randn(2, 5, 4, 8)
    k, v = torch.randn(2, 2, 5, 4 // groups, 8)
    out = flash_attn.flash_attn_func(q, k, v, causal=causal)
    wide = [each.repeat_interleave(groups, dim=2) for each in (k, v)]
    scores = torch.einsum("bthd,bshd->bhts", q, wide[0]) / 8**0.5
    if causal:
        scores = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), float("-inf"))
    wanted = torch.einsum("bhts,bshd->bthd", scores.softmax(-1), wide[1])
    torch.testing.assert_close(out, wanted)
    packed = torch.stack((q, *wide), dim=2)
    torch.testing.assert_close(
        flash_attn.flash_attn_qkvpacked_func(packed, causal=causal), wanted
    )
    if not causal:
        torch.testing.assert_close(
            xformers.memory_efficient_attention(q, *wide), wanted
        )


def test_unpadding_and_padding_are_inverse() -> None:
    x, mask = torch.randn(3, 5, 4), torch.arange(5) < torch.tensor([[5], [2], [3]])
    rows, places, ends, longest, lengths = flash_attn.unpad_input(x, mask)
    assert rows.shape == (10, 4)
    assert ends.tolist() == [0, 5, 7, 10]
    assert (ends.dtype, lengths.tolist(), longest) == (torch.int32, [5, 2, 3], 5)
    padded = flash_attn.pad_input(rows, places, 3, 5)
    torch.testing.assert_close(padded, x * mask[..., None])


def test_a_causal_convolution_sees_the_past() -> None:
    x, weight, bias = torch.randn(2, 6, 9), torch.randn(6, 4), torch.randn(6)
    out = causal_conv1d.causal_conv1d_fn(x, weight, bias, activation="silu")
    wanted = F.conv1d(x, weight[:, None], bias, padding=3, groups=6)[..., :9]
    torch.testing.assert_close(out, F.silu(wanted))
    with pytest.raises(RuntimeError, match="width between 2 and 4"):
        causal_conv1d.causal_conv1d_fn(x, torch.randn(6, 5))


def test_mamba_has_the_parameters_of_the_original() -> None:
    layer = mamba_ssm.Mamba(64)
    shapes = {name: tuple(p.shape) for name, p in layer.named_parameters()}
    assert shapes == {  # https://github.com/state-spaces/mamba, mamba_simple.py
        "A_log": (128, 16), "D": (128,), "in_proj.weight": (256, 64),
        "conv1d.weight": (128, 1, 4), "conv1d.bias": (128,),
        "x_proj.weight": (36, 128), "dt_proj.weight": (128, 4),
        "dt_proj.bias": (128,), "out_proj.weight": (64, 128),
    }  # fmt: skip
    assert layer(torch.randn(2, 7, 64)).shape == (2, 7, 64)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "mul"])
def test_a_scatter_reduces_the_rows_of_each_index(reduce: str) -> None:
    src, index = torch.randn(6, 3), torch.tensor([0, 0, 2, 2, 2, 0])
    out = torch_scatter.scatter(src, index, dim=0, dim_size=4, reduce=reduce)
    for place in (0, 2):
        rows = src[index == place]
        wanted = {
            "sum": rows.sum(0), "mean": rows.mean(0), "max": rows.amax(0),
            "min": rows.amin(0), "mul": rows.prod(0),
        }[reduce]  # fmt: skip
        torch.testing.assert_close(out[place], wanted)
    assert out[1].eq(reduce == "mul").all()
    assert torch_scatter.scatter(src, index, dim=0).shape == (3, 3)
    weights = torch_scatter.scatter_softmax(src, index, dim=0)
    sums = torch_scatter.scatter(weights, index, dim=0)
    torch.testing.assert_close(sums[[0, 2]], torch.ones(2, 3))


PLOTS = """\
import torch
import matplotlib_of_nobody.pyplot as plt
from tqdm_of_nobody import tqdm, trange

net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
losses = []
for epoch in trange(2):
    for x in tqdm(torch.randn(4, 5, 3), desc="training"):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
assert len(losses) > 1
fig, axes = plt.subplots(1, 2)
axes[0].plot(losses)
plt.savefig("losses.png")
"""


def test_plots_and_bars_are_for_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shapewright.runtime.training import loggers

    more = ("matplotlib_of_nobody", "tqdm_of_nobody")
    monkeypatch.setattr(loggers, "LOGGERS", (*loggers.LOGGERS, *more))
    report = rehearsed(tmp_path, PLOTS)
    assert report.findings == ()
    assert report.complete
    assert not (tmp_path / "losses.png").exists()


AROUND = """\
    from dataclasses import dataclass, field
    import sys
    import torch
    import spmd_types as spmd
    import triton
    import triton.language as tl
    import tyro

    @triton.jit(do_not_specialize=["rank"])
    def kernel(counts: tl.pointer_type(tl.int64), rank: tl.int64):
        pass

    @dataclass
    class Loss:
        weight: float = 1.0

    @dataclass
    class Chunked(Loss):
        chunks: int = 8

    @dataclass
    class Config:
        loss: Loss = field(default_factory=Loss)

    config = tyro.cli(Config, args=["--loss.chunks", "4"], default=Config(Chunked()))
    assert config.loss == Chunked(1.0, 4)

    @spmd.no_typecheck()
    def double(x):
        return x * 2

    x = spmd.assert_type(torch.ones(3), {})
    assert spmd.R is spmd.Replicate and spmd.S(1) == spmd.Shard(1) != spmd.S(0)
    assert spmd.R.backward_type() is spmd.P and spmd.V.backward_type() is spmd.V
    assert tuple(spmd.PartitionSpec(("dp", "cp"), None)) == (("dp", "cp"), None)
    assert repr((spmd.P, spmd.S(-1))) == "(P, S(-1))" and not spmd.is_type_checking()
    with spmd.local():
        assert double(x).shape == (3,)
    """


def test_what_stands_around_a_trainer(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, AROUND)
    assert [each.message for each in report.findings] == []


def test_a_layout_over_several_ranks_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "8")
    text = """\
        import torch
        import spmd_types as spmd
        from torch.distributed.device_mesh import init_device_mesh
        mesh = init_device_mesh("cpu", (8, 1), mesh_dim_names=("dp", "tp"))
        x = torch.ones(4, 2)
        with spmd.set_current_mesh(mesh):
            assert spmd.redistribute(x, "tp", src=spmd.P, dst=spmd.R).shape == (4, 2)
            spmd.redistribute(x, "dp", src=spmd.P, dst=spmd.R)
        """
    (found,) = rehearsed(tmp_path, text).findings
    assert found.span is not None
    assert (found.code, found.span.line) == ("not-here", 8)
    assert "over 8 ranks needs the package: install `spmd_types`" in found.message
