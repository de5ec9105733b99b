"""Gradients that are clipped too late, while they are scaled, or at the right time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randn(40, 1)), 8)
net, other = nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
second = torch.optim.SGD(other.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", enabled=ENABLED)


def compute_loss(model, x, y):
    return nn.functional.mse_loss(model(x), y)


for epoch in range(2):
    for x, y in loader:
        loss = compute_loss(net, x, y)
STEP
"""
LATE = {
    "the norm": """
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        clip_grad_norm_(net.parameters(), 1.0)""",
    "values": """
        loss.backward()
        optimizer.step()
        nn.utils.clip_grad_value_(net.parameters(), clip_value=0.5)
        optimizer.zero_grad()""",
    "behind a scaler's step": """
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        clip_grad_norm_(net.parameters(), max_norm=1.0)
        scaler.update()""",
    "of one of two models": """
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        second.zero_grad()
        compute_loss(other, x, y).backward()
        second.step()
        clip_grad_norm_(list(other.parameters()), 1.0)""",
}
SCALED = {
    "the norm": """
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()""",
    "unscaled afterwards": """
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        clip_grad_norm_(net.parameters(), 1.0)
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()""",
    "values": """
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        clip_grad_value_(net.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()""",
    "the second of two": """
        optimizer.zero_grad()
        second.zero_grad()
        scaler.scale(loss + compute_loss(other, x, y)).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        clip_grad_norm_(other.parameters(), 1.0)
        scaler.step(second)
        scaler.update()""",
}
RIGHT = {
    "between": """
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()""",
    "the norm is measured afterwards": """
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(clip_grad_norm_(net.parameters(), float("inf")))""",
    "clipped before and measured afterwards": """
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        print(clip_grad_norm_(net.parameters(), 10.0))""",
    "another pass in between": """
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        compute_loss(net, x, y).backward()
        clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()""",
    "unscaled before": """
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()""",
    "a scaled limit": """
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        clip_grad_norm_(net.parameters(), 1.0 * scaler.get_scale())
        scaler.step(optimizer)
        scaler.update()""",
    "divided by hand": """
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        for p in net.parameters():
            p.grad.mul_(1 / 65536)
        clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()""",
    "accumulated": """
        scaler.scale(loss / 2).backward()
        scaler.scale(compute_loss(net, x, y) / 2).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()""",
}


def _found(folder: Path, step: str, enabled: bool = True) -> list[tuple[str, bool]]:
    """The code of each finding, and whether an edit was tried."""
    text = SCRIPT.replace("STEP", step).replace("ENABLED", str(enabled))
    report = rehearsed(folder, text)
    assert report.complete
    return [(each.code, bool(each.fixes)) for each in report.findings
            if each.code.startswith("clipped") or each.severity == "error"]  # fmt: skip


@pytest.mark.parametrize("name", LATE)
def test_clipping_after_the_step_is_found(name: str, tmp_path: Path) -> None:
    ((code, fixes),) = _found(tmp_path, LATE[name])
    assert code == "clipped-after-step"
    assert fixes or "scaler" in name  # there it would be clipped while it is scaled


@pytest.mark.parametrize("name", SCALED)
def test_clipping_of_scaled_gradients_is_found(name: str, tmp_path: Path) -> None:
    ((code, fixes),) = _found(tmp_path, SCALED[name])
    assert code == "clipped-scaled"
    assert fixes or name == "unscaled afterwards"


@pytest.mark.parametrize("name", SCALED)
def test_a_disabled_scaler_scales_nothing(name: str, tmp_path: Path) -> None:
    assert _found(tmp_path, SCALED[name], enabled=False) == []


@pytest.mark.parametrize("name", RIGHT)
def test_clipping_in_time_is_right(name: str, tmp_path: Path) -> None:
    assert _found(tmp_path, RIGHT[name]) == []


ACCUMULATED = """\
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(96, 4), torch.randn(96, 1)), 8)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
k, limit, settings = 4, 1.0, {"clip": True}
for epoch in range(2):
    for i, (x, y) in enumerate(loader):
        loss = nn.functional.mse_loss(net(x), y) / k
STEP
"""
PARTS = {
    "the norm": """
        loss.backward()
        clip_grad_norm_(net.parameters(), 1.0)
        if (i + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()""",
    "values, and the end": """
        loss.backward()
        total = loss.item()
        nn.utils.clip_grad_value_(net.parameters(), 0.5)
        if i % k == k - 1 or i + 1 == len(loader):
            optimizer.step()
            net.zero_grad()""",
    "a turn that is left": """
        loss.backward()
        clip_grad_norm_(net.parameters(), max_norm=1.0)
        if (i + 1) % k:
            continue
        optimizer.step()
        optimizer.zero_grad()""",
    "a norm that is kept": """
        loss.backward()
        norm = clip_grad_norm_(net.parameters(), 1.0)
        if (i + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()
            print(norm)""",
    "a limit that may be left out": """
        loss.backward()
        if limit is not None:
            norm = clip_grad_norm_(net.parameters(), limit)
        if (i + 1) % k == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()""",
    "a setting": """
        loss.backward()
        if settings["clip"] and limit > 0:
            clip_grad_value_(net.parameters(), limit)
        if i % k == k - 1:
            optimizer.step()
            optimizer.zero_grad()""",
}
WHOLE = {
    "under the condition": """
        loss.backward()
        if (i + 1) % k == 0:
            clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()""",
    "behind the turn that is left": """
        loss.backward()
        if (i + 1) % k:
            continue
        clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()""",
    "a step with each pass": """
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        if (i + 1) % k == 0:
            print(loss.item())""",
    "a measured norm": """
        loss.backward()
        print(clip_grad_norm_(net.parameters(), float("inf")))
        if (i + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()""",
    "one pass of each step": """
        loss.backward()
        clip_grad_norm_(net.parameters(), 1.0)
        if (i + 1) % 1 == 0:
            optimizer.step()
            optimizer.zero_grad()""",
    "both conditions": """
        loss.backward()
        if limit is not None and (i + 1) % k == 0:
            clip_grad_norm_(net.parameters(), limit)
        if (i + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()""",
    "a condition of the turn": """
        loss.backward()
        is_last = (i + 1) % k == 0
        if is_last:
            clip_grad_norm_(net.parameters(), limit)
        if (i + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()""",
    "a setting that is off": """
        loss.backward()
        if limit > 2.0:
            clip_grad_norm_(net.parameters(), limit)
        if (i + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()""",
    "one of two ways": """
        loss.backward()
        if limit is None:
            print("no limit")
        else:
            norm = clip_grad_norm_(net.parameters(), float("inf"))
        if (i + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()""",
}


@pytest.mark.parametrize("name", PARTS)
def test_clipping_of_parts_is_found(name: str, tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, ACCUMULATED.replace("STEP", PARTS[name])).findings
    assert finding.code == "clipped-after-step"
    assert finding.message.startswith("each backward pass of an accumulation")
    assert finding.fixes[0].message.endswith("before the step")


@pytest.mark.parametrize("name", WHOLE)
def test_clipping_of_the_whole_is_right(name: str, tmp_path: Path) -> None:
    text = ACCUMULATED.replace("STEP", WHOLE[name])
    codes = [found.code for found in rehearsed(tmp_path, text).findings]
    assert "clipped-after-step" not in codes
