"""Accuracies of a batch that compare its first sample alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(48, 6), torch.randint(3, (48,)))
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
history, correct = [], 0
for x, labels in DataLoader(data, batch_size={size}, shuffle=True):
    out = model(x)
    optimizer.zero_grad()
    nn.functional.cross_entropy(out, labels).backward()
    optimizer.step()
    guesses = out.argmax(1)
    {compare}
print(history, correct)
"""
WRONG = {
    "numbers": (
        "guess = guesses[0].item()\n    truth = labels[0].item()\n"
        "    accuracy = float(guess == truth)\n    history.append(accuracy)"
    ),
    "at once": "accuracy = float(guesses[0] == labels[0])",
    "of tensors": "accuracy = (guesses[0] == labels[0]).float().item()",
    "added up": "correct += int(guesses[0].item() == labels[0].item())",
}
QUIET = {
    "all samples": "accuracy = (guesses == labels).float().mean().item()",
    "the first one is shown": (
        "accuracy = (guesses == labels).float().mean().item()\n"
        "    first_correct = guesses[0].item() == labels[0].item()"
    ),
    "a mark": "mark = 'yes' if guesses[0] == labels[0] else 'no'",
    "each in turn": (
        "correct += sum(int(guesses[i] == labels[i]) for i in range(len(labels)))"
    ),
}


def explain(folder: Path, compare: str, size: int = 8) -> list[tuple[str, list[str]]]:
    """Return the codes and fixes that are found in a script."""
    text = SCRIPT.format(compare=compare, size=size)
    findings = rehearsed(folder, text).findings
    return [(f.code, [fix.message for fix in f.fixes]) for f in findings]


@pytest.mark.parametrize("case", WRONG)
def test_only_the_first_sample_counts(case: str, tmp_path: Path) -> None:
    ((code, fixes),) = explain(tmp_path, WRONG[case])
    assert code == "one-sample"
    assert fixes == ["`(guesses == labels).float().mean().item()`"]


@pytest.mark.parametrize("case", QUIET)
def test_all_samples_count(case: str, tmp_path: Path) -> None:
    assert not explain(tmp_path, QUIET[case])


def test_a_batch_of_one_sample_is_quiet(tmp_path: Path) -> None:
    assert not explain(tmp_path, WRONG["at once"], size=1)
