"""Models that are built otherwise than when they were saved, parameters that are given
row by row, soft targets, states made before a model is moved.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.api import rehearse_script
from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import itertools
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

"""
ROWS = """
net, other = nn.Linear(6, 4), nn.Linear(4, 1)
shift = torch.zeros(2, requires_grad=True)
optimizer = torch.optim.Adam({parameters}, lr=1e-3)
x = torch.randn(5, 6)
for _ in range(2):
    optimizer.zero_grad()
    (other(net(x)) * shift.sum()).mean().backward()
    optimizer.step()
"""
LATE = """
class Scale(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps
        self.norm = nn.LayerNorm(8)

    def {method}(self, x):
        width = x.size(-1)
        self.linear = nn.Linear(width, width, bias=False)
        return {result}

{more}
net = nn.Sequential(nn.Linear(6, 8), Scale(3), nn.Linear(8, 1))
x = torch.randn(5, 6)
net(x)
with tempfile.TemporaryDirectory() as folder:
    torch.save(net.state_dict(), folder + "/net.pt")
    restored = nn.Sequential(nn.Linear(6, 8), Scale(3), nn.Linear(8, 1))
    restored.load_state_dict(torch.load(folder + "/net.pt"))
restored(x)
"""
FLAG = """
class Embedder(nn.Module):
    def __init__(self, waves={default}):
        super().__init__()
        self.waves = waves
        if waves:
            self.register_buffer("frequencies", 2.0 ** torch.arange(3))
        self.net = nn.Sequential(nn.Linear(12 if waves else 4, 8), nn.ReLU())

    def forward(self, x):
        if self.waves:
            x = (x[..., None] * self.frequencies).sin().flatten(1)
        return self.net(x)

def build(folder):
    first = Embedder({first})
    first(torch.randn(3, 4))
    torch.save(first.state_dict(), folder + "/embedder.pt")

def tune(folder):
    model = Embedder({second})
    model.load_state_dict(torch.load(folder + "/embedder.pt"))
    model(torch.randn(3, 4))

with tempfile.TemporaryDirectory() as folder:
    build(folder)
    tune(folder)
"""
SOFT = """
class Loss(nn.Module):
    def forward(self, logits, targets):
        targets = {encoded}
        return F.binary_cross_entropy_with_logits(logits, targets)

model, criterion = nn.Linear(6, 4), Loss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    x, y = torch.randn(8, 6), torch.randint(4, (8,))
    if step % 2:
        soft = F.one_hot(y, 4).float()
        y = 0.7 * soft + 0.3 * soft.flip(0)
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""
ENCODED = "F.one_hot(targets, 4).float()"
OF_NET = "net.parameters(), other.parameters(), [shift]"
FIXES = {
    "chain goes through parameters": (
        ROWS.format(
            parameters=f"itertools.chain(*{OF_NET.replace(' other', ' *other')})"
        ),
        "nothing-to-train",
        f"`itertools.chain({OF_NET})`",
    ),
    "a parameter in place of a list": (
        ROWS.format(parameters="[*net.weight, net.bias]"),
        "nothing-to-train",
        "`net.weight`",
    ),
    "a layer that forward builds": (
        LATE.format(
            method="forward", result="torch.sigmoid(self.linear(self.norm(x)))", more=""
        ),
        "state-dict-mismatch",
        "`self.linear = nn.Linear(8, 8, bias=False)` in `__init__`",
    ),
    "a flag as an argument": (
        FLAG.format(default="False", first="", second="waves=True"),
        "state-dict-mismatch",
        "`waves=False`",
    ),
    "one-hot of soft targets": (
        SOFT.format(encoded=ENCODED),
        "dtype-mismatch",
        f"`targets if targets.is_floating_point() else {ENCODED}`",
    ),
}
BLOCKS = """
class Decoder(nn.Module):
    def __init__(self, size):
        super().__init__()
        count = int({count}) - 3
        self.fc = nn.Linear(6, 4 * 8 * 8)
        self.net = nn.Sequential()
        for _ in range(count):
            self.net.append(nn.Conv2d(4, 4, 3, padding=1))
            self.net.append(nn.Upsample(scale_factor=2))

    def forward(self, z):
        return self.net(self.fc(z).view(-1, 4, 8, 8))

target = torch.randn(2, 4, 64, 64)
F.l1_loss(Decoder(64)(torch.randn(2, 6)) + target, target).backward()
"""
FIXES["a floor of logarithms"] = (
    "import math\n" + BLOCKS.format(count="math.log(size) // math.log(2)"),
    "broadcast-mismatch",
    "`round(math.log(size) / math.log(2))`",
)
MOVED = """
class Average:
    def __init__(self, model):
        self.shadow = {{k: v.detach().clone() for k, v in model.named_parameters()}}

    def update(self, model):
        for k, v in model.named_parameters():
            self.shadow[k] = 0.9 * self.shadow[k] + 0.1 * v.detach()

device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Linear(6, 3)
{moves}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    x, y = torch.randn(8, 6).to(device), torch.randint(3, (8,)).to(device)
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    average.update(model)
    print("one step")
"""
EARLY = "average = Average(model)\nmodel.to(device)"
LATER = "model.to(device)\naverage = Average(model)"


@pytest.mark.parametrize("name", FIXES)
def test_the_cause_is_mended(tmp_path: Path, name: str) -> None:
    text, code, fix = FIXES[name]
    report = rehearsed(tmp_path, HEAD + text)
    found = [finding for finding in report.findings if finding.code == code]
    assert found, report
    assert found[0].fixes[0].message == fix
    assert found[0].fixes[0].checked


def test_a_script_that_asks_for_a_gpu_is_rehearsed_with_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text(HEAD + MOVED.format(moves=EARLY))
    (finding,) = rehearse_script(str(script)).findings
    assert finding.message.startswith("with a GPU: `+` gets")
    assert "parameters of `model`, which is moved to a device later" in finding.message
    before = "`model.to(device)` before `average = Average(model)`"
    assert finding.fixes[0].message == before
    assert capsys.readouterr().err.count("one step") == 2


def test_a_right_script_that_asks_for_a_gpu_is_quiet(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(HEAD + MOVED.format(moves=LATER))
    assert rehearse_script(str(script)).findings == ()


def test_with_a_device_there_is_one_run(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(HEAD + MOVED.format(moves=EARLY))
    assert rehearse_script(str(script), device="cpu").findings == ()
