"""The usual silent mistakes of a training, in each way in which it is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed
from tests.rehearsing.ways import (
    DoesNotApplyError,
    Mistake,
    count_batches,
    drop,
    leave_block,
    list_ways,
    move,
    move_before_epochs,
    read_other_loader,
    read_rows,
    replace,
    write,
)

WAYS = list_ways("training")
MISTAKES: dict[str, tuple[Mistake, str]] = {
    "never cleared": (drop("zero"), "gradients-not-cleared"),
    "never stepped": (drop("step"), "never-stepped"),
    "no backward pass": (drop("backward"), "no-gradient"),
    "cleared behind the pass": (move("zero", "backward"), "gradients-cleared-unused"),
    "stepped before the pass": (
        move("step", "backward", is_behind=False), "gradients-cleared-unused",
    ),
    "clipped before the pass": (
        move("clip", "backward", is_behind=False), "clipped-after-step",
    ),
    "clipped behind the step": (move("clip", "step"), "clipped-after-step"),
    "no eval": (drop("eval"), "evaluated-in-training-mode"),
    "no train": (drop("train"), "trained-in-eval-mode"),
    "train once": (move_before_epochs("train"), "trained-in-eval-mode"),
    "gradients recorded": (leave_block("nograd"), "evaluated-with-graph"),
    "softmax": (
        replace("logits", r"return (.*)$", r"return torch.softmax(\1, dim=1)"),
        "loss-input",
    ),
    "relu": (
        replace("logits", r"return (.*)$", r"return torch.relu(\1)"), "loss-input",
    ),
    "sigmoid": (
        replace("logits", r"return (.*)$", r"return torch.sigmoid(\1)"), "loss-input",
    ),
    "classes along the batch": (
        replace("pred", r"(argmax\((?:dim=)?|y_hat, dim=|\), )-?1\)", r"\g<1>0)"),
        "broadcast-mismatch",
    ),
    "graph kept": (replace("total", r"loss\.item\(\)", "loss"), "graph-kept"),
    "state not copied": (
        replace("best", r"copy\.deepcopy\((.*state_dict\(\))\)", r"\1"),
        "state-not-copied",
    ),
    "dict copied alone": (
        replace("best", r"copy\.deepcopy\((.*state_dict\(\))\)", r"\1.copy()"),
        "state-not-copied",
    ),
    "sum of all epochs": (move_before_epochs("reset"), "count-not-reset"),
    "accuracy over batches": (count_batches("acc", "valloop"), "count-over-batches"),
    "loss over batches": (count_batches("print", "trainloop"), "count-over-batches"),
    "means over samples": (
        replace("total", r" \* (?:len\(.*\)|[\w.]+\.(?:size\(0\)|shape\[0\]))$", ""),
        "mean-over-samples",
    ),
    "evaluated on the training": (read_other_loader, "unused-split"),
}  # fmt: skip
OF_NUMBERS = {
    "softmax": "wrong-axis", "relu": "unreachable-targets",
    "sigmoid": "unreachable-targets",
}  # fmt: skip
"""What is said where the output is a number, not classes."""


def list_cases() -> Iterator[tuple[str, str]]:
    """Each mistake in each way in which it can be made."""
    for way in WAYS:
        for name, (mistake, _) in MISTAKES.items():
            try:
                mistake(read_rows("training", way))
            except DoesNotApplyError:
                continue
            yield way, name


@pytest.mark.parametrize("way", WAYS)
def test_the_right_training_is_quiet(way: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write(read_rows("training", way)))
    assert [finding.message for finding in report.findings] == []


@pytest.mark.parametrize(("way", "name"), list(list_cases()))
def test_a_mistake_is_told_in_each_way(way: str, name: str, tmp_path: Path) -> None:
    mistake, code = MISTAKES[name]
    rows = read_rows("training", way)
    mistake(rows)
    findings = rehearsed(tmp_path, write(rows)).findings
    wanted = OF_NUMBERS.get(name, code) if way == "of_a_number" else code
    (finding,) = [each for each in findings if each.code == wanted]
    assert len(findings) == 1
    assert finding.fixes
    assert finding.fixes[0].checked
