"""Batch norm of frozen layers, and of averages of models."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import copy
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randint(2, (40,))), 8)


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.norm = nn.Linear(4, 8), nn.BatchNorm1d(8)

    def forward(self, x):
        return self.norm(self.line(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = Body(), nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))


def step(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@torch.no_grad()
def evaluate(model):
    model.eval()
    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)


net = Net()
"""
FROZEN = """
{freeze}
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for epoch in range(2):
    net.train()
    {mode}
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        step(loss, optimizer)
"""
UPDATING = {
    "its parameters": ("for p in net.body.parameters():\n    p.requires_grad = False",
                       "pass"),
    "at once": ("net.body.requires_grad_(False)", "pass"),
    "all but the head": (
        "net.requires_grad_(False)\nnet.head.requires_grad_(True)", "pass"
    ),
    "the norm alone": ("net.body.norm.requires_grad_(False)", "pass"),
    "without a mode": ("net.body.requires_grad_(False)", "net.head.train()"),
}  # fmt: skip
KEPT = {
    "in evaluation": ("net.body.requires_grad_(False)", "net.body.eval()"),
    "the norm in evaluation": (
        "net.body.requires_grad_(False)", "net.body.norm.eval()"
    ),
    "trained": ("pass", "pass"),
    "without statistics": (
        "net.body.norm = nn.BatchNorm1d(8, track_running_stats=False)\n"
        "net.body.requires_grad_(False)", "pass"
    ),
    "another norm": (
        "net.body.norm = nn.LayerNorm(8)\nnet.body.requires_grad_(False)", "pass"
    ),
    "thawed": (
        "net.body.requires_grad_(False)\nfor x, y in loader:\n"
        "    nn.functional.cross_entropy(net(x), y).backward()\n"
        "net.body.requires_grad_(True)", "pass"
    ),
}  # fmt: skip
TWO = """
other = copy.deepcopy(net){mode}
for p in other.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    net.train()
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        {also}
        step(loss, optimizer)
        with torch.no_grad():
{update}
    evaluate(other)
    {end}
"""
AVERAGE = """\
for p, q in zip(other.parameters(), net.parameters()):
    p.mul_(0.9).add_(q, alpha=0.1)"""
STALE = {
    "in place": AVERAGE,
    "of data": "for p, q in zip(other.parameters(), net.parameters()):\n"
    "    p.data.mul_(0.9).add_(q.data * 0.1)",
    "copied": "for p, q in zip(other.parameters(), net.parameters()):\n"
    "    p.copy_(0.9 * p + 0.1 * q)",
    "lerp": "for p, q in zip(other.parameters(), net.parameters()):\n"
    "    p.lerp_(q, 0.1)",
    "by name": "own = dict(net.named_parameters())\n"
    "for name, p in other.named_parameters():\n"
    "    p.mul_(0.9).add_(own[name], alpha=0.1)",
}
FRESH = {
    "buffers too": AVERAGE + "\nfor a, b in zip(other.buffers(), net.buffers()):\n"
    "    a.copy_(b)",
    "states": "for a, b in zip(other.state_dict().values(), "
    "net.state_dict().values()):\n"
    "    if a.is_floating_point():\n        a.mul_(0.9).add_(b, alpha=0.1)",
    "the whole state": "other.load_state_dict(net.state_dict())",
}


def test_the_frozen_part_is_put_in_evaluation_by_an_edit(tmp_path: Path) -> None:
    text = FROZEN.format(freeze="net.body.requires_grad_(False)", mode="pass")
    (finding,) = rehearsed(tmp_path, HEAD + text).findings
    assert [fix.message for fix in finding.fixes] == ["`net.body.eval()`"]


TWICE = """
def fit(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1)
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


net = Net()
fit(net)
net.eval()
with torch.no_grad():
    print(net(torch.randn(4, 4)).shape)
for part in (net.body.line, net.body):
    part.requires_grad_(False)
fit(net)
"""


def test_a_part_that_is_trained_first_is_frozen_by_its_flags(tmp_path: Path) -> None:
    """`eval()` alone would freeze its statistics in the first training, too."""
    text = TWICE.replace("model", "net")
    (finding,) = rehearsed(tmp_path, HEAD + text).findings
    assert [fix.message for fix in finding.fixes if fix.checked] == [
        "`net.body.train(next(net.body.parameters()).requires_grad)`",
        "`net.body.eval()`",
    ]


def test_features_that_were_evaluated_before_are_a_warning(tmp_path: Path) -> None:
    before = "net.body.requires_grad_(False)\nnet.eval()\nwith torch.no_grad():\n"
    before += "    known = net.body(torch.randn(4, 4))"
    text = FROZEN.format(freeze=before, mode="pass")
    (finding,) = rehearsed(tmp_path, HEAD + text).findings
    assert (finding.code, finding.severity) == ("statistics-not-frozen", "warning")
    plain = FROZEN.format(freeze="net.body.requires_grad_(False)", mode="pass")
    (finding,) = rehearsed(tmp_path, HEAD + plain).findings
    assert finding.severity == "note"


def _codes(folder: Path, text: str) -> list[str]:
    report = rehearsed(folder, HEAD + text)
    assert report.complete
    return [each.code for each in report.findings]


def _pad(lines: str) -> str:
    return "\n".join(" " * 12 + line for line in lines.split("\n"))


@pytest.mark.parametrize("name", UPDATING)
def test_frozen_layers_that_update_statistics_are_found(
    name: str, tmp_path: Path
) -> None:
    freeze, mode = UPDATING[name]
    found = _codes(tmp_path, FROZEN.format(freeze=freeze, mode=mode))
    assert found == ["statistics-not-frozen"]


@pytest.mark.parametrize("name", KEPT)
def test_statistics_that_stay_or_train_are_right(name: str, tmp_path: Path) -> None:
    freeze, mode = KEPT[name]
    found = _codes(tmp_path, FROZEN.format(freeze=freeze, mode=mode))
    assert [code for code in found if code.startswith("statistics")] == []


@pytest.mark.parametrize("name", STALE)
def test_an_average_without_statistics_is_found(name: str, tmp_path: Path) -> None:
    text = TWO.format(mode=".eval()", also="pass", update=_pad(STALE[name]), end="")
    assert _codes(tmp_path, text) == ["statistics-not-copied"]


@pytest.mark.parametrize("name", FRESH)
def test_an_average_with_statistics_is_right(name: str, tmp_path: Path) -> None:
    text = TWO.format(mode=".eval()", also="pass", update=_pad(FRESH[name]), end="")
    assert _codes(tmp_path, text) == []


def test_a_momentum_encoder_in_training_mode_is_right(tmp_path: Path) -> None:
    text = TWO.format(
        mode="", also="loss = loss + (net(x) - other(x)).square().mean()",
        update=_pad(AVERAGE), end="other.train()",
    )  # fmt: skip
    assert _codes(tmp_path, text) == []


def test_a_model_without_batch_norm_has_no_statistics(tmp_path: Path) -> None:
    text = "net.body.norm = nn.LayerNorm(8)\n" + TWO
    text = text.format(mode="", also="pass", update=_pad(AVERAGE), end="")
    assert _codes(tmp_path, text) == []


def test_a_discriminator_that_is_frozen_now_and_then_is_right(tmp_path: Path) -> None:
    text = """
judge = Net()
first = torch.optim.SGD(net.parameters(), lr=0.1)
second = torch.optim.SGD(judge.parameters(), lr=0.1)
widen = nn.Linear(2, 4)
for epoch in range(3):
    for x, y in loader:
        judge.requires_grad_(True)
        step(nn.functional.cross_entropy(judge(x), y), second)
        judge.requires_grad_(False)
        step(nn.functional.cross_entropy(judge(widen(net(x)).detach() + x
             + 0 * net(x).sum()), y) + net(x).square().mean(), first)
"""
    found = _codes(tmp_path, text)
    assert [code for code in found if code.startswith("statistics")] == []
