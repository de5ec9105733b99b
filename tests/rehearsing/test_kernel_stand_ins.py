"""Stand-ins of kernels, function by function, against the originals.

`kernels/signatures.toml` has the parameters as the sources of the packages have them;
the files beside it have a call of each function, with its shape, its dtype, its value
where a plain formula of torch gives it, and a call that the original refuses.
"""

from __future__ import annotations

import importlib
import inspect
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.rehearsing.kernels import (
    Row,
    attention,
    images,
    points,
    rotations,
    training,
)
from tests.rehearsing.rehearsed import rehearsed

FOLDER = Path(__file__).parent / "kernels"
TABLES = tomllib.loads((FOLDER / "signatures.toml").read_text("utf-8"))
SIGNATURES = {
    name: names.split() for table in TABLES.values() for name, names in table.items()
}
ROWS: dict[str, Row] = {
    **attention.ROWS, **training.ROWS, **points.ROWS, **rotations.ROWS,
    **images.ROWS,
}  # fmt: skip
REFUSED = [name for name, row in ROWS.items() if row.refused is not None]
STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def stand_in(name: str) -> Any:
    module, _, attribute = name.partition(".")
    path = f"shapewright.runtime.absent.stand_ins.{module}"
    return getattr(importlib.import_module(path), attribute)


def test_there_are_sixty_and_more() -> None:
    assert len(ROWS) >= 60
    assert len(SIGNATURES) >= 60
    assert len([row for row in ROWS.values() if row.value is not None]) >= 60
    assert len(REFUSED) >= 60
    assert ROWS.keys() <= SIGNATURES.keys()


@pytest.mark.parametrize("name", SIGNATURES)
def test_parameters_are_those_of_the_original(name: str) -> None:
    parameters = inspect.signature(stand_in(name)).parameters.values()
    names = [f"{STARS.get(each.kind, '')}{each.name}" for each in parameters]
    assert names == SIGNATURES[name]


@pytest.mark.parametrize("name", ROWS)
def test_results_are_those_of_the_original(name: str) -> None:
    row = ROWS[name]
    out = row.call()
    assert tuple(out.shape) == row.shape
    assert out.dtype in (row.dtype, torch.int64)
    assert (out.dtype == row.dtype) or row.dtype == torch.float32
    if row.value is not None:
        value = row.value().to(out.dtype)
        torch.testing.assert_close(out, value, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_original_refuses_is_refused(name: str) -> None:
    refused = ROWS[name].refused
    assert refused is not None
    call, error, words = refused
    with pytest.raises(error, match=words or None):
        call()


# -- in programs that are rehearsed ----------------------------------------------------

TRAINING = """\
import torch
from torch import nn
IMPORTS

model = nn.ModuleDict(dict(LAYERS)).cuda()
OPTIMIZER
for step in range(2):
    x = torch.randn(8, 16, device="cuda")
    STEP
    optimizer.zero_grad()
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.shape == parameter.shape, name
    optimizer.step()
"""
PLAIN = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"
PROGRAMS = {
    "attention": (
        "import transformer_engine.pytorch as te\n"
        "from flash_attn import flash_attn_varlen_func",
        "q=te.Linear(16, 32, params_dtype=torch.bfloat16)", PLAIN,
        "q = model['q'](x.bfloat16()).view(8, 2, 16)\n"
        "    ends = torch.tensor([0, 3, 8], dtype=torch.int32, device='cuda')\n"
        "    out = flash_attn_varlen_func(q, q, q, ends, ends, 5, 5, causal=True)\n"
        "    loss = out.float().mean()",
    ),
    "version 3": (
        "from flash_attn_interface import flash_attn_func",
        "q=nn.Linear(16, 32)", PLAIN,
        "q = model['q'](x).half().view(2, 4, 2, 16)\n"
        "    loss = flash_attn_func(q, q, q, causal=True).float().mean()",
    ),
    "norm and losses": (
        "from liger_kernel.transformers import (\n"
        "    LigerCrossEntropyLoss, LigerRMSNorm, apply_liger_kernel_to_llama)\n"
        "apply_liger_kernel_to_llama(rope=False)",
        "norm=LigerRMSNorm(16), out=nn.Linear(16, 10)", PLAIN,
        "y = torch.randint(10, (8,), device='cuda')\n"
        "    loss = LigerCrossEntropyLoss()(model['out'](model['norm'](x)), y)",
    ),
    "scatter": (
        "from torch_scatter import scatter\nfrom torch_cluster import knn_graph\n"
        "from torch_sparse import SparseTensor",
        "out=nn.Linear(16, 4)", PLAIN,
        "edges = knn_graph(x, 3)\n"
        "    h = scatter(model['out'](x)[edges[0]], edges[1], 0, dim_size=8)\n"
        "    whole = SparseTensor(row=edges[0], col=edges[1], sparse_sizes=(8, 8))\n"
        "    loss = whole.matmul(h).square().mean()",
    ),
    "points": (
        "from pytorch3d.loss import chamfer_distance\n"
        "from pytorch3d.ops import sample_farthest_points",
        "out=nn.Linear(16, 30)", PLAIN,
        "made = model['out'](x).view(8, 10, 3)\n"
        "    few, _ = sample_farthest_points(torch.rand_like(made), K=4)\n"
        "    loss, _ = chamfer_distance(made, few)",
    ),
    "voxels": (
        "import spconv.pytorch as spconv",
        "out=spconv.SparseSequential(spconv.SubMConv3d(16, 8, 3), nn.ReLU(),\n"
        "    spconv.SparseConv3d(8, 4, 3, 2, 1))", PLAIN,
        "where = torch.randint(0, 8, (8, 4), device='cuda').int()\n"
        "    y = model['out'](spconv.SparseConvTensor(x, where, [8, 8, 8], 8))\n"
        "    loss = y.features.square().mean() + y.dense().mean()",
    ),
    "images": (
        "from mmcv.cnn import ConvModule\nfrom mmcv.ops import DeformConv2d\n"
        "from detectron2.layers import ROIAlign",
        "conv=ConvModule(1, 18, 3, padding=1, norm_cfg=dict(type='BN')),\n"
        "    deform=DeformConv2d(1, 4, 3, padding=1)", PLAIN,
        "image = torch.randn(2, 1, 8, 8, device='cuda')\n"
        "    y = model['deform'](image, model['conv'](image))\n"
        "    boxes = torch.zeros(5, 5, device='cuda')\n"
        "    loss = ROIAlign((2, 2), 1.0, 2)(y, boxes).mean()",
    ),
    "states": (
        "from mamba_ssm import Mamba, Mamba2",
        "one=Mamba(16), two=Mamba2(16, headdim=8)", PLAIN,
        "loss = model['two'](model['one'](x.view(2, 4, 16))).mean()",
    ),
    "optimizer": (
        "from deepspeed.ops.adam import FusedAdam\nimport bitsandbytes as bnb",
        "out=nn.Linear(16, 4)",
        "optimizer = FusedAdam(model.parameters(), lr=1e-3)\n"
        "other = bnb.optim.AdamW8bit(model.parameters(), lr=1e-3)",
        "loss = model['out'](x).mean()\n    other.step()",
    ),
    "kernel of the program": (
        "import triton\nimport triton.language as tl\n"
        "@triton.autotune(configs=[triton.Config({'BLOCK': 64})], key=['n'])\n"
        "@triton.jit\n"
        "def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n"
        "    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(out_ptr + places, 2 * tl.load(x_ptr + places), mask=places < n)\n"
        "class Double(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        out = torch.empty_like(x)\n"
        "        double[lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)](\n"
        "            x, out, x.numel())\n"
        "        return out\n"
        "    @staticmethod\n"
        "    def backward(ctx, grad):\n"
        "        return 2 * grad",
        "out=nn.Linear(16, 4)", PLAIN, "loss = Double.apply(model['out'](x)).mean()",
    ),
}  # fmt: skip


def written(name: str) -> str:
    imports, layers, optimizer, step = PROGRAMS[name]
    parts = {"IMPORTS": imports, "LAYERS": layers, "OPTIMIZER": optimizer, "STEP": step}
    text = TRAINING
    for mark, part in parts.items():
        text = text.replace(mark, part)
    return text


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_training_with_them_reaches_its_end(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, written(name), device="cuda")
    assert [each.message for each in report.findings] == []
    assert report.complete
    told = [each for each in report.assumptions if each.stands_for]
    assert told
    assert {each.basis for each in told} == {"documented"}
    assert all("signatures of https://" in each.message for each in told)


def test_a_launch_that_names_no_parameter_is_refused(tmp_path: Path) -> None:
    text = written("kernel of the program").replace("x, out, x.numel()", "x, out")
    (finding,) = rehearsed(tmp_path, text, device="cuda").findings
    assert "missing a required argument: 'n'" in finding.message


def test_how_many_points_are_left_is_told(tmp_path: Path) -> None:
    text = written("voxels").replace("(8, 16,", "(9000, 16,")
    text = text.replace("8, (8, 4)", "8, (9000, 4)")
    report = rehearsed(tmp_path, text, device="cuda")
    assert report.findings == ()
    assert any("`torch.unique`" in each.message for each in report.assumptions)


COUNTING = """\
import torch, triton
import triton.language as tl

@triton.jit
def count(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    where = out_ptr + tl.load(index_ptr + at)
    tl.atomic_add(where, x)

x, index = torch.zeros(4).cuda(), torch.zeros(4).int().cuda()
out = torch.zeros(4, device="cuda")
count[(1,)](x, index, out, 4, BLOCK=4)
assert x.sum().item() == 0
assert index.sum().item() == 0
print(out.sum().item())
"""


def test_what_a_kernel_stores_in_is_not_known_afterwards(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, COUNTING, device="cuda")
    assert report.findings == ()
    messages = [each.message for each in report.assumptions]
    assert any("`Tensor.item` of unknown data" in message for message in messages)


@pytest.mark.parametrize("name", ["AdamW8bit", "Lion8bit", "AdamW", "PagedAdam8bit"])
def test_states_of_8_bits_take_a_byte(name: str) -> None:
    optimizers = importlib.import_module(
        "shapewright.runtime.absent.stand_ins.bitsandbytes"
    ).MODULES["optim"]
    small, large = (torch.nn.Parameter(torch.ones(size)) for size in (100, 5000))
    optimizer = optimizers[name]([small, large], lr=1e-2)
    for _ in range(2):
        small.grad, large.grad = torch.ones(100), torch.linspace(0.1, 1, 5000)
        optimizer.step()
    states = [optimizer.state[parameter]["exp_avg"] for parameter in (small, large)]
    wide = torch.float32 if name == "AdamW" else torch.uint8
    assert [state.dtype for state in states] == [torch.float32, wide]
    assert large[0].item() == pytest.approx(small[0].item(), abs=2e-3)
