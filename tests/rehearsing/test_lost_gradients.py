"""Optimizers whose parameters never get a gradient: where the graph is lost, and the
edit that keeps it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

MODEL = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(20, 16)
        self.last = nn.Linear(16, 3)

    def forward(self, x):
        BODY


x, y = torch.randn(8, 20), torch.randint(3, (8,))
model = Net()
optimizer = torch.optim.Adam(model.parameters())
criterion = nn.CrossEntropyLoss()
"""
BODY = "return self.last(F.relu(self.first(x)))"
STEP = """\
for _ in range(3):
    optimizer.zero_grad()
    out = model(x)
    loss = criterion(out, y)
    loss.backward()
    optimizer.step()
"""
FLAG = "    loss.requires_grad = True\n"
IN_FORWARD = {
    "data": ("x = F.relu(self.first(x)).data", "`F.relu(self.first(x))`"),
    "detach": ("x = self.first(x).detach()", "`self.first(x)`"),
    "new tensor": ("x = torch.tensor(self.first(x).tolist())", "`self.first(x)`"),
    "parameter": ("x = nn.Parameter(self.first(x))", "`self.first(x)`"),
    "array": (
        "x = torch.from_numpy(self.first(x).detach().numpy())",
        "`self.first(x)`",
    ),
    "block": (
        "with torch.no_grad():\n            x = self.first(x)",
        "without `with torch.no_grad():`",
    ),
}


@pytest.mark.parametrize("name", IN_FORWARD)
def test_a_graph_that_forward_loses(name: str, tmp_path: Path) -> None:
    """The first layer trains nothing; the call that loses its graph is told."""
    line, fix = IN_FORWARD[name]
    body = f"{line}\n        return self.last(x)"
    report = rehearsed(tmp_path, MODEL.replace("BODY", body) + STEP)
    (finding,) = report.findings
    assert finding.code == "no-gradient"
    assert "2 of the 4 parameters" in finding.message
    assert "`Net.first`: the graph of what they compute is lost" in finding.message
    assert finding.line in (14, 15)
    assert [edit.message for edit in finding.fixes if edit.checked] == [fix]


def test_indices_have_no_gradient(tmp_path: Path) -> None:
    """No edit is known for a class in the middle of a model."""
    body = "x = F.one_hot(self.first(x).argmax(1), 16).float()"
    body += "\n        return self.last(x)"
    (finding,) = rehearsed(tmp_path, MODEL.replace("BODY", body) + STEP).findings
    assert "`argmax` at line 14 gives indices" in finding.message
    assert not finding.fixes


def test_a_part_that_may_be_frozen_has_no_edit(tmp_path: Path) -> None:
    """A backbone without a graph may be meant."""
    body = "x = self.backbone(x).detach()\n        return self.last(x)"
    text = MODEL.replace("BODY", body).replace("self.first", "self.backbone")
    (finding,) = rehearsed(tmp_path, text + STEP).findings
    assert "`self.backbone(x).detach()` at line 14 removes it" in finding.message
    assert not finding.fixes


STEPS = {
    "no backward pass": (
        STEP.replace("    loss.backward()\n", ""),
        "no backward pass runs before this step: `loss` is never differentiated",
        "`loss.backward()` before the step",
    ),
    "backward without a call": (
        STEP.replace("backward()", "backward"),
        "no backward pass runs before this step",
        "`loss.backward()`",
    ),
    "a flag behind detach": (
        STEP.replace("criterion(out, y)\n", f"criterion(out.detach(), y)\n{FLAG}"),
        "`out.detach()` at line 24 removes it",
        "`out`",
    ),
    "a flag behind an array": (
        STEP.replace("(out, y)\n", f"(torch.tensor(out.detach().numpy()), y)\n{FLAG}"),
        "copies values into a new tensor",
        "`out`",
    ),
    "a flag behind no_grad": (
        STEP.replace(
            "    out = model(x)\n    loss = criterion(out, y)\n",
            "    with torch.no_grad():\n        out = model(x)\n"
            f"    loss = criterion(out, y)\n{FLAG}",
        )
        + "with torch.no_grad():\n    print(model(x).shape)\n",
        "what their model computes runs under `torch.no_grad()`",
        "without `with torch.no_grad():`",
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_loss_without_the_graph_of_its_model(name: str, tmp_path: Path) -> None:
    """Also where its flag was set, so that torch does not refuse it."""
    step, said, fix = STEPS[name]
    (finding,) = rehearsed(tmp_path, MODEL.replace("BODY", BODY) + step).findings
    assert finding.code == "no-gradient"
    assert said in finding.message
    assert [edit.message for edit in finding.fixes if edit.checked] == [fix]


def test_a_generator_behind_detach(tmp_path: Path) -> None:
    """Its loss reads `fake.detach()`, as that of the discriminator does."""
    program = """\
    import torch
    from torch import nn

    G, D = nn.Linear(8, 20), nn.Linear(20, 1)
    bce = nn.BCEWithLogitsLoss()
    opt_g = torch.optim.Adam(G.parameters())
    opt_d = torch.optim.Adam(D.parameters())
    for _ in range(3):
        fake = G(torch.randn(16, 8))
        ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
        loss_d = bce(D(torch.randn(16, 20)), ones) + bce(D(fake.detach()), zeros)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        loss_g = bce(D(fake.detach()), ones)
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
    """
    (finding,) = rehearsed(tmp_path, program).findings
    assert finding.line == 15
    assert "`fake.detach()` at line 15 removes it" in finding.message
    assert [edit.message for edit in finding.fixes if edit.checked] == ["`fake`"]


@pytest.mark.parametrize("layers", [2, 90])
def test_all_parameters_of_a_frozen_model_are_counted(
    layers: int, tmp_path: Path
) -> None:
    text = f"""
    import torch
    from torch import nn

    parts = [nn.Linear(4, 4) for _ in range({layers})]
    net = nn.Sequential(*[nn.Sequential(part, nn.ReLU(), nn.Tanh()) for part in parts])
    for parameter in net.parameters():
        parameter.requires_grad = False
    net(torch.randn(8, 4)).sum().backward()
    """
    (finding,) = rehearsed(tmp_path, text).findings
    assert f"and {2 * layers - 1} more" in finding.message


def test_losses_that_are_copied_into_a_list(tmp_path: Path) -> None:
    """The new tensor is a leaf: torch goes backward through it, and to no model."""
    program = """\
    import torch
    from torch import nn

    heads = nn.ModuleList([nn.Linear(6, 1) for _ in range(3)])
    weights = torch.tensor([1.0, 0.5, 2.0])
    optimizer = torch.optim.SGD(heads.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 6)
        losses = [head(x).square().mean() for head in heads]
        total = (torch.tensor(losses, requires_grad=True) * weights).sum()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
    """
    (finding,) = rehearsed(tmp_path, program).findings
    assert "`torch.tensor(losses, requires_grad=True)` at line 10" in finding.message
    assert [edit.message for edit in finding.fixes] == ["`torch.stack(losses)`"]


HOOKS = """\
import torch
from torch import nn

seen = []


def note(module, HOOKED):
    seen.append(grad_output[0].norm().item())


model = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 1))
for layer in model:
    layer.register_full_backward_hook(note)
model[0].weight.register_hook(lambda gradient: seen.append(gradient.max().item()))
model(torch.randn(8, 6)).mean().backward()
print(len(seen))
"""


def test_hooks_read_numbers_of_gradients(tmp_path: Path) -> None:
    """Those of modules run on nodes of the graph, where no tensor is called."""
    text = HOOKS.replace("HOOKED", "grad_input, grad_output")
    report = rehearsed(tmp_path, text)
    assert report.complete
    assert not report.findings


def test_a_hook_with_too_few_parameters(tmp_path: Path) -> None:
    """It is told by what it is called with, and not as a loss of the wrong size."""
    (error,) = rehearsed(tmp_path, HOOKS.replace("HOOKED", "grad_output")).findings
    assert "is called with `(module, grad_input, grad_output)`" in error.message
    assert error.line == 7


RIVALS = """\
import torch
import torch.nn.functional as F
from torch import nn

maker, judge = nn.Linear(4, 2), nn.Linear(2, 1)
by_maker = torch.optim.Adam(maker.parameters())
by_judge = torch.optim.Adam(judge.parameters())
for _ in range(3):
    noise, real = torch.randn(8, 4), torch.randn(8, 2)
    fake = {fake}
    loss = judge({of_judge}).mean() - judge(real).mean()
    by_judge.zero_grad()
    loss.backward()
    by_judge.step()
    gain = F.softplus(-judge({of_maker})).mean()
    by_maker.zero_grad()
    gain.backward()
    by_maker.step()
"""


def test_samples_that_are_detached_for_both_losses(tmp_path: Path) -> None:
    """The maker's loss gets samples of its own, or the judge's alone is detached."""
    text = RIVALS.format(fake="maker(noise).detach()", of_judge="fake", of_maker="fake")
    report = rehearsed(tmp_path, text)
    (finding,) = [f for f in report.findings if f.code == "no-gradient"]
    assert [fix.message for fix in finding.fixes if fix.checked] == [
        "`maker(noise)` for `fake` in the loss",
        "`fake.detach()` in the other loss alone",
    ]


@pytest.mark.parametrize(
    ("fake", "of_judge", "of_maker"),
    [
        ("maker(noise)", "fake.detach()", "fake"),
        ("maker(noise).detach()", "fake", "maker(noise)"),
    ],
)
def test_samples_that_are_detached_for_one_loss(
    fake: str, of_judge: str, of_maker: str, tmp_path: Path
) -> None:
    text = RIVALS.format(fake=fake, of_judge=of_judge, of_maker=of_maker)
    assert not rehearsed(tmp_path, text).findings
