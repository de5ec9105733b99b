"""`-o memory.pickle` is a snapshot that torch's own reader reads; `-o memory.svg`."""

from __future__ import annotations

import itertools
import pickle
import pickletools
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from torch.cuda import _memory_viz

import shapewright as sw
from memory.families import Encoder, LanguageModel
from memory.test_what_if import desk
from shapewright.cli.main import main
from shapewright.record.memory import Memory
from shapewright.views.memory_snapshot import build_snapshot, write_snapshot
from shapewright.views.memory_timeline import draw_timeline_svg

__all__ = ["desk"]

OPCODES = set(
    "PROTO FRAME EMPTY_DICT EMPTY_LIST EMPTY_TUPLE MARK MEMOIZE BINGET LONG_BINGET "
    "SHORT_BINUNICODE BINUNICODE BININT BININT1 BININT2 LONG1 NEWFALSE NEWTRUE NONE "
    "SETITEM SETITEMS APPEND APPENDS TUPLE1 TUPLE2 TUPLE3 STOP".split()
)
"""What the reader of pytorch.org/memory_viz knows of pickles."""


@pytest.fixture(scope="module")
def memory() -> Memory:
    return sw.memory(Encoder(), "f32[B=512, 32, 64]", device="A100 40GB")


@pytest.fixture
def snapshot(memory: Memory) -> dict[str, Any]:
    loaded: dict[str, Any] = pickle.loads(write_snapshot(memory))
    return loaded


def test_the_page_can_read_its_pickle(memory: Memory) -> None:
    operations = {op.name for op, _, _ in pickletools.genops(write_snapshot(memory))}
    assert operations <= OPCODES


def test_torchs_reader_reads_it(snapshot: dict[str, Any], memory: Memory) -> None:
    text = _memory_viz.segsum(snapshot)
    assert f"segments: {len(snapshot['segments'])}\n" in text
    reserved = f"total_reserved: {_memory_viz.Bytes(memory.reserved)}\n"
    assert reserved in text
    assert "cudaMalloc(" in _memory_viz.trace(snapshot)
    assert "snapshot.pickle" in _memory_viz.trace_plot(snapshot)
    assert "snapshot.pickle" in _memory_viz.trace_plot(snapshot, plot_segments=True)
    assert "Allocator State History" in _memory_viz.segment_plot(snapshot)
    for flames in (_memory_viz.memory, _memory_viz.segments):
        assert "families.py" in flames(snapshot, format_flamegraph=str)


def test_the_timeline_has_the_peak(snapshot: dict[str, Any], memory: Memory) -> None:
    total, most, live = 0, 0, {}
    for entry in snapshot["device_traces"][0]:
        size = -(-entry["size"] // 512) * 512
        if entry["action"] == "alloc":
            assert entry["addr"] not in live
            live[entry["addr"]] = size
            total += size
        elif entry["action"] == "free_completed":
            assert live.pop(entry["addr"]) == size
            total -= size
        most = max(most, total)
    assert most == memory.peak.bytes
    blocks = [b for segment in snapshot["segments"] for b in segment["blocks"]]
    active = {b["address"]: b["size"] for b in blocks if b["state"] != "inactive"}
    assert active == live


def test_fields(snapshot: dict[str, Any]) -> None:
    trace = snapshot["device_traces"][0]
    assert {entry["action"] for entry in trace} == {
        "alloc", "free_requested", "free_completed", "segment_alloc",
    }  # fmt: skip
    for entry in trace:
        assert {"addr", "size", "stream", "frames", "category"} <= entry.keys()
        for frame in entry["frames"]:
            assert frame.keys() == {"filename", "line", "name"}
    assert "unknown" in {entry["category"] for entry in trace}  # the page needs one
    for segment in snapshot["segments"]:
        at = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == at
            at += block["size"]
        assert at == segment["address"] + segment["total_size"]
    bounds = sorted((s["address"], s["total_size"]) for s in snapshot["segments"])
    for (start, size), (following, _) in itertools.pairwise(bounds):
        assert start + size <= following


def test_a_requested_free_is_completed_at_once(snapshot: dict[str, Any]) -> None:
    trace = snapshot["device_traces"][0]
    for before, after in itertools.pairwise(trace):
        if before["action"] == "free_requested":
            assert after["action"] == "free_completed"
            assert after["addr"] == before["addr"]


def test_a_cpu_has_no_allocator_to_show() -> None:
    memory = sw.memory(LanguageModel().eval(), "i64[2, 8]", "i64[2, 8]")
    assert memory.allocator == ()
    assert build_snapshot(memory)["segments"] == []


def run_command(file: str, *more: str) -> int:
    return main(["memory", "-q", "-i", "f32[B=64, 64]", "-o", file, *more])


def test_files(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):  # what we wrote may be written again
        assert run_command("memory.pickle", "--device", "T4", "model.py:Net") == 0
        assert run_command("memory.svg", "--device", "T4", "model.py:Net") == 0
    snapshot = pickle.loads((desk / "memory.pickle").read_bytes())
    assert snapshot["segments"]
    ElementTree.parse(desk / "memory.svg")
    (desk / "other.pickle").write_bytes(pickle.dumps({"segments": []}))
    assert run_command("other.pickle", "--device", "T4", "model.py:Net") == 2
    assert "was not written by shapewright" in capsys.readouterr().err
    assert run_command("more.pickle", "model.py:Net") == 2
    assert "a snapshot is of a GPU's allocator" in capsys.readouterr().err


@pytest.mark.parametrize("device", ["cpu", "A100 40GB"])
@pytest.mark.parametrize("training", [True, False])
def test_a_picture(device: str, training: bool) -> None:
    memory = sw.memory(Encoder(), "f32[8, 32, 64]", device=device, training=training)
    text = draw_timeline_svg(memory)
    picture = ElementTree.fromstring(text)
    words = "".join(picture.itertext())
    phases = ["forward", "backward", "optimizer step"] if training else ["forward"]
    assert all(phase in words for phase in phases)
    kinds = [kind for kind, size in memory.peak.kinds.items() if size]
    assert all(f"{kind} " in words for kind in kinds)
    assert len(text) < 200_000


def test_a_picture_of_nothing() -> None:
    memory = sw.memory(Encoder(), "f32[8, 32, 65]")
    ElementTree.fromstring(draw_timeline_svg(memory))
