"""What needs a process group before one is set up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import os
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

{above}
def main():
    rank, {world} = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29541")
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(4, 3)).mean().backward()
        optimizer.step()

main()
"""
SETUP = """\
import torch.distributed as dist

def setup(rank, world_size):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
"""
CALL = "init_process_group"
MISTAKES = {
    "nothing": (
        "", "world_size", f'`dist.{CALL}("gloo", rank=rank, world_size=world_size)`',
    ),
    "numbers of the environment": ("", "size", f'`dist.{CALL}("gloo")`'),
    "an import": (
        "from torch import distributed\n", "size", f'`distributed.{CALL}("gloo")`',
    ),
    "a function that nobody calls": (SETUP, "world_size", "`setup(rank, world_size)`"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_the_group_is_set_up_first(tmp_path: Path, name: str) -> None:
    above, world, fix = MISTAKES[name]
    finding = rehearsed(tmp_path, PROGRAM.format(above=above, world=world)).findings[-1]
    assert "needs a process group" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked
