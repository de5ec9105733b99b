"""A step on a GPU is, byte for byte, what torch's fake CUDA tensors take.

What this shows: autocast, dropout, `foreach` and backward without data on `meta` are
those of torch's own dispatch for CUDA. What it cannot: the choice of an attention
kernel is ours on both sides, three kernels that a build without CUDA lacks are
registered by hand, and nothing below the dispatcher runs, no scratch either.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import shapewright as sw
from memory.families import (
    FAMILIES,
    Checkpointed,
    Family,
    LanguageModel,
    Reentrant,
)
from shapewright.record.memory import WORKSPACES, Memory

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not sys.platform.startswith("linux")
        or not torch.__version__.startswith("2.13"),
        reason="fake CUDA depends on the private layout of one version of torch",
    ),
]


def build_gpt2() -> nn.Module:
    with torch.device("meta"):
        return LanguageModel(768, 12, 12, 50257, 1024, 0.1)


LONG = torch.zeros(8, 1024, dtype=torch.long)
MODELS = {
    **FAMILIES,
    "checkpointed": Family(Checkpointed, (torch.randn(256, 64),)),
    "reentrant": Family(Reentrant, (torch.randn(256, 64),)),
    "gpt2": Family(build_gpt2, (LONG, LONG.clone())),
}

CAUSES = {
    ("autoencoder", False, "forward"): (
        32_256, "the losses of all elements, which the kernel of CUDA keeps: a binary "
        "cross entropy of 128 * 64 numbers, less the number that fake CUDA returns"
    ),
}  # fmt: skip
"""Where more is counted than fake CUDA has, and why."""

REFUSED = {("autoencoder", True): "unsafe to autocast"}
"""Runs that torch refuses, and its words."""


@pytest.fixture(scope="module")
def runs() -> dict[tuple[str, bool], dict[str, Any]]:
    """Return what the oracle says, by model and whether under autocast."""
    folders = [Path(sw.__file__).parents[1], Path(__file__).parents[1]]
    done = subprocess.run(
        [sys.executable, "-m", "memory.fake_cuda"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = map(json.loads, done.stdout.splitlines())
    return {(run["name"], run["autocast"]): run for run in lines}


def find_rounded_peaks(memory: Memory) -> dict[str, int]:
    """Return the most bytes in each phase of the second step, in blocks of 512, without
    what kernels take for themselves.
    """
    sizes: dict[int, int] = {}
    peaks: dict[str, int] = {}
    total = 0
    scratch = {
        number
        for number, origin in enumerate(memory.events.storages)
        if origin.kind == WORKSPACES
    }
    for event in memory.events.events:
        if event.storage in scratch:
            continue
        size = -(-event.bytes // 512) * 512
        total += size - sizes.get(event.storage, 0)
        sizes[event.storage] = size
        if event.step == 2:
            peaks[event.phase] = max(peaks.get(event.phase, 0), total)
    return peaks


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_step(
    name: str, autocast: bool, runs: dict[tuple[str, bool], dict[str, Any]]
) -> None:
    family, run = MODELS[name], runs[name, autocast]
    memory = sw.memory(
        family.build(), *family.inputs, device="A100 40GB",
        autocast="bf16" if autocast else None,
    )  # fmt: skip
    words = REFUSED.get((name, autocast))
    if words is not None:
        assert words in run["error"]
        assert memory.events.error is not None
        assert words in memory.events.error.message
        return
    peaks = find_rounded_peaks(memory)
    assert peaks.keys() == run["peaks"].keys()
    for phase, size in run["peaks"].items():
        more, cause = CAUSES.get((name, autocast, phase), (0, ""))
        assert peaks[phase] - size == more, (phase, cause)
