"""What is not known of a program's memory is said, and counted where it is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.test_rehearsed_memory import get_memory, rehearse

HEAD = "import torch\nfrom torch import nn\n"

PARAMETERS = 1024 * 1024 + 1024 + 1024 * 10 + 10

STEPS = """
    {head}
    model = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)).cuda()
    optimizer = {optimizer}
    for _ in range(100):
        x = torch.randn(64, 1024, device="cuda")
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    """


def write_steps(optimizer: str, head: str = "pass") -> str:
    return STEPS.format(optimizer=optimizer, head=head)


@pytest.mark.parametrize(
    ("package", "optimizer", "states"),
    [
        ("bitsandbytes as bnb", "bnb.optim.AdamW8bit(model.parameters())", 2),
        ("bitsandbytes as bnb", "bnb.optim.PagedAdamW8bit(model.parameters())", 2),
        ("bitsandbytes as bnb", "bnb.optim.Lion8bit(model.parameters())", 1),
        ("bitsandbytes as bnb", "bnb.optim.SGD8bit(model.parameters(), 1, 0.9)", 1),
        ("torchao.optim as ao", "ao.AdamW8bit(model.parameters())", 2),
    ],
)
def test_states_of_eight_bits_take_a_byte_and_their_scales(
    tmp_path: Path, package: str, optimizer: str, states: int
) -> None:
    text = write_steps(optimizer, f"import {package}")
    memory = get_memory(rehearse(tmp_path, text, head=HEAD))
    # a byte for each element of both weights, a float32 for each 256 of them; biases of
    # less than 4096 elements keep float32
    weights = 1024 * 1024 + 1024 * 10
    each = weights + 4 * weights // 256 + 4 * (1024 + 10)
    taken = memory.peak.kinds["optimizer"]
    assert states * each <= taken <= states * each + 6 * 512
    # the step is one kernel: no float32 copies of the states at the peak
    tensors = memory.peak.bytes - memory.peak.kinds["workspaces"]
    assert tensors < (2 * 4 + states + 1) * PARAMETERS


@pytest.mark.parametrize(
    ("head", "optimizer", "words"),
    [
        (
            "side = torch.cuda.Stream()",
            "torch.optim.SGD(model.parameters())",
            "streams",
        ),
        ("g = torch.cuda.CUDAGraph()", "torch.optim.SGD(model.parameters())", "pool"),
        ("import torchao.optim as ao", "ao.AdamW8bit(model.parameters())", "compiled"),
        (
            "import bitsandbytes as bnb",
            "bnb.optim.PagedAdam8bit(model.parameters())",
            "paged",
        ),
        (
            "import bitsandbytes.nn as b; b.Linear4bit(8, 8)(torch.ones(1, 8)).cuda()",
            "torch.optim.SGD(model.parameters())",
            "`Linear4bit`",
        ),
        (
            "nn.LSTM(8, 8).cuda()(torch.ones(2, 1, 8).cuda())",
            "torch.optim.SGD(model.parameters())",
            "recurrent layers",
        ),
        (
            "conv = nn.Conv2d(3, 3, 3).cuda()(torch.ones(1, 3, 9, 9).cuda())",
            "torch.optim.SGD(model.parameters())",
            "cuDNN",
        ),
    ],
)
def test_what_is_not_known_is_a_note(
    tmp_path: Path, head: str, optimizer: str, words: str
) -> None:
    text = write_steps(optimizer, head)
    report = rehearse(tmp_path, text, head=HEAD)
    assert any(words in note for note in get_memory(report).notes)
    assert words in " ".join(str(report).split())


def test_one_stream_needs_no_note(tmp_path: Path) -> None:
    head = "now = torch.cuda.current_stream(); mark = torch.cuda.Event()"
    text = write_steps("torch.optim.SGD(model.parameters())", head)
    assert not any("stream" in n for n in find_notes(tmp_path, text))


def find_notes(folder: Path, text: str) -> tuple[str, ...]:
    return get_memory(rehearse(folder, text, head=HEAD)).notes
