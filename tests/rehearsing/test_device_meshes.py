"""Device meshes, and what is sharded over them, rehearsed as one rank."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

import pytest
import torch
from torch import distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from tests.rehearsing.rehearsed import moments, rehearsed

MESH = """\
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

    mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("replicate", "shard"))
    assert (mesh.ndim, mesh.size(), mesh.shape) == (2, 8, (2, 4))
    assert mesh.mesh_dim_names == ("replicate", "shard")
    assert mesh.mesh.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    shard = mesh["shard"]
    assert (shard.size(), shard.ndim) == (4, 1)
    assert mesh.get_local_rank("shard") == shard.get_local_rank() == {shard}
    assert list(mesh.get_coordinate()) == [{replicate}, {shard}]
    assert dist.get_world_size(shard.get_group()) == 4
    whole = mesh["replicate", "shard"]._flatten("dp")
    assert whole.size() == 8 and dist.get_rank(whole.get_group()) == {rank}
    parts = torch.zeros(8, 3, device="cuda")
    dist.all_gather_into_tensor(parts, torch.zeros(2, 3, device="cuda"), shard.get_group())
    assert DeviceMesh.from_group(shard.get_group(), "cuda").size() == 4
    assert DeviceMesh("cuda", list(range(8))).get_rank() == {rank}
    """  # noqa: E501


@pytest.mark.parametrize("rank", [0, 6])
def test_a_mesh_of_data_parallel_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rank: int, capfd: object
) -> None:
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("LOCAL_RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", "8")
    text = MESH.format(rank=rank, replicate=rank // 4, shard=rank % 4)
    report = rehearsed(tmp_path, text, device="8x H100 80GB")
    assert [each.message for each in report.findings] == []
    assert report.complete
    assert report.rehearsal is not None
    told = moments(report.rehearsal.story, "group")
    assert [(each.line, each.text) for each in told] == [
        (5, f"ran as rank {rank} of 8")
    ]
    assert "NCCL" not in capfd.readouterr().err  # type: ignore[attr-defined]


def test_a_mesh_that_is_larger_than_the_group_is_refused(tmp_path: Path) -> None:
    text = """\
        from torch.distributed.device_mesh import init_device_mesh
        init_device_mesh("cuda", (2, 4))
        """
    (found,) = rehearsed(tmp_path, text, device="cuda").findings
    assert "should not be bigger than default world size 1" in found.message
    assert found.span is not None
    assert found.span.line == 2


TRAIN = """\
    import torch
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard, FSDPModule, MixedPrecisionPolicy
    from torch.distributed._composable.replicate import replicate
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision
    from torch.distributed.fsdp import ShardingStrategy
    from torch.nn.parallel import DistributedDataParallel as DDP
    from functools import partial
    from torch.utils.checkpoint import checkpoint, CheckpointPolicy
    from torch.utils.checkpoint import create_selective_checkpoint_contexts

    def choose(context, operator, *args, **kwargs):
        return CheckpointPolicy.MUST_SAVE

    selective = partial(create_selective_checkpoint_contexts, choose)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

        def inner(self, x):
            return self.down(self.up(x).relu())

        def forward(self, x):
            return checkpoint(
                self.inner, x, use_reentrant=False, context_fn=selective
            )

    mesh = init_device_mesh("cuda", {shape}, mesh_dim_names=("replicate", "shard"))
    half = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    model = nn.Sequential(Block(), Block(), nn.Linear(8, {width})).to("cuda")
    {wrap}
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(20):
        out = model(torch.randn(32, 8, device="cuda"))
        assert out.dtype == torch.{dtype}
        loss = nn.functional.mse_loss(out.float(), torch.zeros(32, 4, device="cuda"))
        optimizer.zero_grad()
        loss.backward()
        for each in model.parameters():
            assert each.dtype == each.grad.dtype == torch.float32
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    """

WRAPS = {
    "fully_shard": ("fully_shard(model, mesh=mesh)", "float32"),
    "layers": (
        "[fully_shard(m, mesh=mesh, mp_policy=half) for m in (*model, model)]; "
        "assert isinstance(model[0], FSDPModule); model[0].unshard(); "
        "model.set_requires_gradient_sync(False)",
        "bfloat16",
    ),
    "replicate": ("replicate(model, device_mesh=mesh['shard'])", "float32"),
    "ddp": ("model = DDP(model, device_mesh=mesh['shard'])", "float32"),
    "hybrid": (
        "model = FSDP(model, device_mesh=mesh, use_orig_params=True, "
        "sharding_strategy=ShardingStrategy.HYBRID_SHARD)",
        "float32",
    ),
    "flat": (
        "model = FSDP(model, mixed_precision=MixedPrecision(torch.bfloat16))",
        "bfloat16",
    ),
}


@pytest.mark.parametrize("shape", ["(1, 1)", "(2, 4)"])
@pytest.mark.parametrize("name", WRAPS)
@pytest.mark.filterwarnings("ignore")
def test_what_is_sharded_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, shape: str
) -> None:
    wrap, dtype = WRAPS[name]
    if shape == "(2, 4)":
        monkeypatch.setenv("WORLD_SIZE", "8")
    text = TRAIN.replace("{wrap}", wrap).replace("{shape}", shape)
    text = text.replace("{dtype}", dtype)
    right = rehearsed(tmp_path, text.replace("{width}", "4"), device="8x H100 80GB")
    assert [each.message for each in right.findings] == []
    assert right.rehearsal is not None
    assert right.rehearsal.steps >= 3
    told = [each.message for each in right.assumptions]
    assert any("keeps whole parameters" in each for each in told) == (
        shape == "(2, 4)" and name not in ("replicate", "ddp")
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_what_is_wrong_in_a_sharded_model_is_found(tmp_path: Path) -> None:
    text = TRAIN.replace("{wrap}", WRAPS["layers"][0]).replace("{shape}", "(1, 1)")
    text = text.replace("{dtype}", "bfloat16").replace("{width}", "5")
    (found, *_) = rehearsed(tmp_path, text, device="cuda").findings
    assert found.span is not None
    assert found.span.line == 39


def test_parameters_on_the_meta_device_are_refused_at_the_first_use(
    tmp_path: Path,
) -> None:
    text = """\
        import torch
        from torch import nn
        from torch.distributed.fsdp import fully_shard
        with torch.device("meta"):
            model = nn.Linear(4, 4)
        fully_shard(model)
        {more}
        model(torch.randn(2, 4, device="cuda"))
        """
    (found,) = rehearsed(tmp_path, text.format(more=""), device="cuda").findings
    assert "should be materialized from meta device" in found.message
    filled = text.format(more='model.to_empty(device="cuda")')
    assert rehearsed(tmp_path, filled, device="cuda").findings == ()


SEVERAL = (
    "distribute_tensor(torch.randn(8, 4), mesh['tp'], [Shard(0)])",
    "DTensor.from_local(torch.randn(8, 4), mesh['tp'], [Shard(0)])",
    "parallel.parallelize_module(nn.Linear(4, 4), mesh['tp'], None)",
    "PipelineStage(nn.Linear(4, 4), 0, 2, 'cpu', group=mesh.get_group('tp'))",
)


@pytest.mark.parametrize("call", SEVERAL)
def test_tensors_of_several_ranks_are_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "8")
    text = f"""\
        import torch
        from torch import nn
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.pipelining import PipelineStage
        from torch.distributed.tensor import DTensor, Shard, distribute_tensor
        from torch.distributed.tensor import parallel
        mesh = init_device_mesh("cpu", (4, 2), mesh_dim_names=("dp", "tp"))
        {call}
        """
    (found,) = rehearsed(tmp_path, text).findings
    assert "over 2 ranks yet: set the degrees of tensor" in found.message
    assert found.span is not None
    assert found.span.line == 8


def test_a_plan_of_tensor_parallelism_on_one_rank_changes_nothing(
    tmp_path: Path,
) -> None:
    text = """\
        import torch
        from torch import nn
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import parallel
        mesh = init_device_mesh("cuda", (1, 1), mesh_dim_names=("dp", "tp"))
        plan = {"0": parallel.ColwiseParallel()}
        model = nn.Sequential(nn.Linear(4, 8)).cuda()
        model = parallel.parallelize_module(model, mesh["tp"], plan)
        assert model(torch.randn(2, 4, device="cuda")).shape == (2, 8)
        """
    report = rehearsed(tmp_path, text, device="cuda")
    assert [each.message for each in report.findings] == []


SAVED = """\
    import torch
    import torch.distributed.checkpoint as dcp
    from torch import nn
    from torch.distributed.checkpoint.state_dict import (
        StateDictOptions, get_model_state_dict, get_state_dict, set_model_state_dict,
    )
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh = init_device_mesh("cuda", (8,), mesh_dim_names=("dp",))
    model = fully_shard(nn.Sequential(nn.Linear(8, 12), nn.Linear(12, 4)).cuda(), mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(4, 8, device="cuda")).sum().backward()
    optimizer.step()
    options = StateDictOptions(full_state_dict=True)
    whole = get_model_state_dict(model, options=options)
    assert whole["0.weight"].shape == (12, 8)
    weights, states = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": states}, checkpoint_id="checkpoint")
    set_model_state_dict(model, whole, options=StateDictOptions(full_state_dict=True))
    model.load_state_dict(state_dict=model.state_dict())
    assert model[0].weight.shape == model[0].weight.full_tensor().shape == (12, 8)
    assert model[0].weight.to_local().shape == {part}
    """  # noqa: E501


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("rank", "part"), [(0, (2, 8)), (6, (0, 8))])
def test_a_sharded_model_is_saved_and_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rank: int, part: tuple[int, int]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("RANK", str(rank))
    text = SAVED.replace("{part}", str(part))
    report = rehearsed(tmp_path, text, device="8x H100 80GB")
    assert [each.message for each in report.findings] == []


FUNCTIONAL = """\
    import torch
    import torch.distributed as dist
    from torch.distributed import _functional_collectives as functional
    from torch.distributed.device_mesh import init_device_mesh
    mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("replicate", "shard"))
    x = torch.ones(8, 3, requires_grad=True)
    group = mesh["shard"]
    total = functional.all_reduce(torch.tensor(2.0), "sum", group)
    assert functional.wait_tensor(total).item() == 8.0
    assert functional.all_gather_tensor(x, 0, group).shape == (32, 3)
    assert functional.all_gather_tensor(x, 1, (mesh, 0)).shape == (8, 6)
    assert functional.reduce_scatter_tensor(x, "sum", 0, group).shape == (2, 3)
    whole = functional.all_gather_tensor_autograd(x, 0, group.get_group())
    assert functional.all_to_all_single(x, None, None, group).shape == (8, 3)
    rows = functional.all_to_all_single(x, [1, 2, 3, 0], [2, 2, 2, 2], group)
    assert rows.shape == (6, 3)
    whole.sum().backward()
    assert x.grad.shape == (8, 3)
    functional.reduce_scatter_tensor(x, "sum", 1, group)
    """


def test_functional_collectives_have_the_shapes_of_a_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "8")
    (found,) = rehearsed(tmp_path, FUNCTIONAL).findings
    assert "must be a multiple of group_size 4" in found.message
    assert found.span is not None
    assert found.span.line == 19


def test_a_captured_graph_of_kernels_runs_once(tmp_path: Path) -> None:
    text = """\
        import torch
        x = torch.ones(3, device="cuda")
        graph, pool = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()
        with torch.cuda.graph(graph, pool=pool, stream=torch.cuda.Stream()):
            y = x * 2
        x.copy_(torch.zeros(3))
        graph.replay()
        assert y.shape == (3,)
        """
    report = rehearsed(tmp_path, text, device="cuda")
    assert [each.message for each in report.findings] == []


REFUSED = (
    "fully_shard(nn.ModuleList([nn.Linear(2, 2)]), mesh=mesh)",
    "fully_shard(Scalar(), mesh=mesh)",
    "fully_shard(Transposed(), mesh=mesh)",
    "fully_shard(fully_shard(nn.Linear(2, 2), mesh=mesh), mesh=mesh)",
    "fully_shard(nn.Linear(2, 2), mesh=mesh)(torch.randn(3, 2))",
    "fully_shard(Mixed(), mesh=mesh)(torch.randn(3, 2))",
    "fully_shard(nn.Linear(2, 2), mesh=mesh, "
    "shard_placement_fn=lambda p: Shard(1))(torch.randn(3, 2))",
    "copy.deepcopy(fully_shard(nn.Linear(2, 2), mesh=mesh))",
)

PREPARED = """\
import copy, torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard
class Scalar(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1.0))
class Transposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 3).t())
class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2, dtype=torch.float64)
    def forward(self, x):
        return self.b(self.a(x).double())
mesh = init_device_mesh("cpu", (1,))
"""


@pytest.mark.filterwarnings("ignore")
def test_what_torch_refuses_to_shard_is_refused(tmp_path: Path) -> None:
    refused = []
    for call in REFUSED:
        report = rehearsed(tmp_path, PREPARED + call)
        if report.findings:
            refused.append(call)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    theirs = []
    try:
        for call in REFUSED:
            try:
                exec(PREPARED + call, {})
            except Exception:
                theirs.append(call)
    finally:
        dist.destroy_process_group()
    assert refused == theirs


POLICY = """\
policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.float16)
model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 2))
seen = []
model[1].register_forward_hook(lambda m, x, y: seen.append(str(y.dtype)))
full = MixedPrecisionPolicy(torch.float32, output_dtype=torch.bfloat16)
fully_shard(model[0], mesh=mesh, mp_policy=full)
fully_shard(model, mesh=mesh, mp_policy=policy)
out = model(torch.randn(3, 4))
out.float().sum().backward()
result = {
    "out": str(out.dtype), "inner": seen[0],
    "first": str(model[0].weight.grad.dtype),
    "last": str(model[2].weight.grad.dtype),
    "shape": tuple(model[2].weight.grad.shape),
    "names": [name for name, _ in model.named_parameters()],
    "class": type(model).__name__,
}
"""


def test_dtypes_under_a_policy_are_those_of_a_real_run(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
        mesh = init_device_mesh("cpu", (1,))
        """
    real = _real_dtypes()
    assert real["inner"] == "torch.bfloat16"
    text = dedent(text) + POLICY + f"assert result == {real}, result\n"
    report = rehearsed(tmp_path, text)
    assert [each.message for each in report.findings] == []


def _real_dtypes() -> dict[str, object]:
    """Return what torch itself computes, in a group of one process."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    space: dict[str, object] = {
        "torch": torch, "nn": nn, "fully_shard": fully_shard,
        "MixedPrecisionPolicy": MixedPrecisionPolicy,
        "mesh": init_device_mesh("cpu", (1,)),
    }  # fmt: skip
    try:
        exec(POLICY, space)
    finally:
        dist.destroy_process_group()
    result = space["result"]
    assert isinstance(result, dict)
    return result


def test_nothing_of_it_stays(tmp_path: Path) -> None:
    import torch.distributed.fsdp._fully_shard._fully_shard as sharding
    import torch.distributed.tensor.parallel
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp._flat_param import FlatParamHandle
    from torch.distributed.tensor import DTensor

    owners = (
        FullyShardedDataParallel, FlatParamHandle, DTensor, sharding, DeviceMesh,
        torch.distributed.tensor.parallel, sys.modules["torch.distributed.device_mesh"],
    )  # fmt: skip
    before = [dict(vars(owner)) for owner in owners]
    text = TRAIN.replace("{shape}", "(1, 1)").replace("{width}", "4")
    text = text.replace("{wrap}", "fully_shard(model)").replace("{dtype}", "float32")
    with suppress(SystemExit):
        rehearsed(tmp_path, text, device="cuda")
    assert [dict(vars(owner)) for owner in owners] == before
    accelerator = torch._C._get_accelerator()
    assert accelerator.type == "cpu"
