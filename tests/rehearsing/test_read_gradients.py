"""Gradients that are read where `zero_grad()` has cleared them, and others."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rehearsing.rehearsed import rehearsed
from tests.rehearsing.test_mistakes_and_mended import HEAD

NORMS = """
def report(net):
    sizes = {}
    for name, p in net.named_parameters():
        if p.grad is not None:
            sizes[name] = p.grad.norm().item()
    return sizes
"""
WRONG = {
    "in one block": """
        for a, b in loader:
            loss = criterion(model(a), b)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            for p in model.parameters():
                if p.grad is not None:
                    print(torch.norm(p.grad))
    """,
    "in a function": """
        for a, b in loader:
            criterion(model(a), b).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
            sizes = report(model)
            print(len(sizes))
    """,
    "cleared in a function": """
        def update(loss):
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

        for a, b in loader:
            update(criterion(model(a), b))
            print(report(model))
    """,
    "cleared by a wrapper": """
        class OptimWrapper:
            def __init__(self, optimizer):
                self.optimizer = optimizer

            def step(self):
                self.optimizer.step()

            def update(self, loss):
                loss.backward()
                self.step()
                self.optimizer.zero_grad()

        optim_wrapper = OptimWrapper(optimizer)
        for a, b in loader:
            optim_wrapper.update(criterion(model(a), b))
            print(report(model))
    """,
    "behind the loop": """
        def fit():
            for a, b in loader:
                criterion(model(a), b).backward()
                optimizer.step()
                optimizer.zero_grad()
            return report(model)

        print(fit())
    """,
}
MOVED = ("in one block", "in a function")
"""Those in which both stand in one block."""
RIGHT = {
    "before": """
        for a, b in loader:
            criterion(model(a), b).backward()
            print(report(model))
            optimizer.step()
            optimizer.zero_grad()
    """,
    "cleared first": """
        for a, b in loader:
            optimizer.zero_grad()
            criterion(model(a), b).backward()
            optimizer.step()
            print(report(model))
    """,
    "a backward pass in a function": """
        def compute(a, b):
            criterion(model(a), b).backward()

        for a, b in loader:
            optimizer.zero_grad()
            compute(a, b)
            print(report(model))
            optimizer.step()
    """,
    "a closure": """
        def compute():
            loss = criterion(model(x), y)
            loss.backward()
            return loss

        for step in range(4):
            optimizer.zero_grad()
            optimizer.step(compute)
            for p in model.parameters():
                print(p.grad.norm().item())
    """,
    "gradients that are written": """
        for a, b in loader:
            criterion(model(a), b).backward()
            kept = [p.grad.clone() for p in model.parameters()]
            optimizer.step()
            optimizer.zero_grad()
            for p, old in zip(model.parameters(), kept):
                p.grad = old
            print(report(model))
            optimizer.zero_grad()
    """,
    "cleared by hand too": """
        for a, b in loader:
            criterion(model(a), b).backward()
            optimizer.step()
            optimizer.zero_grad()
            for p in model.parameters():
                if p.grad is not None:
                    p.grad.zero_()
    """,
    "asked whether it is there": """
        for a, b in loader:
            criterion(model(a), b).backward()
            optimizer.step()
            optimizer.zero_grad()
            print(all(p.grad is None for p in model.parameters()))
    """,
    "another optimizer": """
        judge = nn.Linear(3, 1)
        other = torch.optim.SGD(judge.parameters(), lr=0.1)
        for a, b in loader:
            optimizer.zero_grad()
            (criterion(model(a), b) + judge(model(a)).mean()).backward()
            other.step()
            other.zero_grad()
            print(report(model))
            optimizer.step()
    """,
    "under a condition": """
        for step, (a, b) in enumerate(loader):
            criterion(model(a), b).backward()
            if step % 2:
                optimizer.step()
                optimizer.zero_grad()
            print(report(model))
    """,
}


def _list_findings(folder: Path, body: str) -> list[tuple[str, str]]:
    """The code and the first edit of each warning."""
    report = rehearsed(folder, f"{HEAD}{NORMS}\n{dedent(body)}")
    return [
        (finding.code, finding.fixes[0].message if finding.fixes else "")
        for finding in report.findings
        if finding.severity != "note"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_cleared_gradients_that_are_read_are_told(name: str, tmp_path: Path) -> None:
    ((code, edit),) = _list_findings(tmp_path, WRONG[name])
    assert code == "gradients-cleared-unused"
    assert edit.endswith("behind what reads the gradients") == (name in MOVED)


@pytest.mark.parametrize("name", RIGHT)
def test_other_reads_are_quiet(name: str, tmp_path: Path) -> None:
    codes = [code for code, _ in _list_findings(tmp_path, RIGHT[name])]
    assert "gradients-cleared-unused" not in codes
