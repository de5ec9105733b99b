"""Mistakes of recipes that people type in, beside the same program mended: the mistake
is reported with its edit, and neither the mended program nor one that looks alike is.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed
from tests.rehearsing.test_mistakes_and_mended import HEAD

PAIRS = {
    "graph-kept: two sums": (
        """
        judge = nn.Linear(3, 1)
        sgd = torch.optim.SGD(judge.parameters(), lr=0.1)
        first, second = 0.0, 0.0
        for rows in torch.randperm(70).split(10):
            optimizer.zero_grad()
            loss = criterion(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            sgd.zero_grad()
            gap = judge(model(x[rows]).detach()).mean()
            gap.backward()
            sgd.step()
            first += loss<  -> .item()>
            second += gap<  -> .item()>
        print(first / 7, second / 7)
    """,
        "`loss.item()` and `gap.item()`",
    ),
    "graph-kept: a sum and a list": (
        """
        total, sizes = 0.0, []
        for rows in torch.randperm(70).split(10):
            loss = criterion(model(x[rows]), y[rows])
            size = sum(p.square().sum() for p in model.parameters())
            optimizer.zero_grad()
            (loss + 0.01 * size).backward()
            optimizer.step()
            total += loss<  -> .item()>
            sizes.append(size<  -> .item()>)
        print(total / 7, sizes[-1])
    """,
        "`loss.item()` and `size.item()`",
    ),
    "graph-kept: a sum of a penalty": (
        """
        first, second = 0.0, 0.0
        for rows in torch.randperm(70).split(10):
            loss = criterion(model(x[rows]), y[rows])
            size = sum(p.square().sum() for p in model.parameters())
            optimizer.zero_grad()
            (loss + 0.01 * size).backward()
            optimizer.step()
            first += loss.item()
            second += size<  -> .item()>
        print(first / 7, second / 7)
    """,
        "`size.item()`",
    ),
    "never-stepped: in the else of a scheduler": (
        """
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
        for rows in torch.randperm(70).split(10):
            optimizer.zero_grad()
            criterion(model(x[rows]), y[rows]).backward()
            <pass -> optimizer.step()>
            if scheduler:
                scheduler.step()
            else:
                <optimizer.step() -> pass>
    """,
        "`optimizer.step()` above the condition",
    ),
    "never-stepped: where there is no schedule": (
        """
        config = {"schedule": True}
        if config["schedule"]:
            plan = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
        for rows in torch.randperm(70).split(10):
            optimizer.zero_grad()
            criterion(model(x[rows]), y[rows]).backward()
            if not config["schedule"]:
                optimizer.step()
            else:
                <plan.step() -> optimizer.step(); plan.step()>
    """,
        "`optimizer.step()` before the scheduler's step",
    ),
}
LEGAL = {
    "a scheduler that waits": """
        plan = torch.optim.lr_scheduler.StepLR(optimizer, 5)
        for step in range(20):
            train()
            if step > 3 and plan is not None:
                plan.step()
            else:
                optimizer.zero_grad()
    """,
    "a step of a scheduler or of the next phase": """
        plan = torch.optim.lr_scheduler.StepLR(optimizer, 5)
        for step in range(20):
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            if plan is not None:
                optimizer.step()
                plan.step()
            else:
                optimizer.step()
    """,
}


def _write(body: str, place: int) -> str:
    """The script, wrong with place 1 and mended with place 2."""
    body = re.sub(r"<([^<>]*?) -> ([^<>]*)>", rf"\{place}", body)
    return HEAD + "\n".join(line[8:] for line in body.splitlines())


@pytest.mark.parametrize("name", PAIRS)
def test_the_mistake_is_reported_with_its_edit(name: str, tmp_path: Path) -> None:
    body, fix = PAIRS[name]
    report = rehearsed(tmp_path, _write(body, 1))
    (finding,) = (f for f in report.findings if f.severity != "note")
    assert finding.code == name.partition(":")[0]
    assert finding.fixes[0].message == fix


@pytest.mark.parametrize("name", PAIRS)
def test_what_mends_it_is_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, _write(PAIRS[name][0], 2))
    assert not [f for f in report.findings if f.severity != "note"]


@pytest.mark.parametrize("name", LEGAL)
def test_what_looks_alike_is_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, _write(LEGAL[name], 1))
    assert not [f for f in report.findings if f.severity != "note"]
