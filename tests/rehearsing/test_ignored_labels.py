"""Labels that a loss ignores, -100, used as indices."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

IGNORE = -100


class Scorer(nn.Module):
    def __init__(self, tags):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(tags))

    def forward(self, scores, tags, mask):
        {inside}
        picked = scores.gather(2, tags.unsqueeze(2)).squeeze(2)
        return ((picked + self.start[tags]) * mask).sum() / mask.sum()


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(20, 8), nn.Linear(8, 4)
        self.scorer = Scorer(4)

    def forward(self, tokens, labels):
        scores = self.head(self.words(tokens)).log_softmax(-1)
        {loss}


def get_batch():
    tokens = torch.arange(24).view(4, 6) % 19 + 1
    labels = tokens % 4
    {filled}
    tokens[:, 4:] = 0
    return tokens, labels


net = Tagger()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    tokens, labels = get_batch()
    optimizer.zero_grad()
    net(tokens, labels).backward()
    optimizer.step()
"""
AUX = "aux = F.nll_loss(scores.flatten(0, 1), labels.flatten(), ignore_index=IGNORE)"
CRF = f"{AUX}\n        return aux - self.scorer({{arguments}})"
POSITIONAL = CRF.format(arguments="scores, labels, tokens != 0")
NAMED = CRF.format(arguments="scores, tags=labels, mask=tokens != 0")
GATHERED = (
    "keep = labels != IGNORE\n        picked = scores.gather(2, labels.unsqueeze(2))"
    "\n        return -(picked.squeeze(2) * keep).sum() / keep.sum()"
)
UNMASKED = "return -scores.gather(2, labels.unsqueeze(2)).mean()"
FILLED = "labels[:, 4:] = IGNORE"
NAME = "labels.masked_fill(labels == IGNORE, 0)"
CASES = {
    "in a module": (POSITIONAL, FILLED, "pass", NAME),
    "by keyword": (NAMED, FILLED, "pass", NAME),
    "the number": (POSITIONAL, "labels[:, 4:] = -100", "pass", NAME),
    "another number": (
        POSITIONAL.replace("=IGNORE", "=-1"), "labels[:, 4:] = -1", "pass",
        "labels.masked_fill(labels == -1, 0)",
    ),
    "gathered": (GATHERED, FILLED, "pass", "labels.clamp(min=0)"),
    "a module that knows it": (
        POSITIONAL, FILLED, "mask = mask & (tags != IGNORE)", "tags.clamp(min=0)",
    ),
}  # fmt: skip


def find_errors(folder: Path, loss: str, filled: str, inside: str) -> list[Finding]:
    """Return the errors of a training with these lines."""
    text = SCRIPT.format(loss=loss, filled=filled, inside=inside)
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize("name", CASES)
def test_ignored_labels_are_filled_where_they_are_indices(
    name: str, tmp_path: Path
) -> None:
    loss, filled, inside, edit = CASES[name]
    finding, *_ = find_errors(tmp_path, loss, filled, inside)
    assert finding.code == "index-out-of-range"
    assert any("a loss ignores" in note.message for note in finding.related)
    assert [fix.message for fix in finding.fixes] == [f"`{edit}`"]
    assert finding.fixes[0].checked


def test_without_a_mask_they_are_not_filled(tmp_path: Path) -> None:
    (finding,) = find_errors(tmp_path, UNMASKED, FILLED, "pass")
    assert not any("(min=0)" in f.message or ", 0)" in f.message for f in finding.fixes)


@pytest.mark.parametrize(
    ("loss", "filled", "inside"),
    [
        (POSITIONAL, "pass", "pass"),
        (POSITIONAL, FILLED, "tags = tags.clamp(min=0)"),
        (f"{AUX}\n        return aux", FILLED, "pass"),
        (GATHERED.replace("labels.uns", "labels.clamp(min=0).uns"), FILLED, "pass"),
    ],
)
def test_labels_that_are_valid_indices_are_quiet(
    loss: str, filled: str, inside: str, tmp_path: Path
) -> None:
    assert find_errors(tmp_path, loss, filled, inside) == []
