"""Several GPUs that are claimed: what is there, what `DataParallel` does on them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from shapewright.api import rehearse_script
from shapewright.inputs.errors import InputError
from tests.rehearsing.rehearsed import rehearsed

THERE = """\
    import torch
    from torch import nn
    assert torch.cuda.device_count() == torch.accelerator.device_count() == 2
    assert torch.cuda.get_device_properties(1).total_memory == 80 << 30
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert nn.Linear(3, 3).to(1).weight.device == torch.device("cuda:1")
    assert torch.ones(3).cuda(1).device.index == 1
    with torch.cuda.device(1):
        assert torch.zeros(3, device="cuda").device.index == 1
    assert torch.zeros(3, device="cuda").device.index == 0
    torch.cuda.set_device(1)
    assert torch.cuda.current_device() == 1
    assert torch.ones(3).cuda().device == torch.device("cuda", 1)
    """


@pytest.mark.parametrize("device", ["2x H100 80GB", "2xH100 80GB", "2 x NVIDIA H100"])
def test_as_many_are_there_as_are_claimed(tmp_path: Path, device: str) -> None:
    report = rehearsed(tmp_path, THERE, device=device)
    assert [each.message for each in report.findings] == []
    assert report.complete


ABSENT = (
    "torch.ones(3).to('cuda:2')",
    "torch.ones(3).cuda(2)",
    "torch.ones(3, device='cuda:2')",
    "torch.ones_like(torch.ones(3), device='cuda:2')",
    "torch.nn.Linear(2, 2).to('cuda:2')",
    "torch.cuda.set_device(2)",
    "torch.cuda.device(2).__enter__()",
)


@pytest.mark.parametrize("call", ABSENT)
def test_one_that_is_not_there_is_refused(tmp_path: Path, call: str) -> None:
    report = rehearsed(tmp_path, f"import torch\n{call}\n", device="2x cuda")
    (found,) = report.findings
    assert found.span is not None
    assert found.span.line == 2
    assert "invalid device ordinal" in f"{found.message} {found.torch_message}"


@pytest.mark.parametrize("device", ["0x H100", "2x cpu", "3x mps", "2x H1000"])
def test_machines_that_nobody_has_are_refused(tmp_path: Path, device: str) -> None:
    (tmp_path / "train.py").write_text("")
    with pytest.raises(InputError):
        rehearse_script(str(tmp_path / "train.py"), (), device=device)


SPLIT = """\
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 4)
            self.norm = nn.BatchNorm1d(4)

        def forward(self, x):
            print("part", len(x), x.device, self.fc.weight.device)
            return self.norm(self.fc(x)){more}


    net = nn.DataParallel(Net().cuda())
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for x in torch.randn(3, {count}, 8):
        out = net(x)
        loss = out.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("out", tuple(out.shape), out.device, list(net.state_dict())[:2])
    """


def split(count: int = 33, more: str = "") -> str:
    return SPLIT.replace("{count}", str(count)).replace("{more}", more)


def test_a_batch_is_split_among_devices(tmp_path: Path, capfd: object) -> None:
    report = rehearsed(tmp_path, split(), device="2x cuda")
    assert [each.message for each in report.findings] == []
    said = capfd.readouterr().err  # type: ignore[attr-defined]
    assert "part 17 cuda:0 cuda:0\npart 16 cuda:1 cuda:1\n" in said
    assert "out (33, 4) cuda:0 ['module.fc.weight', 'module.fc.bias']" in said


def test_on_one_device_it_is_whole(tmp_path: Path, capfd: object) -> None:
    report = rehearsed(tmp_path, split(), device="cuda")
    assert [each.message for each in report.findings] == []
    assert "part 33 cuda:0 cuda:0" in capfd.readouterr().err  # type: ignore[attr-defined]


@pytest.mark.long
def test_a_part_of_one_sample_breaks_batch_norm(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, split(3), device="2x cuda")
    (found,) = report.findings
    assert found.code == "one-value-per-channel"
    assert found.span is not None
    assert found.span.line == 13


def test_a_tensor_put_on_the_first_device_is_found_on_the_second(
    tmp_path: Path,
) -> None:
    wrong = split(more=' + torch.ones(4, device="cuda:0")')
    assert rehearsed(tmp_path, wrong, device="cuda").findings == ()
    (found,) = rehearsed(tmp_path, wrong, device="2x cuda").findings
    assert (found.code, found.span and found.span.line) == ("mixed-devices", 13)


def test_a_loss_made_in_the_module_is_one_for_each_device(tmp_path: Path) -> None:
    text = split(more=".mean()").replace("loss = out.pow(2).mean()", "loss = out")
    assert rehearsed(tmp_path, text, device="cuda").findings == ()
    (found,) = rehearsed(tmp_path, text, device="2x cuda").findings
    assert "only for scalar outputs" in f"{found.message} {found.torch_message}"


def test_a_model_that_is_not_on_the_first_device_is_refused(tmp_path: Path) -> None:
    text = split().replace("Net().cuda()", "Net()")
    assert rehearsed(tmp_path, text, device="cuda").findings == ()
    (found,) = rehearsed(tmp_path, text, device="2x cuda").findings
    assert "module must have its parameters and buffers on device" in found.message


SLICED = """\
    import torch
    from torch import nn


    class Stem(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(20, 8)
            self.places = nn.Parameter(torch.zeros(1, 16, 8))
            self.head = nn.Linear(8, 20)

        def forward(self, x):
            return self.head(self.embedding(x) + self.places[:, :12])


    net = Stem().cuda()
    x = torch.randint(0, 20, (4, 12), device="cuda")
    net(x).sum().backward()
    with torch.no_grad():
        assert net(x).device == net.places[0].relu().device == x.device
    """


def test_a_slice_of_a_parameter_stays_on_its_device_in_evaluation(
    tmp_path: Path,
) -> None:
    report = rehearsed(tmp_path, SLICED, device="cuda")
    assert [each.message for each in report.findings] == []


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("layer", [
    "nn.MultiheadAttention(8, 2, dropout=0.1)",
    "nn.TransformerEncoderLayer(8, 2, 16)",
    "nn.TransformerDecoderLayer(8, 2, 16)",
])  # fmt: skip
def test_attention_trains_under_autocast(
    tmp_path: Path, layer: str, device: str
) -> None:
    text = f"""\
        import torch
        from torch import nn
        layer = {layer}.to("{device}")
        optimizer = torch.optim.AdamW(layer.parameters())
        x = torch.randn(5, 3, 8, device="{device}")
        count = 3 if "Multihead" in type(layer).__name__ else 1
        more = [x] if "Decoder" in type(layer).__name__ else []
        for step in range(3):
            with torch.autocast("{device}", dtype=torch.bfloat16):
                out = layer(*[x] * count, *more)
            out = out[0] if isinstance(out, tuple) else out
            optimizer.zero_grad()
            out.float().mean().backward()
            optimizer.step()
        assert all(each.grad.dtype == torch.float32 for each in layer.parameters())
        print("dtype", out.dtype)
        """
    report = rehearsed(tmp_path, text, device=device)
    assert [each.message for each in report.findings] == []


def test_a_batch_that_is_fetched_on_another_stream(tmp_path: Path) -> None:
    text = """\
        import torch
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            x = torch.ones(3).cuda(non_blocking=True)
        torch.cuda.current_stream().wait_stream(stream)
        x.record_stream(torch.cuda.current_stream())
        assert (x + 1).device.type == "cuda"
        """
    assert rehearsed(tmp_path, text, device="cuda").findings == ()
    assert "record_stream" not in vars(torch.Tensor)


@pytest.mark.parametrize(
    ("lines", "fix"),
    [
        (
            "return hits / torch.FloatTensor([len(gold)])",
            "`torch.FloatTensor([len(gold)]).to(hits.device)`",
        ),
        (
            "weights = torch.Tensor([1.0, 2.0, 4.0])\n    return hits * weights",
            "`torch.Tensor([1.0, 2.0, 4.0]).to(hits.device)`",
        ),
        (
            "return hits / torch.tensor([len(gold)])",
            "`torch.tensor([len(gold)], device=hits.device)`",
        ),
    ],
    ids=["one number on a GPU", "a name", "a factory"],
)
def test_a_tensor_of_a_legacy_type_is_moved(
    tmp_path: Path, lines: str, fix: str
) -> None:
    text = f"""
import torch

def count(scores, gold):
    hits = (scores.argmax(1) == gold).sum()
    {lines}

count(torch.randn(8, 3).cuda(), torch.randint(3, (8,)).cuda())
"""
    (finding,) = rehearsed(tmp_path, text, device="cuda").findings
    assert finding.code == "mixed-devices"
    assert "makes it" in finding.message
    assert finding.fixes[0].message == fix


MOVED = """\
    import torch
    from torch import nn

    place, other = torch.device("cpu"), torch.device("cuda")
    net = nn.Sequential(nn.Linear(3, 2)).MOVE
    net(torch.rand(4, 3).to(other))
    """


@pytest.mark.parametrize(
    ("move", "why"),
    [
        ("to(place)", "was moved to `place`, which is another device"),
        ("train().to(place)", "was moved to `place`, which is another device"),
        ("train()", "was never moved"),
    ],
)
def test_a_model_that_was_moved_elsewhere_is_not_called_unmoved(
    tmp_path: Path, move: str, why: str
) -> None:
    report = rehearsed(tmp_path, MOVED.replace("MOVE", move), device="cuda")
    (found,) = report.findings
    assert found.code == "mixed-devices"
    assert why in found.message


STATES = """\
import torch
from torch import nn

class Cell(nn.Module):
    def __init__(self, hidden=4):
        super().__init__()
        self.take = nn.Linear(3, hidden)
        {built}
    def restart(self):
        self.h, self.c = torch.zeros_like(self.h), torch.ones_like(self.c)
    def forward(self, x):
        {first}
        h = self.take(x) + self.h
        c = torch.sigmoid(h) * self.c
        self.h, self.c = h.detach(), c.detach()
        return c

cell = Cell().to("cuda")
for _ in range(2):
    cell(torch.rand(8, 3, device="cuda")).sum().backward()
"""
PLAIN = "self.h = torch.zeros(8, hidden)\n        self.c = torch.ones(8, hidden)"
KEPT = (
    'self.register_buffer("h", torch.zeros(8, hidden))\n'
    '        self.register_buffer("c", torch.ones(8, hidden))'
)


@pytest.mark.parametrize("first", ["self.restart()", "pass"])
def test_plain_tensors_of_a_module_become_buffers_together(
    tmp_path: Path, first: str
) -> None:
    text = STATES.format(built=PLAIN, first=first)
    (finding,) = rehearsed(tmp_path, text, device="cuda").findings
    assert "`self.h` is no parameter or buffer, so `.to()` does not" in finding.message
    (fix,) = finding.fixes
    assert [edit.text for edit in fix.edits] == KEPT.split("\n        ")


@pytest.mark.parametrize("first", ["self.restart()", "pass"])
def test_states_that_are_buffers_are_quiet(tmp_path: Path, first: str) -> None:
    text = STATES.format(built=KEPT, first=first)
    assert not rehearsed(tmp_path, text, device="cuda").findings
