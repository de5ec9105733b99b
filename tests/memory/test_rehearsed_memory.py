"""The memory of rehearsed scripts: its numbers, and where a GPU has no room."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import shapewright as sw
from memory.families import ConvNet, Encoder, Mlp
from shapewright.api import rehearse_script
from shapewright.findings.finding import Finding
from shapewright.record.memory import BACKWARD, EVALUATION, FORWARD, SETUP, STEP
from shapewright.record.rehearsed_memory import RehearsedMemory
from shapewright.record.report import Report

HEAD = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __init__(self, width, count=4000):
        self.width, self.count = width, count
    def __len__(self):
        return self.count
    def __getitem__(self, index):
        return torch.randn(self.width), index % 10
    def __getitems__(self, indices):
        return [(torch.randn(self.width), 0)] * len(indices)

def join(items):
    return torch.randn(len(items), len(items[0][0])), torch.zeros(len(items)).long()

device = "cuda" if torch.cuda.is_available() else "cpu"

def build(width, depth):
    layers = [nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(depth)]
    return nn.Sequential(*layers, nn.Linear(width, 10)).to(device)

def train(model, loader, optimizer):
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
"""
LAST = HEAD.count("\n")


def rehearse(
    folder: Path,
    text: str,
    device: str = "RTX 4090",
    memory: bool | None = None,
    head: str = HEAD,
) -> Report:
    file = folder / "train.py"
    file.write_text(head + dedent(text))
    return rehearse_script(str(file), (), device=device, timeout=120, memory=memory)


def get_memory(report: Report) -> RehearsedMemory:
    assert report.rehearsal is not None
    assert report.rehearsal.memory is not None
    return report.rehearsal.memory


def find_shortage(report: Report) -> Finding:
    (finding,) = (f for f in report.findings if f.code == "out-of-memory")
    return finding


def find_phase_peaks(memory: RehearsedMemory, turn: int, line: int) -> dict[str, int]:
    """Return the most bytes in each phase of a turn of the loop at a line."""
    sizes: dict[int, int] = {}
    peaks: dict[str, int] = {}
    total = 0
    for event in memory.run.events.events:
        total += event.bytes - sizes.get(event.storage, 0)
        sizes[event.storage] = event.bytes
        at = memory.run.get_turn(event.step)
        if at is not None and (at.number, at.line) == (turn, line):
            peaks.setdefault(event.phase, 0)
            peaks[event.phase] = max(peaks[event.phase], total)
    return peaks


def test_a_step_that_fits(tmp_path: Path) -> None:
    report = rehearse(
        tmp_path,
        """
        model = build(1000, 2)
        loader = DataLoader(Data(1000), 512, collate_fn=join)
        train(model, loader, torch.optim.AdamW(model.parameters()))
        """,
    )
    assert report.ok
    memory = get_memory(report)
    assert memory.device == "RTX 4090 24GB"
    assert memory.verdict == "fits"
    assert memory.peak.phase == STEP
    assert memory.total is not None
    assert memory.reserved is not None
    assert memory.total.low > memory.reserved >= memory.peak.bytes
    parameters = 4 * (2 * 1001 * 1000 + 1001 * 10)
    kinds = memory.peak.kinds
    for kind, times in (("parameters", 1), ("gradients", 1), ("optimizer", 2)):
        assert times * parameters <= kinds[kind] <= times * parameters + 8000, kind
    # pixels in float32, labels in int64
    assert kinds["inputs"] == 512 * 1000 * 4 + 512 * 8


@pytest.mark.long
def test_the_second_step_does_not_fit(tmp_path: Path) -> None:
    report = rehearse(
        tmp_path,
        """
        model = build(8192, 16)
        loader = DataLoader(Data(8192, 80_000), 20_480, collate_fn=join)
        train(model, loader, torch.optim.Adam(model.parameters()))
        """,
    )
    finding = find_shortage(report)
    assert finding.severity == "error"
    assert finding.message == (
        "`RTX 4090 24GB` is full in a forward pass: 24.2 GiB or more are needed,"
        " 23.6 GiB are there"
    )
    assert finding.line == LAST - 2  # the forward pass
    assert "in turn 2 of 4 of this loop" in finding.related[0].message
    assert finding.related[0].span.line == LAST - 5
    shortage = get_memory(report).shortage
    assert shortage is not None
    assert shortage.moment.kinds["optimizer"] > 8 * 2**30
    assert get_memory(report).verdict == "does not fit"
    assert report.exit_code == 1


@pytest.mark.long
def test_the_batch_that_it_names_fits(tmp_path: Path) -> None:
    text = """
        model = build(8192, 16)
        loader = DataLoader(Data(8192, 80_000), 20_480, collate_fn=join)
        train(model, loader, torch.optim.Adam(model.parameters()))
        """
    report = rehearse(tmp_path, text)
    batch = get_memory(report).largest_batch
    assert batch is not None
    assert 8_000 < batch.size < 20_480
    place = f"{tmp_path / 'train.py'}:{LAST + 3}"
    words = f"{batch.size:,} as `batch_size` at {place} fits"
    assert any(line.startswith(words) for line in find_shortage(report).lines)
    report = rehearse(tmp_path, text.replace("20_480", str(batch.size)))
    assert report.ok
    assert get_memory(report).verdict == "fits"
    report = rehearse(tmp_path, text.replace("16)", "26)").replace("20_480", "64"))
    batch = get_memory(report).largest_batch
    assert batch is not None
    assert batch.size == 0
    assert any(line.startswith("not even 1 as") for line in find_shortage(report).lines)


EVALUATION_WITH_GRAPH = """
model = build(2048, 16)
loader = DataLoader(Data(2048), 2048, collate_fn=join)
train(model, loader, torch.optim.Adam(model.parameters()))
model.eval()
outputs = []
for x, y in DataLoader(Data(2048, 400_000), 100_000, collate_fn=join):
    outputs.append(model(x.to(device)))
"""


@pytest.mark.long
def test_an_evaluation_with_gradients_does_not_fit(tmp_path: Path) -> None:
    report = rehearse(tmp_path, EVALUATION_WITH_GRAPH)
    finding = find_shortage(report)
    assert "is full in an evaluation" in finding.message
    assert "in turn 2 of 4 of this loop" in finding.related[0].message
    assert any("`with torch.no_grad():`" in line for line in finding.lines)
    assert get_memory(report).largest_batch is None  # of no use: it was not looked for
    quiet = EVALUATION_WITH_GRAPH.replace(
        "for x, y in DataLoader",
        "torch.set_grad_enabled(False)\nfor x, y in DataLoader",
    )
    report = rehearse(tmp_path, quiet)
    assert report.ok
    assert get_memory(report).verdict == "fits"


def test_a_model_that_does_not_fit_at_all(tmp_path: Path) -> None:
    report = rehearse(tmp_path, "model = build(16_384, 24)\n", "T4")
    finding = find_shortage(report)
    assert "before any training" in finding.message
    assert finding.torch_message.startswith("CUDA out of memory. Tried to allocate")


def test_what_is_not_known_is_a_warning(tmp_path: Path) -> None:
    # 15 GiB of 14.9 to 16 GiB: what a V100 leaves to a program is not known
    report = rehearse(
        tmp_path, "x = torch.empty(15 << 28, device=device)\n", "V100", head=HEAD
    )
    finding = find_shortage(report)
    assert finding.severity == "warning"
    assert "may be full" in finding.message
    assert get_memory(report).verdict == "tight"


def test_tensors_on_the_cpu_do_not_count(tmp_path: Path) -> None:
    report = rehearse(
        tmp_path,
        """
        data = torch.randn(1 << 36)  # 256 GiB
        part = data[:1000].to(device)
        """,
    )
    memory = get_memory(report)
    assert memory.peak.bytes == 4096  # 4,000, in blocks of 512
    assert memory.verdict == "fits"


@pytest.mark.parametrize(
    ("device", "memory", "is_recorded"),
    [
        ("cpu", None, False), ("cuda", None, False), ("RTX 4090", None, True),
        ("RTX 4090", False, False), ("cuda", True, True), ("cpu", True, True),
    ],
)  # fmt: skip
def test_when_memory_is_recorded(
    tmp_path: Path, device: str, memory: bool | None, is_recorded: bool
) -> None:
    report = rehearse(
        tmp_path, "x = torch.zeros(1000, 1000, device=device)\n", device, memory
    )
    assert report.rehearsal is not None
    assert (report.rehearsal.memory is not None) == is_recorded
    if report.rehearsal.memory is not None:
        assert report.rehearsal.memory.peak.bytes >= 4_000_000
        named = device not in ("cpu", "cuda")
        assert (report.rehearsal.memory.capacity is not None) == named


MODELS = {
    "mlp": (Mlp, "f32[128, 64]"),
    "conv": (ConvNet, "f32[16, 3, 32, 32]"),
    "encoder": (Encoder, "f32[8, 32, 64]"),
}


@pytest.mark.long
@pytest.mark.parametrize("device", ["cpu", "RTX 4090", "T4"])
@pytest.mark.parametrize("name", MODELS)
def test_a_script_takes_what_its_step_takes(
    tmp_path: Path, name: str, device: str
) -> None:
    """The second turn of a loop takes what `shapewright memory` counts for a step.

    What differs are the labels, in int64, and the gradients of the step before, which
    `memory` clears before forward too.
    """
    kind, spec = MODELS[name]
    shape = spec[4:-1]
    batch = int(shape.split(",")[0])
    report = rehearse(
        tmp_path,
        f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        import torch
        from memory.families import {kind.__name__}
        device = "cuda" if torch.cuda.is_available() else "cpu"
        model = {kind.__name__}().to(device)
        optimizer = torch.optim.AdamW(model.parameters())
        x = torch.empty({shape}, device=device)
        y = torch.zeros({batch}, dtype=torch.long, device=device)
        for step in range(100):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            del loss
        """,
        device,
        True,
        head="",
    )
    rehearsed = get_memory(report)
    peaks = find_phase_peaks(rehearsed, 2, 11)
    targets = torch.zeros(batch, dtype=torch.long)
    step = sw.memory(
        kind(),
        spec,
        device=device,
        loss=lambda output: F.cross_entropy(output, targets),
    )
    expected: dict[str, int] = {}
    sizes: dict[int, int] = {}
    total = 0
    for event in step.events.events:
        total += event.bytes - sizes.get(event.storage, 0)
        sizes[event.storage] = event.bytes
        if event.step == 2:
            expected[event.phase] = max(expected.get(event.phase, 0), total)
    for phase in (FORWARD, BACKWARD, STEP):
        assert abs(peaks[phase] - expected[phase]) <= 8 * batch + 1024, phase


def test_phases_and_turns(tmp_path: Path) -> None:
    report = rehearse(
        tmp_path,
        """
        model = build(64, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for epoch in range(3):
            train(model, DataLoader(Data(64), 128, collate_fn=join), optimizer)
            model.eval()
            with torch.no_grad():
                for x, y in DataLoader(Data(64), 128, collate_fn=join):
                    model(x.to(device))
            model.train()
        """,
    )
    run = get_memory(report).run
    seen = {
        (turn.line, event.phase)
        for event in run.events.events
        if (turn := run.get_turn(event.step)) is not None and event.action == "allocate"
    }
    assert {(LAST - 5, FORWARD), (LAST - 5, BACKWARD)} <= seen
    assert (LAST + 8, EVALUATION) in seen
    assert (LAST + 8, FORWARD) not in seen
    numbers = {t.number for t in run.turns if t.line == LAST - 5}
    assert numbers == {1, 2, 32}
    assert run.events.events[0].phase == SETUP


@pytest.mark.long
def test_findings_are_the_same_with_and_without(tmp_path: Path) -> None:
    text = """
        model = build(64, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        losses = []
        for x, y in DataLoader(Data(64), 128, collate_fn=join):
            loss = nn.functional.cross_entropy(model(x.to(device)), y)
            loss.backward()
            optimizer.step()
            losses.append(loss)
        """
    reports = [rehearse(tmp_path, text, memory=memory) for memory in (True, False)]
    with_memory, without = (
        [(f.code, f.span, f.message, f.count) for f in report.findings]
        for report in reports
    )
    assert with_memory == without
    assert len(without) > 1


GROWING = """
model = build(2048, 16)
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(3):
    losses = []
    for x, y in DataLoader(Data(2048, 200_000), 256, collate_fn=join):
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward(retain_graph=True)
        optimizer.step()
        losses.append(loss)
"""
PER_TURN = 17 * 2 << 20
"""The input, and the output of each of 16 layers: 256 x 2048 in float32."""


@pytest.mark.long
def test_losses_kept_with_their_graphs_fill_the_device(tmp_path: Path) -> None:
    report = rehearse(tmp_path, GROWING, "T4")
    (finding,) = report.findings
    assert finding.code == "graph-kept"
    assert finding.severity == "error"
    (growth,) = get_memory(report).growth
    assert PER_TURN < growth.bytes < 1.01 * PER_TURN
    assert growth.count == 782  # of each epoch: the list is emptied
    # 14.75 GiB without the context, and 20 bytes for each parameter in a step
    assert growth.full_from is not None
    assert growth.full_at is not None
    room = 14.75 * 2**30 - 300 * 2**20 - 20 * 16 * 2048 * 2049
    assert abs(growth.full_at - room / growth.bytes) < 2
    turns = f"in turn {growth.full_from} to {growth.full_at} of 782"
    assert finding.message.endswith(
        f"with 34.0 MiB in each turn, `T4 16GB` is full {turns}"
    )
    assert finding.fixes[0].message == "`loss.item()`"
    assert get_memory(report).verdict == "does not fit"


@pytest.mark.long
def test_a_list_that_is_never_emptied_counts_all_epochs(tmp_path: Path) -> None:
    kept = GROWING.replace("    losses = []\n", "").replace(
        "for ep", "losses = []\nfor ep"
    )
    (growth,) = get_memory(rehearse(tmp_path, kept, "T4")).growth
    assert growth.count == 3 * 782


@pytest.mark.long
def test_what_grows_but_fits_stays_a_warning(tmp_path: Path) -> None:
    report = rehearse(tmp_path, GROWING.replace("200_000", "10_000"), "T4")
    (finding,) = report.findings
    assert finding.severity == "warning"
    assert finding.message.endswith("is held until the loop ends")
    assert finding.lines == ("34.0 MiB more with each turn, for which there is room",)
    assert get_memory(report).verdict == "fits"


def test_outputs_without_a_graph_fill_the_device_too(tmp_path: Path) -> None:
    text = """
        model = build(2048, 4).eval()
        features = []
        for x, y in DataLoader(Data(2048, 400_000), 2048, collate_fn=join):
            with torch.no_grad():
                features.append(model[:2](x.to(device)).repeat(1, 20))
        """
    report = rehearse(tmp_path, text, "T4")
    (finding,) = report.findings
    assert finding.code == "out-of-memory"
    assert finding.severity == "error"
    assert finding.line == LAST + 4
    assert "each turn of this loop keeps 320.0 MiB more" in finding.message
    assert finding.message.endswith("of 196")
    on_cpu = text.replace(".repeat(1, 20)", ".repeat(1, 20).cpu()")
    report = rehearse(tmp_path, on_cpu, "T4")
    assert report.ok
    assert get_memory(report).growth == ()


def test_batches_that_become_longer_are_no_growth(tmp_path: Path) -> None:
    report = rehearse(
        tmp_path,
        """
        model = build(64, 1)
        for step, (x, y) in enumerate(DataLoader(Data(64), 128, collate_fn=join)):
            x = x.to(device).repeat(10 + step, 1)
            loss = model(x).mean()
            loss.backward()
        """,
    )
    assert get_memory(report).growth == ()


def test_autocast_is_followed(tmp_path: Path) -> None:
    text = """
        model = build(2048, 4)
        x = torch.randn(4096, 2048, device=device)
        for step in range(10):
            model(x).sum().backward()
        """
    whole = get_memory(rehearse(tmp_path, text)).peak.kinds["activations"]
    cast = text.replace("model(x).sum()", 'cast(model, x).sum()').replace(
        "for step", "cast = torch.autocast('cuda', torch.bfloat16)(lambda m, x: m(x))"
        "\n        for step",
    )  # fmt: skip
    half = get_memory(rehearse(tmp_path, cast)).peak.kinds["activations"]
    # the casts of three weights are saved too: 2048 x 2048 in bfloat16, and the head's
    casts = 3 * 2048 * 2048 * 2 + 2048 * 10 * 2
    assert abs(half - casts - whole / 2) < 0.02 * whole


def test_a_small_input_lives_as_long_as_the_graph_that_saves_it(tmp_path: Path) -> None:
    report = rehearse(
        tmp_path,
        """
        weight = torch.randn(100, 100, device=device, requires_grad=True)
        kept = []
        for x, y in DataLoader(Data(100, 500), 50, collate_fn=join):
            kept.append((x.to(device) @ weight).sum())
            kept[-1].backward(retain_graph=True)
        """,
    )
    (growth,) = get_memory(report).growth
    assert growth.bytes == 50 * 100 * 4 + 480 + 512  # the input, and the sum


@pytest.mark.long
def test_parameters_that_a_real_run_shards_have_no_verdict(tmp_path: Path) -> None:
    report = rehearse(
        tmp_path,
        """
        from torch.distributed.fsdp import fully_shard
        torch.distributed.init_process_group("nccl", rank=0, world_size=8)
        model = build(16_384, 24)
        fully_shard(model)
        model(torch.randn(4, 16_384, device=device)).sum().backward()
        """,
        "T4",
    )
    memory = get_memory(report)
    assert memory.capacity is None
    assert memory.verdict == ""
    assert any("whether it fits is not known" in note for note in memory.notes)
    assert not any(finding.code == "out-of-memory" for finding in report.findings)


def test_an_error_ends_the_count_and_is_told(tmp_path: Path) -> None:
    report = rehearse(
        tmp_path,
        """
        x = torch.zeros(1000, 1000, device=device)
        raise ValueError("no such file")
        """,
    )
    memory = get_memory(report)
    assert memory.run.ended_early
    assert memory.verdict == ""
    assert memory.peak.bytes >= 4_000_000


@pytest.mark.long
def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HEAD + "model = build(16_384, 24)\n")
    command = [sys.executable, "-m", "shapewright", "rehearse", "--device", "T4"]
    ended = subprocess.run(
        [*command, "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "\nmemory       " in ended.stdout
    assert "\nfits         no: " in ended.stdout
    assert "error[out-of-memory]: `T4 16GB` is full before any training" in ended.stdout
    ended = subprocess.run(
        [*command, "--no-memory", "--format", "json", "train.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["memory"] is None
    ended = subprocess.run(
        [*command, "--format", "json", "train.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    data = json.loads(ended.stdout)
    assert data["memory"]["verdict"] == "does not fit"
    assert data["memory"]["shortage"]["sure"]
    assert data["findings"][0]["code"] == "out-of-memory"


def test_the_program_prints_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    report = rehearse(
        tmp_path,
        """
        model = build(1000, 2)
        loader = DataLoader(Data(1000), 512, collate_fn=join)
        train(model, loader, torch.optim.AdamW(model.parameters()))
        print("trained")
        """,
    )
    assert get_memory(report).peak.bytes
    assert "".join(capfd.readouterr()).count("trained") == 1


def test_files_that_are_saved_take_no_memory(tmp_path: Path) -> None:
    text = """
        model = build(1000, 2)
        optimizer = torch.optim.AdamW(model.parameters())
        for epoch in range(4):
            train(model, DataLoader(Data(1000), 512, collate_fn=join), optimizer)
            {save}
        """
    save = (
        "torch.save({'model': model.state_dict(), 'x': optimizer.state_dict()}, 'c.pt')"
    )
    peaks = [
        get_memory(rehearse(tmp_path, text.format(save=each))).peak.bytes
        for each in (save, "pass")
    ]
    assert peaks[0] == peaks[1]


def test_a_step_without_a_module_has_activations(tmp_path: Path) -> None:
    report = rehearse(
        tmp_path,
        """
        weight = torch.randn(4096, 4096, device="cuda", requires_grad=True)
        for step in range(3):
            x = torch.randn(600_000, 4096, device="cuda")
            loss = (x @ weight).exp().square().mean()
            loss.backward()
            weight.grad = None
        """,
        head="import torch\n",
    )
    assert "activations 9.2 GiB" in find_shortage(report).lines[0]


def test_weights_that_are_cast_on_the_device_are_freed(tmp_path: Path) -> None:
    """`model.to("cuda")`, then `.to(torch.bfloat16)`: the first weights are gone."""
    head = "import torch\nfrom torch import nn\n"
    text = """
        model = nn.Linear(1000, 1000, bias=False)
        model.to("cuda")
        model.to(torch.bfloat16)
        x = torch.zeros(1, 1000, dtype=torch.bfloat16, device="cuda")
        model(x).sum().backward()
        """
    memory = get_memory(rehearse(tmp_path, text.replace("1000", "4000"), head=head))
    assert memory.peak.phase == SETUP, "the cast holds both"
    assert memory.peak.bytes == round_up(64_000_000) + round_up(32_000_000)
    live: dict[int, int] = {}
    for event in memory.run.events.events:
        if event.phase == BACKWARD:
            break
        live[event.storage] = event.bytes
    assert sum(live.values()) < 41_000_000, "one copy, and a workspace"


def round_up(size: int) -> int:
    return -(-size // 512) * 512


DISTRIBUTED = """
    from torch.nn.parallel import DistributedDataParallel
    torch.distributed.init_process_group("gloo", rank=0, world_size=2)
    layers = [nn.Linear(2000, 2000).to(0) for _ in range(20)]
    model = DistributedDataParallel(nn.Sequential(*layers), device_ids=[0]{more})
    """
LAYERS = 20 * (round_up(2000 * 2000 * 4) + round_up(2000 * 4))


def test_gradients_under_ddp_are_there_twice(tmp_path: Path) -> None:
    """What the reducer sends is copied into buckets, besides `.grad`."""
    text = dedent(DISTRIBUTED).format(more="")
    memory = get_memory(rehearse(tmp_path, text, "V100"))
    assert memory.peak.kinds["parameters"] == LAYERS
    assert 0 <= memory.peak.kinds["gradients"] - 20 * 4 * (2000 * 2000 + 2000) < 20_000
    text += "model(torch.randn(20, 2000).to(0)).sum().backward()\n"
    memory = get_memory(rehearse(tmp_path, text, "V100"))
    assert abs(memory.peak.kinds["gradients"] - 2 * LAYERS) < 40_000


def test_gradients_that_are_views_of_buckets_are_there_once(tmp_path: Path) -> None:
    text = dedent(DISTRIBUTED).format(more=", gradient_as_bucket_view=True")
    text += "model(torch.randn(20, 2000).to(0)).sum().backward()\n"
    memory = get_memory(rehearse(tmp_path, text, "V100"))
    assert memory.peak.kinds["gradients"] == LAYERS


def test_a_block_has_what_is_left_of_its_segment(tmp_path: Path) -> None:
    """`max_memory_allocated` counts blocks: 16,000,000 bytes take all of 16 MiB."""
    text = "layers = [nn.Linear(2000, 2000).to(device) for _ in range(20)]"
    memory = get_memory(rehearse(tmp_path, text, "V100"))
    assert memory.peak.bytes == LAYERS
    assert memory.allocated is not None
    assert memory.allocated // 10**6 == 335  # what a tutorial of torch prints


def test_every_turn_takes_the_same_under_autocast(tmp_path: Path) -> None:
    """Targets with values that were seen as a view keep them: losses run alike."""
    report = rehearse(
        tmp_path,
        """
        model = build(64, 1)
        head = nn.Linear(10, 5000).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scope = torch.autocast(device, torch.bfloat16)
        data = torch.arange(5000)
        for step in range(40):
            starts = torch.randint(4000, (8,))
            y = torch.stack([data[i : i + 16] for i in starts])
            y = y.pin_memory().to(device, non_blocking=True)
            x = torch.randn(8, 16, 64, device=device)
            with scope:
                z = head(model(x))
                loss = F.cross_entropy(z.view(-1, 5000), y.view(-1), ignore_index=-1)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        """,
        head=HEAD + "import torch.nn.functional as F\n",
    )
    memory = get_memory(report)
    line = next(t.line for t in memory.run.turns if t.trains)
    turns = [t.number for t in memory.run.turns if t.line == line]
    peaks = [find_phase_peaks(memory, number, line)[BACKWARD] for number in turns]
    whole = 8 * 16 * 5000 * 4
    assert len(turns) > 2
    assert peaks[1:] == [peaks[1]] * (len(peaks) - 1)
    assert peaks[0] > 3 * whole
    assert not any("not recorded" in note for note in memory.notes)


def test_a_function_takes_what_its_script_takes() -> None:
    def train(rows: int = 512, device: str = "cuda") -> None:
        model = nn.Linear(256, 256).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        kept = []
        for _ in range(100_000):
            loss = model(torch.zeros(rows, 256, device=device)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            kept.append(model(torch.zeros(rows, 256, device=device)))

    report = sw.rehearse(train, device="T4", steps=1)
    assert report.rehearsal is not None
    assert report.rehearsal.memory is not None
    assert report.rehearsal.memory.peak.kinds["parameters"] == 257 * 1024
    (finding,) = report.findings
    assert finding.code == "graph-kept"
    assert "`T4 16GB` is full in turn" in finding.message
    quiet = sw.rehearse(train, device="cuda", steps=1).rehearsal
    assert quiet is not None
    assert quiet.memory is None


def test_what_was_there_before_a_function_is_told_of() -> None:
    model = nn.Linear(64, 64)
    before = model.weight.clone()

    def step(x: torch.Tensor) -> None:
        model(x).sum().backward()

    report = sw.rehearse(step, "f32[8, 64]", memory=True)
    assert report.rehearsal is not None
    memory = report.rehearsal.memory
    assert memory is not None
    assert memory.peak.kinds["gradients"] == 65 * 256
    assert any("before the call" in note for note in memory.notes)
    assert model.weight.grad is None
    assert torch.equal(model.weight, before)
