"""Gradients that torch refuses: of a complex loss, by what a loss does not use; flags
of what was computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SPECTRA = """\
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Conv1d(1, 1, 3, padding=1)
mse = nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def distance(a, b):
    {distance}

for _ in range(2):
    x, y = torch.rand(4, 1, 32), torch.rand(4, 1, 32)
    optimizer.zero_grad()
    out = net(x)
    loss = distance(torch.fft.fft(out), torch.fft.fft(y)) + 0.1 * (out - y).abs().mean()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("distance", "new"),
    [
        ("return ((a - b) ** 2).mean()", "(a - b).abs() ** 2"),
        ("return (a - b).pow(2).sum()", "(a - b).abs().pow(2)"),
        ("d = a - b; return d.square().mean()", "d.abs().square()"),
        ("return torch.mean(torch.square(a - b))", "torch.square((a - b).abs())"),
        ("d = a - b; return (d * d).mean()", "d.abs() ** 2"),
        ("d = a - b; return (d * d.conj()).sum()", "(d * d.conj()).real"),
        ("d = a - b; return torch.mean(d ** 2)", "d.abs() ** 2"),
    ],
)
def test_a_complex_loss_takes_the_modulus(
    distance: str, new: str, tmp_path: Path
) -> None:
    report = rehearsed(
        tmp_path, SPECTRA.format(distance=distance.replace("; ", "\n    "))
    )
    finding = next(f for f in report.findings if f.severity == "error")
    assert "the loss is complex64" in finding.message
    assert [fix.message for fix in finding.fixes] == [f"`{new}`"]
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "distance",
    [
        "return (a - b).abs().pow(2).mean()",
        "return (torch.view_as_real(a - b) ** 2).mean()",
        "return ((a - b) ** 2).abs().mean()",
    ],
)
def test_a_real_loss_of_spectra_is_quiet(distance: str, tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path, SPECTRA.format(distance=distance.replace("; ", "\n    "))
    )
    assert not any(f.severity == "error" for f in report.findings)


HEADS = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.spread = nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, x):
        return self.mean(x), self.spread(x)

net = Net()
for _ in range(2):
    mean, spread = net(torch.rand(8, 4))
    loss = mean.pow(2).mean(){more}
    parameters = list(net.parameters())
    grads = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        for p, g in zip(parameters, grads):
            {step}
"""


@pytest.mark.parametrize(
    ("step", "new"),
    [
        ("p -= 0.1 * g", "allow_unused=True, materialize_grads=True"),
        ("p -= 0.1 * g if g is not None else 0", "allow_unused=True"),
    ],
)
def test_unused_parameters_are_allowed(step: str, new: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEADS.format(more="", step=step))
    finding = next(f for f in report.findings if f.severity == "error")
    assert "`loss` is not computed from `Net.spread.weight`" in finding.message
    assert finding.fixes[0].message == f"`torch.autograd.grad(loss, parameters, {new})`"
    assert finding.fixes[0].checked


def test_used_parameters_are_quiet(tmp_path: Path) -> None:
    more = " + spread.pow(2).mean()"
    report = rehearsed(tmp_path, HEADS.format(more=more, step="p -= 0.1 * g"))
    assert not any(f.severity == "error" for f in report.findings)


TEACHER = """\
import torch
from torch import nn

student, teacher = nn.Linear(8, 4), nn.Linear(8, 4)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(4, 8)
    {}
    loss = (student(x) - wanted).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def list_found(folder: Path, text: str) -> list[Finding]:
    """Return the findings of a program."""
    return list(rehearsed(folder, text).findings)


@pytest.mark.parametrize(
    ("lines", "named", "fix"),
    [
        (("wanted = teacher(x)", "wanted.requires_grad = False"), "`wanted` was",
         "`wanted = wanted.detach()`"),
        (("wanted = teacher(x)", "wanted.requires_grad_(False)"), "`detach()` gives",
         "`wanted = wanted.detach()`"),
        (("wanted = teacher(x).requires_grad_(False)",), "`teacher(x)` was",
         "`teacher(x).detach()`"),
        (("wanted = teacher(x)", "for t in [wanted]: t.requires_grad = False"),
         "`t` was", "`t.detach_()`"),
    ],
)  # fmt: skip
def test_the_flag_of_what_was_computed_is_not_set(
    tmp_path: Path, lines: tuple[str, ...], named: str, fix: str
) -> None:
    (only,) = list_found(tmp_path, TEACHER.format("\n    ".join(lines)))
    assert named in only.message
    assert only.fixes[0].message == fix


@pytest.mark.parametrize(
    "lines",
    [
        ("with torch.no_grad(): wanted = teacher(x)", "wanted.requires_grad = False"),
        ("wanted = teacher(x).detach()", "wanted.requires_grad_(False)"),
    ],
)
def test_the_flag_of_what_has_no_graph_may_be_set(
    tmp_path: Path, lines: tuple[str, ...]
) -> None:
    assert list_found(tmp_path, TEACHER.format("\n    ".join(lines))) == []


def test_a_gradient_is_kept_without_the_flag(tmp_path: Path) -> None:
    text = """\
import torch
from torch import nn

net, head = nn.Linear(8, 4), nn.Linear(4, 1)
h = torch.relu(net(torch.randn(4, 8)))
h.requires_grad = True
head(h).sum().backward()
print(h.grad.abs())
"""
    (only,) = list_found(tmp_path, text)
    assert "`retain_grad()` keeps its gradient" in only.message
    assert only.fixes[0].message == "`h.retain_grad()`"


PENALTY = """\
import torch
from torch import nn

critic = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(critic.parameters())

{penalty}

for _ in range(2):
    real, fake = torch.randn(8, 4), torch.randn(8, 4)
    e = torch.rand(8, 1)
    loss = critic(fake).mean() - critic(real).mean() + penalty(real, fake)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
MIXED = """\
def penalty(real, fake):
    e = torch.rand(8, 1)
    mixed = {mixed}
    score = critic(mixed).sum()
    grads = torch.autograd.grad({wanted}, create_graph=True)[0]
    return (grads.norm(dim=1) - 1).square().mean()
"""
HANDED = """\
def slope(x):
    score = critic(x).sum()
    return torch.autograd.grad(score, x, create_graph=True)[0]

def penalty(real, fake):
    return slope(0.5 * real + 0.5 * fake).square().mean()
"""


@pytest.mark.parametrize(
    ("penalty", "new"),
    [
        (
            MIXED.format(
                mixed="e * real + (1 - e) * fake", wanted="outputs=score, inputs=mixed"
            ),
            "(e * real + (1 - e) * fake).requires_grad_(True)",
        ),
        (
            MIXED.format(mixed="torch.lerp(fake, real, e)", wanted="score, [mixed]"),
            "torch.lerp(fake, real, e).requires_grad_(True)",
        ),
        (
            MIXED.format(mixed="real.clone()", wanted="score, mixed"),
            "real.clone().requires_grad_(True)",
        ),
        (HANDED, "x.requires_grad_(True)"),
    ],
)
def test_what_is_differentiated_by_asks_for_gradients(
    penalty: str, new: str, tmp_path: Path
) -> None:
    finding = list_found(tmp_path, PENALTY.format(penalty=penalty))[0]
    assert finding.code == "graph-cut"
    assert finding.fixes[0].message == f"`{new}`"
    assert finding.fixes[0].checked


def test_a_penalty_that_asks_for_gradients_is_quiet(tmp_path: Path) -> None:
    penalty = MIXED.format(
        mixed="(e * real + (1 - e) * fake).requires_grad_()", wanted="score, mixed"
    )
    assert list_found(tmp_path, PENALTY.format(penalty=penalty)) == []
