"""Twenty linear layers of 2000 features, batch 20, Adam without `foreach`, as torch 1.8
had it; two ranks under DistributedDataParallel.

The argument says how far the program runs: `parameters`, `wrapped`, `backward`, `step`.
"""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STAGE = ("parameters", "wrapped", "backward", "step").index(sys.argv[1])
rank = int(os.environ.get("RANK", 0))
model = nn.Sequential(*[nn.Linear(2000, 2000).to(rank) for _ in range(20)])
if STAGE >= 1:
    dist.init_process_group("gloo")
    model = DistributedDataParallel(model, device_ids=[rank])
if STAGE >= 2:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, foreach=False)
    outputs = model(torch.randn(20, 2000).to(rank))
    labels = torch.randn(20, 2000).to(rank)
    nn.MSELoss()(outputs, labels).backward()
if STAGE >= 3:
    optimizer.step()
