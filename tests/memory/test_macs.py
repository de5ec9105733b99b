"""The GPU of a Mac, whose memory is the machine's and whose allocator is not known."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import shapewright as sw
from shapewright.cli.main import main
from tests.memory.test_device_files import SCRIPT

GIB = 1 << 30


@pytest.mark.parametrize(
    ("device", "name", "least", "most"),
    [
        ("M3 Max 128GB", "M3 Max 128GB", 96.0, 163.2),
        ("apple m1 max 64GB", "M1 Max 64GB", 48.0, 81.6),
        ("M1 16GB", "M1 16GB", 10.66, 18.13),
        ("m3 max", "M3 Max 36GB", 24.0, 45.9),  # no report: from 2/3 to 3/4
    ],
)
def test_what_users_reported_is_its_capacity(
    device: str, name: str, least: float, most: float
) -> None:
    memory = sw.memory(nn.Linear(64, 64), "f32[B=8, 64]", device=device)
    assert memory.device == name
    assert memory.capacity is not None
    assert [size / GIB for size in memory.capacity] == pytest.approx(
        [least, most], rel=1e-3
    )


def test_tensors_are_known_and_the_allocator_is_not() -> None:
    memory = sw.memory(nn.Linear(64, 64), "f32[B=8, 64]", device="M3 Max")
    assert memory.reserved is None
    assert memory.total is not None
    assert (memory.total.low, memory.total.high) == (
        memory.peak.bytes, 2 * memory.peak.bytes,
    )  # fmt: skip
    assert memory.verdict == "fits"
    assert any("not measured on a Mac" in note for note in memory.notes)
    text = str(memory)
    assert "with Metal's allocator" in text
    assert "CUDA" not in text
    assert "cuBLAS" not in text


def test_a_step_that_is_larger_than_the_machine_does_not_fit() -> None:
    model = nn.Linear(1 << 16, 1 << 16, device="meta")
    memory = sw.memory(model, "f32[B=8, 65536]", device="M1", optimizer="adam")
    assert memory.verdict == "does not fit"


def test_the_largest_batch_leaves_as_much_again() -> None:
    largest = sw.largest_batch(
        nn.Linear(4096, 4096, device="meta"), "f32[B=8, 4096]", device="M1 8GB"
    )
    assert largest.is_exact
    memory = sw.memory(
        nn.Linear(4096, 4096, device="meta"),
        f"f32[B={largest.size + 1}, 4096]",
        device="M1 8GB",
    )
    assert memory.verdict == "tight"


def test_attention_has_its_scores() -> None:
    def attend(q: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(q, q, q).sum()

    scores = 2 * 4 * 512 * 512 * 4
    mac = sw.memory(attend, "f32[2, 4, 512, 8]", device="M3 Max")
    assert mac.peak.bytes > scores
    assert sw.memory(attend, "f32[2, 4, 512, 8]", device="cpu").peak.bytes < scores


def test_a_script_on_its_gpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(rows=2_000).replace("cuda", "mps"))
    assert main(["rehearse", "--device", "M3 Max 64GB", str(script)]) == 0
    text = capsys.readouterr().out
    assert "of 48.0 GiB to 81.6 GiB are left" in text
    assert "CUDA" not in text


def test_mps_alone_is_no_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "-i", "f32[2]", "--device", "mps", "x.py:net"]) == 2
    assert 'name its chip, "M3 Max 64GB"' in capsys.readouterr().err
