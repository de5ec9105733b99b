"""Scripts written for `torchrun`, rehearsed as rank 0 of their group."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch
from torch import distributed as dist

from tests.rehearsing.rehearsed import moments, rehearsed

SCRIPT = """\
    import os
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel as DDP
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


    def main():
        dist.init_process_group("nccl")
        rank = int(os.environ["LOCAL_RANK"])
        device = f"cuda:{rank}"
        torch.cuda.set_device(device)
        model = DDP(nn.Linear(8, 4).to(device), device_ids=[rank])
        data = TensorDataset(torch.randn(1000, 8), torch.randint(0, 4, (1000,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, 32, sampler=sampler)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for epoch in range(10):
            sampler.set_epoch(epoch)
            for x, y in loader:
                with model.no_sync():
                    loss = nn.functional.cross_entropy(model(x), y.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                seen = loss.detach()
                dist.all_reduce(seen, op=dist.ReduceOp.AVG)
            if dist.get_rank() == 0:
                torch.save(model.state_dict(), "model.pt")
            dist.barrier()
        print(sorted(model.state_dict()), isinstance(model, DDP))
        {more}
        dist.destroy_process_group()


    main()
    """


def script(more: str = "pass") -> str:
    """The script, with a line more."""
    return SCRIPT.replace("{more}", more)


def test_a_script_for_torchrun_runs_as_rank_0_of_1(
    tmp_path: Path, capfd: object
) -> None:
    report = rehearsed(tmp_path, script(), device="cuda")
    assert report.complete
    assert [each.message for each in report.findings] == []
    assert report.assumptions == ()
    assert report.rehearsal is not None
    told = moments(report.rehearsal.story, "group")
    assert [(each.line, each.text) for each in told] == [
        (10, "ran as rank 0 of 1"),
        (11, "as torchrun sets it: ran as rank 0 of 1"),
    ]
    (batches,) = moments(report.rehearsal.story, "batches")
    assert batches.total == 32
    said = capfd.readouterr().err  # type: ignore[attr-defined]
    assert "['module.bias', 'module.weight'] True" in said


def test_nothing_of_it_stays(tmp_path: Path) -> None:
    before = dict(vars(dist)), dict(vars(dist.distributed_c10d)), type(os.environ)
    hook = sys.excepthook
    rehearsed(tmp_path, script("raise SystemExit"), device="cuda")
    after = dict(vars(dist)), dict(vars(dist.distributed_c10d)), type(os.environ)
    assert after == before
    assert sys.excepthook is hook
    assert not dist.is_initialized()
    assert "RANK" not in os.environ


def test_a_script_that_asks_is_told_that_nobody_launched_it(tmp_path: Path) -> None:
    text = """\
        import os
        assert int(os.environ.get("RANK", -1)) == -1
        assert "RANK" not in os.environ and os.getenv("LOCAL_RANK") is None
        assert os.environ.pop("WORLD_SIZE", None) is None
        assert os.environ.setdefault("MASTER_PORT", "1234") == "1234"
        assert os.environ["WORLD_SIZE"] == "1" and os.environ["MASTER_PORT"] == "1234"
        os.environ["NO_SUCH_NAME"]
        """
    report = rehearsed(tmp_path, text)
    (found,) = report.findings
    assert found.span is not None
    assert found.span.line == 7


def test_what_the_user_set_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    text = """\
        import os
        import torch
        import torch.distributed as dist
        from torch.utils.data import DistributedSampler
        dist.init_process_group("gloo")
        assert (dist.get_rank(), dist.get_world_size()) == (1, 4)
        assert len(DistributedSampler(range(100))) == 25
        counts = torch.tensor([3])
        dist.all_reduce(counts)
        assert counts.item() == 12
        pair = dist.new_group([0, 1])
        assert (dist.get_world_size(pair), dist.get_rank(pair)) == (2, 1)
        assert dist.get_rank(dist.new_group([2, 3])) == -1
        """
    report = rehearsed(tmp_path, text)
    assert report.findings == ()
    (assumed,) = report.assumptions
    assert "the other ranks are assumed to hold tensors" in assumed.message


def test_spawned_processes_are_one_rank_of_as_many(tmp_path: Path) -> None:
    text = """\
        import torch
        import torch.distributed as dist
        import torch.multiprocessing as mp


        def main(rank, world_size):
            dist.init_process_group(
                "gloo", init_method="tcp://localhost:12355", rank=rank,
                world_size=world_size,
            )
            parts = [torch.zeros(2, 3) for _ in range(world_size)]
            dist.all_gather(parts, torch.ones(2, 3))
            assert torch.cat(parts).shape == (8, 3)


        if __name__ == "__main__":
            mp.spawn(main, args=(4,), nprocs=4, join=True)
            assert not dist.is_initialized()
        """
    report = rehearsed(tmp_path, text)
    assert report.findings == ()
    assert report.rehearsal is not None
    assert "3 of 4 processes: one was run, here" in report.rehearsal.skipped
    told = [each.text for each in moments(report.rehearsal.story, "group")]
    assert told == ["ran process 0 of 4, here", "ran as rank 0 of 4"]


COLLECTIVES = (
    "dist.all_gather([x.clone()], x)",
    "dist.all_gather([x.clone()] * 2, x)",
    "dist.all_gather([], x)",
    "dist.all_gather([torch.zeros(4, 3)], x)",
    "dist.all_gather([torch.zeros(3, 4, dtype=torch.int)], x)",
    "dist.all_gather_into_tensor(torch.zeros(3, 4), x)",
    "dist.all_gather_into_tensor(torch.zeros(1, 3, 4), x)",
    "dist.all_gather_into_tensor(torch.zeros(6, 4), x)",
    "dist.all_gather_into_tensor(torch.zeros(3, 4, dtype=torch.int), x)",
    "dist.reduce_scatter(torch.zeros(3, 4), [x])",
    "dist.reduce_scatter(torch.zeros(3, 4), [x, x])",
    "dist.reduce_scatter(torch.zeros(3, 5), [x])",
    "dist.reduce_scatter_tensor(torch.zeros(3, 4), x)",
    "dist.reduce_scatter_tensor(torch.zeros(3, 5), x)",
    "dist.gather(x, [torch.zeros(3, 4)])",
    "dist.gather(x)",
    "dist.gather(x, [torch.zeros(3, 4)] * 2)",
    "dist.gather(x, [torch.zeros(3, 5)])",
    "dist.scatter(torch.zeros(3, 4), [x])",
    "dist.scatter(torch.zeros(3, 4))",
    "dist.scatter(torch.zeros(3, 5), [x])",
    "dist.scatter(torch.zeros(3, 4), [x, x])",
    "dist.all_to_all_single(torch.zeros(3, 4), x)",
    "dist.all_to_all_single(torch.zeros(3, 5), x)",
    "dist.all_to_all_single(torch.zeros(3, 4), x, [3], [3])",
    "dist.all_to_all_single(torch.zeros(3, 4), x, [2], [3])",
    "dist.all_to_all([torch.zeros(3, 4)], [x])",
    "dist.all_to_all([torch.zeros(3, 4)] * 2, [x] * 2)",
    "dist.all_to_all([torch.zeros(3, 5)], [x])",
    "dist.broadcast(x, 0)",
    "dist.all_reduce(x)",
    "dist.all_reduce(x, async_op=True).wait()",
    "dist.all_reduce([x])",
    "dist.all_reduce(3.0)",
    "dist.reduce(x, 0)",
    "dist.all_gather_object([None, None], {'a': 1})",
    "dist.all_gather_object([], 1)",
    "dist.gather_object(1, [None])",
    "dist.gather_object(1)",
    "dist.broadcast_object_list([1, 'a'])",
    "dist.scatter_object_list([None], [1])",
    "dist.scatter_object_list([], [1])",
    "dist.barrier()",
    "dist.init_process_group('gloo')",
    "dist.new_group([0, 1])",
    "dist.barrier(dist.new_group([0]))",
)


def refused_by_torch() -> list[str]:
    """Which of them gloo refuses, in a real group of one."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    refused = []
    try:
        for call in COLLECTIVES:
            try:
                eval(call, {"dist": dist, "torch": torch, "x": torch.ones(3, 4)})
            except Exception:
                refused.append(call)
    finally:
        dist.destroy_process_group()
    return refused


@pytest.mark.filterwarnings("ignore")
def test_what_gloo_refuses_is_refused(tmp_path: Path) -> None:
    refused = []
    for call in COLLECTIVES:
        text = (
            "import torch, torch.distributed as dist\n"
            "dist.init_process_group('gloo')\n"
            f"x = torch.ones(3, 4)\n{call}\n"
        )
        report = rehearsed(tmp_path, text)
        if report.findings:
            refused.append(call)
            assert [each.span.line for each in report.findings if each.span] == [4]
    assert refused == refused_by_torch()


def test_nccl_takes_no_tensor_on_the_cpu(tmp_path: Path) -> None:
    text = """\
        import torch
        import torch.distributed as dist
        dist.init_process_group("nccl")
        dist.all_reduce(torch.ones(3))
        dist.all_reduce(torch.ones(3, device="cuda"))
        dist.all_gather_into_tensor(
            torch.ones(1, 3, device="cuda"), torch.ones(3, device="cuda")
        )
        """
    report = rehearsed(tmp_path, text, device="cuda")
    (found,) = report.findings
    assert (found.code, found.span and found.span.line) == ("collective-mismatch", 4)
    assert "No backend type associated with device type cpu" in found.torch_message


WRAPPED = (
    ("DDP(nn.Linear(2, 2))", "has not been initialized", False),
    ("DDP(nn.Flatten())", "is not needed", True),
    ("DDP(nn.Linear(2, 2), device_ids=[0, 1])", "contain a single element", True),
    ("DDP(nn.Linear(2, 2), device_ids=[0])", "only work with single-device", True),
)


@pytest.mark.parametrize(("wrong", "words", "begun"), WRAPPED)
def test_what_cannot_be_wrapped_is_told_as_torch_tells_it(
    tmp_path: Path, wrong: str, words: str, begun: bool
) -> None:
    lines = (
        "import torch.distributed as dist",
        "from torch import nn",
        "from torch.nn.parallel import DistributedDataParallel as DDP",
        "dist.init_process_group('gloo')" if begun else "",
        wrong,
    )
    report = rehearsed(tmp_path, "\n".join(lines))
    (found,) = report.findings
    assert (found.code, found.span and found.span.line) == ("program-error", 5)
    assert words in found.words
    if begun:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        with pytest.raises((RuntimeError, ValueError), match=words):
            exec("\n".join([*lines[:3], wrong]), {})
    finally:
        if begun:
            dist.destroy_process_group()


SHARDED = """\
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    dist.init_process_group("nccl")
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, {width})).cuda()
    model = {wrapped}
    optimizer = torch.optim.AdamW(model.parameters())
    y = torch.zeros(32, 4, device="cuda")
    for step in range(5):
        loss = nn.functional.mse_loss(model(torch.randn(32, 8, device="cuda")), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """


def sharded(wrapped: str, width: int = 4) -> str:
    return SHARDED.replace("{wrapped}", wrapped).replace("{width}", str(width))


def test_fully_sharded_on_one_rank_trains(tmp_path: Path) -> None:
    wrapped = "FSDP(model, use_orig_params=True)"
    report = rehearsed(tmp_path, sharded(wrapped), device="cuda")
    assert [each.message for each in report.findings] == []
    assert report.rehearsal is not None
    assert report.rehearsal.steps >= 3
    (found, *_) = rehearsed(tmp_path, sharded(wrapped, 5), device="cuda").findings
    assert found.span is not None
    assert found.span.line == 11
