"""Optimizers, schedulers and scalers that train something else than was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau, StepLR
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randn(40, 1)), 8)
body, head, critic = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(1, 1)
net = nn.Sequential(body, head)
mse = nn.functional.mse_loss
SGD = torch.optim.SGD
"""
TRAIN = """
    for x, y in loader:
        optimizer.zero_grad()
        loss = mse(net(x), y)
        loss.backward()
        optimizer.step()
"""
THAWED = {
    "a function with a flag": """
def freeze(module, flag):
    for p in module.parameters():
        p.requires_grad = not flag
freeze(body, True)
optimizer = SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for epoch in range(3):
    if epoch == 1:
        freeze(body, False)  # here
""",
    "a loop over parameters": """
body.requires_grad_(False)
optimizer = SGD(filter(lambda p: p.requires_grad, net.parameters()), lr=0.1)
for epoch in range(3):
    if epoch == 1:
        for p in body.parameters():
            p.requires_grad = True  # here
""",
    "a method of torch": """
body.requires_grad_(False)
optimizer = SGD(head.parameters(), lr=0.1)
for epoch in range(4):
    if epoch >= 1:
        body.requires_grad_(True)  # here
""",
    "a method of the model": """
class Net(nn.Sequential):
    def unfreeze(self):
        for p in self[0].parameters():
            p.requires_grad_()  # here
net = Net(body, head)
body.requires_grad_(False)
optimizer = SGD(head.parameters(), lr=0.1)
for epoch in range(3):
    if epoch == 2:
        net.unfreeze()
""",
}
LEGAL_THAWED = {
    "they are added": """
body.requires_grad_(False)
optimizer = SGD(head.parameters(), lr=0.1)
for epoch in range(3):
    if epoch == 1:
        body.requires_grad_(True)
        optimizer.add_param_group({"params": body.parameters()})
""",
    "a new optimizer": """
body.requires_grad_(False)
optimizer = SGD(head.parameters(), lr=0.1)
for epoch in range(3):
    if epoch == 1:
        body.requires_grad_(True)
        optimizer = SGD(net.parameters(), lr=0.01)
""",
    "they were in it all the time": """
body.requires_grad_(False)
optimizer = SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    if epoch == 1:
        body.requires_grad_(True)
""",
}


@pytest.mark.parametrize("name", THAWED)
def test_unfreezing_behind_the_optimizer_is_found(name: str, tmp_path: Path) -> None:
    text = SCRIPT + THAWED[name] + TRAIN
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "not-in-optimizer"
    assert "unfrozen here" in finding.message
    lines = text.splitlines()
    assert finding.span is not None
    assert "# here" in lines[finding.span.line - 1]


@pytest.mark.parametrize("name", LEGAL_THAWED)
def test_unfreezing_that_counts_is_not(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + LEGAL_THAWED[name] + TRAIN)
    assert [finding.message for finding in report.findings] == []


PAIR = """
first = SGD(FIRST.parameters(), lr=0.1)
second = SGD(SECOND.parameters(), lr=0.1)
for x, y in loader:
    critic.zero_grad()
    (critic(net(x).detach()).mean() - critic(y).mean()).backward()
    second.step()
    net.zero_grad()
    (-critic(net(x)).mean()).backward()
    first.step()
"""


def test_the_optimizer_of_the_wrong_network_is_named(tmp_path: Path) -> None:
    text = SCRIPT + PAIR.replace("FIRST", "net").replace("SECOND", "net")
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "not-in-optimizer"
    assert finding.span is not None
    assert text.splitlines()[finding.span.line - 1].startswith("second = ")


def test_two_swapped_optimizers_are_found(tmp_path: Path) -> None:
    text = SCRIPT + PAIR.replace("FIRST", "critic").replace("SECOND", "net")
    findings = rehearsed(tmp_path, text).findings
    assert [finding.code for finding in findings] == ["no-gradient"]
    assert findings[0].span is not None
    assert "second.step()" in text.splitlines()[findings[0].span.line - 1]


LEGAL_PAIRS = {
    "a GAN": PAIR.replace("FIRST", "net").replace("SECOND", "critic"),
    "one loss, two optimizers": """
first, second = SGD(body.parameters(), lr=0.1), SGD(head.parameters(), lr=0.2)
for x, y in loader:
    first.zero_grad()
    second.zero_grad()
    mse(net(x), y).backward()
    first.step()
    second.step()
""",
    "an encoder that the first of two losses trains": """
first, second = SGD(body.parameters(), lr=0.1), SGD(head.parameters(), lr=0.2)
third = SGD(critic.parameters(), lr=0.1)
for x, y in loader:
    for optimizer in (first, second, third):
        optimizer.zero_grad()
    mse(head(body(x)), y).backward()
    second.step()
    mse(critic(y), head(body(x)).detach()).backward()
    third.step()
    first.step()
""",
    "gradients of `autograd.grad`": """
optimizer = SGD(net.parameters(), lr=0.1)
other = SGD(critic.parameters(), lr=0.1)
for x, y in loader:
    other.zero_grad()
    mse(critic(y), y).backward()
    other.step()
    grads = torch.autograd.grad(mse(net(x), y), list(net.parameters()))
    for p, g in zip(net.parameters(), grads):
        p.grad = g
    optimizer.step()
""",
    "a closure": """
optimizer = torch.optim.LBFGS(net.parameters())
for x, y in loader:
    def closure():
        optimizer.zero_grad()
        loss = mse(net(x), y)
        loss.backward()
        return loss
    optimizer.step(closure)
""",
    "accumulated on purpose": """
optimizer = SGD(net.parameters(), lr=0.1)
for step, (x, y) in enumerate(loader):
    mse(net(x), y).backward()
    if step % 2:
        optimizer.step()
        optimizer.zero_grad()
""",
}


@pytest.mark.parametrize("name", LEGAL_PAIRS)
def test_steps_that_train_something_are_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + LEGAL_PAIRS[name])
    assert [finding.message for finding in report.findings] == []


LEFT = {
    "before the training": """
optimizer = SGD(net.parameters(), lr=0.1)
scheduler = StepLR(optimizer, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for epoch in range(4):TRAIN
    scheduler.step()
""",
    "at a switch, for a plateau": """
optimizer = SGD(net.parameters(), lr=0.1)
scheduler = ReduceLROnPlateau(optimizer)
for epoch in range(4):
    if epoch == 2:
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)TRAIN
    scheduler.step(loss.item())
""",
    "in an object": """
class Trainer:
    def __init__(self):
        self.reset()
        self.scheduler = StepLR(self.optimizer, 2)
        self.reset()
    def reset(self):
        self.optimizer = SGD(net.parameters(), lr=0.1)
trainer = Trainer()
optimizer = trainer.optimizer
for epoch in range(4):TRAIN
    trainer.scheduler.step()
""",
}
LEGAL_LEFT = {
    "a scheduler of its own": """
optimizer = SGD(net.parameters(), lr=0.1)
scheduler = StepLR(optimizer, 2)
for epoch in range(4):
    if epoch == 2:
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        scheduler = StepLR(optimizer, 2)TRAIN
    scheduler.step()
""",
    "the second phase at a constant rate": """
optimizer = SGD(net.parameters(), lr=0.1)
scheduler = StepLR(optimizer, 2)
for epoch in range(4):TRAIN
    scheduler.step()
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for epoch in range(4):TRAIN
""",
    "two optimizers in turns": """
first, second = SGD(net.parameters(), lr=0.1), torch.optim.Adam(net.parameters())
scheduler = StepLR(first, 2)
for epoch in range(4):
    optimizer = second if epoch % 2 else firstTRAIN
    scheduler.step()
""",
    "a second optimizer of another model": """
optimizer = SGD(net.parameters(), lr=0.1)
scheduler = StepLR(optimizer, 2)
other = SGD(critic.parameters(), lr=0.1)
for epoch in range(4):TRAIN
    other.zero_grad()
    mse(critic(y), y).backward()
    other.step()
    scheduler.step()
""",
}


@pytest.mark.parametrize("name", LEFT)
def test_a_scheduler_of_a_replaced_optimizer_is_found(
    name: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, SCRIPT + LEFT[name].replace("TRAIN", TRAIN))
    codes = [finding.code for finding in report.findings]
    assert "scheduler-of-replaced" in codes


@pytest.mark.parametrize("name", LEGAL_LEFT)
def test_a_scheduler_of_the_optimizer_that_steps_is_right(
    name: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, SCRIPT + LEGAL_LEFT[name].replace("TRAIN", TRAIN))
    assert [finding.message for finding in report.findings] == []


SCALED = """
optimizer = SGD(net.parameters(), lr=0.1)
other = SGD(critic.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", enabled=ENABLED)
for x, y in loader:
    optimizer.zero_grad()
    scaler.scale(mse(net(x), y)).backward()
    STEP
"""
WRONG_STEPS = {
    "the plain step": "optimizer.step()",
    "both steps": "optimizer.step(); scaler.step(optimizer); scaler.update()",
}
RIGHT_STEPS = {
    "the scaler's": "scaler.step(optimizer); scaler.update()",
    "unscaled before": "scaler.unscale_(optimizer); optimizer.step(); scaler.update()",
    "divided by hand": """for p in net.parameters():
        p.grad /= scaler.get_scale()
    optimizer.step()""",
    "another loss is not scaled": """scaler.step(optimizer); scaler.update()
    other.zero_grad()
    mse(critic(y), y).backward()
    other.step()""",
    "on either path": """if torch.cuda.is_available():
        scaler.step(optimizer)
    else:
        optimizer.step()""",
}


@pytest.mark.parametrize("name", WRONG_STEPS)
def test_a_step_on_scaled_gradients_is_found(name: str, tmp_path: Path) -> None:
    text = SCALED.replace("ENABLED", "True").replace("STEP", WRONG_STEPS[name])
    codes = [finding.code for finding in rehearsed(tmp_path, SCRIPT + text).findings]
    assert codes == ["scaled-step"]
    off = SCRIPT + text.replace("=True", "=False")
    if name != "both steps":
        assert not rehearsed(tmp_path, off).findings


@pytest.mark.parametrize("name", RIGHT_STEPS)
def test_divided_gradients_are_right(name: str, tmp_path: Path) -> None:
    text = SCALED.replace("ENABLED", "True").replace("STEP", RIGHT_STEPS[name])
    report = rehearsed(tmp_path, SCRIPT + text)
    assert [finding.message for finding in report.findings] == []


METRICS = """
optimizer = SGD(net.parameters(), lr=0.1)
plateau = ReduceLROnPlateau(optimizer, MODE)
best_acc, best_loss, best = 0.0, float("inf"), 0.0
for epoch in range(3):TRAIN
    val_acc, val_loss, metrics = 0.5, loss.item(), {"f1": 0.5}
    score = 0.5
    STEP
"""
WRONG_METRICS = [
    ('"min"', "plateau.step(val_acc)"),
    ("factor=0.5", 'plateau.step(metrics["f1"])'),
    ('mode="max"', "plateau.step(metrics=val_loss)"),
    ("", "if val_acc < best_acc: best_acc = val_acc"),
    ("", "if best_loss <= val_loss: best_loss = val_loss"),
    ("", "if epoch > 0 and val_acc <= best: best = val_acc"),
]
RIGHT_METRICS = [
    ('"max"', "plateau.step(val_acc)"),
    ("", "plateau.step(val_loss)"),
    ("", "plateau.step(1 - val_acc)"),
    ("", "plateau.step(-val_acc)"),
    ("", "plateau.step(score)"),
    ("", "if val_acc > best_acc: best_acc = val_acc"),
    ("", "if val_loss < best_loss: best_loss = val_loss"),
    ("", "if not val_acc <= best_acc: best_acc = val_acc"),
    ("", "worst_acc = 1.0\n    if val_acc < worst_acc: worst_acc = val_acc"),
    ("", "if val_acc < best_acc: print('worse')\n    else: best_acc = val_acc"),
]


def write_metrics(mode: str, step: str) -> str:
    """Return the training with a metric; its scheduler steps by the loss."""
    if "plateau" not in step:
        step = f"plateau.step(val_loss)\n    {step}"
    return METRICS.replace("MODE", mode).replace("TRAIN", TRAIN).replace("STEP", step)


@pytest.mark.parametrize(("mode", "step"), WRONG_METRICS)
def test_a_wrong_direction_is_found(mode: str, step: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + write_metrics(mode, step))
    assert [finding.code for finding in report.findings] == ["metric-direction"]


@pytest.mark.parametrize(("mode", "step"), RIGHT_METRICS)
def test_a_right_direction_is_not(mode: str, step: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + write_metrics(mode, step))
    assert [finding.message for finding in report.findings] == []


IDLE = {
    "never named": ("scheduler = StepLR(optimizer, 5)", "pass", "behind the loop"),
    "not called": (
        "scheduler = StepLR(optimizer, 5)",
        "scheduler.step",
        "`scheduler.step()`",
    ),
    "of batches": ("once = OneCycleLR(optimizer, 0.1, 30)", "pass", "after the"),
}
SCHEDULED = f"""
from torch.optim.lr_scheduler import OneCycleLR

optimizer = SGD(net.parameters(), lr=0.1)
BUILT
for epoch in range(3):{TRAIN}    STEP
"""


@pytest.mark.parametrize("name", IDLE)
def test_a_scheduler_that_never_steps(name: str, tmp_path: Path) -> None:
    built, step, fix = IDLE[name]
    text = SCHEDULED.replace("BUILT", built).replace("STEP", step)
    (finding,) = rehearsed(tmp_path, SCRIPT + text).findings
    assert finding.code == "never-stepped"
    assert "the learning rate stays as it is" in finding.message
    (edit,) = [each for each in finding.fixes if each.checked]
    assert fix in edit.message


@pytest.mark.parametrize(
    "step",
    ["scheduler.step()", "step_all(scheduler)", "state = scheduler.state_dict()"],
)
def test_a_scheduler_that_is_read_is_quiet(step: str, tmp_path: Path) -> None:
    """Whatever is done with it may step it."""
    head = "def step_all(*all):\n    [each.step() for each in all]\n"
    built = "scheduler = StepLR(optimizer, 5)"
    text = SCHEDULED.replace("BUILT", built).replace("STEP", step)
    assert not rehearsed(tmp_path, SCRIPT + head + text).findings


SWITCHED = """\
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, normalized=False):
        super().__init__()
        self.normalized = normalized
        self.norm = nn.BatchNorm1d(4)
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        FORWARD
        return self.head(x)


x = torch.tensor(np.random.normal(0, 1, (32, 4)).tolist())
y = torch.randn(32, 1)
nets = [Net(False), Net(True)]
optimizers = [torch.optim.Adam(net.parameters()) for net in nets]
for epoch in range(5):
    for net, optimizer in zip(nets, optimizers):
        loss = F.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
OFF = [
    "x = self.norm(x) if self.normalized else x",
    "x = x if not self.normalized else self.norm(x)",
]
MISSED = ["self.norm(x.detach())", "x = x if self.norm is None else x"]


@pytest.mark.parametrize("forward", OFF)
def test_a_layer_that_a_flag_switches_off_is_quiet(
    forward: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, SWITCHED.replace("FORWARD", forward))
    assert [finding.message for finding in report.findings] == []


@pytest.mark.parametrize("forward", MISSED)
def test_a_layer_whose_result_is_not_used_is_found(
    forward: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, SWITCHED.replace("FORWARD", forward))
    assert any("norm" in finding.message for finding in report.findings)
    assert not any("copies values" in finding.message for finding in report.findings)
