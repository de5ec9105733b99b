"""Masked scores that a softmax counts: filled with about 0, or multiplied by 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.score = nn.Embedding(20, 8), nn.Linear(8, 1)
        self.q, self.k, self.out = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, ids):
        x = self.emb(ids)
        q, k = self.q(x), self.k(x)
        pad = (ids == 0)[:, None, :]
        scores = q @ k.transpose(1, 2) / 8**0.5
        {weights}
        return self.out((weights @ x).mean(1))


data = TensorDataset(torch.randint(0, 20, (64, 7)), torch.randint(0, 2, (64,)))
model = Attention()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for ids, labels in DataLoader(data, batch_size=16):
    optimizer.zero_grad()
    F.cross_entropy(model(ids), labels).backward()
    optimizer.step()
"""
WRONG = {
    "a small number": "weights = scores.masked_fill(pad, 1e-9).softmax(-1)",
    "zero": "weights = F.softmax(scores.masked_fill(pad, 0.0), dim=-1)",
    "in place": "scores.masked_fill_(pad, 1e-9); weights = scores.softmax(-1)",
    "where": "weights = torch.where(pad, 1e-9, scores).softmax(-1)",
    "where of a tensor":
        "weights = torch.where(pad, torch.zeros_like(scores), scores).softmax(-1)",
    "a mask as a factor": "weights = (scores * (~pad).float()).softmax(-1)",
    "scaled afterwards": "weights = (scores.masked_fill(pad, -1e-9) * 2).softmax(-1)",
    "einsum":
        "scores = torch.einsum('bqd,bkd->bqk', q, k); "
        "weights = scores.masked_fill(pad, 1e-9).softmax(-1)",
    "one score for each place":
        "scores = self.score(torch.tanh(x)).squeeze(-1).masked_fill(ids == 0, 0); "
        "weights = scores.softmax(1)[:, None]",
}  # fmt: skip
RIGHT = {
    "a large number": "weights = scores.masked_fill(pad, -1e9).softmax(-1)",
    "a number large enough": "weights = scores.masked_fill(pad, -50.0).softmax(-1)",
    "weights are divided again":
        "weights = scores.softmax(-1).masked_fill(pad, 0.0); "
        "weights = weights / weights.sum(-1, keepdim=True)",
    "hidden before as well":
        "weights = scores.masked_fill(pad, -1e9).softmax(-1).masked_fill(pad, 0.0)",
    "a mask that is drawn":
        "weights = scores.softmax(-1) * (torch.rand(16, 1, 7) > 0.1).float()",
    "what is no number":
        "weights = scores.masked_fill(scores.isnan(), 0.0).softmax(-1)",
    "hidden afterwards":
        "weights = scores.masked_fill(pad, 0.0)"
        ".masked_fill(pad, float('-inf')).softmax(-1)",
    "hidden by a term":
        "weights = (scores.masked_fill(pad, 0.0) + pad.float() * -1e9).softmax(-1)",
    "a temperature": "weights = (scores * torch.tensor(2.0)).softmax(-1)",
    "no softmax": "weights = scores.masked_fill(pad, 0.0).relu()",
    "where of a large number": "weights = torch.where(pad, -1e9, scores).softmax(-1)",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_masks_that_hide_nothing_are_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(weights=WRONG[name]))
    assert report.complete
    assert [each.code for each in report.findings].count("weak-mask") == 1


@pytest.mark.parametrize("name", RIGHT)
def test_masks_that_hide_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(weights=RIGHT[name]))
    assert report.complete
    assert "weak-mask" not in [each.code for each in report.findings]


def test_the_fill_is_named(tmp_path: Path) -> None:
    text = SCRIPT.format(weights=WRONG["a small number"])
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [each for each in findings if each.code == "weak-mask"]
    assert finding.message == (
        "the mask fills scores with 1e-09, and `softmax` takes 1e-09 for a score like"
        " others: masked places keep their weight"
    )
    assert finding.fixes[0].checked
    assert "-1e9" in finding.fixes[0].message or "-inf" in finding.fixes[0].message


OF_KEYS = {
    "filled": "weights = scores.softmax(-1).masked_fill(pad, 0.0)",
    "multiplied": "weights = scores.softmax(-1) * (~pad).float()",
}


@pytest.mark.parametrize("name", OF_KEYS)
def test_padding_that_is_hidden_behind_a_softmax(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(weights=OF_KEYS[name]))
    (finding,) = [each for each in report.findings if each.code == "weak-mask"]
    assert "the hidden keys are still in the sum" in finding.message
    assert "masked_fill" in finding.fixes[0].message


BEHIND = "weights = scores.softmax(-1)\n        scores = scores.masked_fill(pad, -1e9)"


@pytest.mark.parametrize(
    ("weights", "edits"),
    [
        (BEHIND, ["`scores = scores.masked_fill(pad, -1e9)` before the softmax"]),
        (BEHIND + "\n        self.shown = scores", []),
    ],
    ids=["unread", "kept"],
)
def test_scores_that_are_hidden_behind_their_softmax(
    weights: str, edits: list[str], tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(weights=weights))
    told = [each for each in report.findings if each.code == "weak-mask"]
    assert [each.fixes[0].message for each in told] == edits


CAUSAL = (
    "hidden = torch.triu(torch.ones(7, 7), 1) == 1; seen = torch.ones(7, 7).tril(); "
)
LATE = {
    "filled": "weights = scores.softmax(-1).masked_fill(hidden, 0.0)",
    "multiplied": "weights = F.softmax(scores, dim=-1) * seen",
    "the mask first": "weights = seen * scores.softmax(-1)",
    "dropped": "weights = F.dropout(scores.softmax(-1), 0.1, self.training) * seen",
}
LATE_AND_RIGHT = {
    "hidden before": "scores = scores.masked_fill(hidden, -1e9); "
                     "weights = scores.softmax(-1).masked_fill(hidden, 0.0)",
    "divided by their sum": "weights = scores.softmax(-1) * seen; "
                            "weights = weights / weights.sum(-1, keepdim=True)",
    "no softmax": "weights = scores.sigmoid() * seen",
    "hidden by a term": "weights = (scores + hidden * -1e9).softmax(-1) * seen",
    "a window around each":
        "weights = scores.softmax(-1) * torch.ones(7, 7).tril(2)",
}  # fmt: skip


@pytest.mark.parametrize("name", LATE)
def test_a_causal_mask_behind_a_softmax_is_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(weights=CAUSAL + LATE[name]))
    assert report.complete
    (finding,) = [each for each in report.findings if each.code == "weak-mask"]
    assert "has divided already" in finding.message
    assert "masked_fill" in finding.fixes[0].message
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", LATE_AND_RIGHT)
def test_masks_that_are_made_good_are_quiet(name: str, tmp_path: Path) -> None:
    text = SCRIPT.format(weights=CAUSAL + LATE_AND_RIGHT[name])
    report = rehearsed(tmp_path, text)
    assert report.complete
    assert "weak-mask" not in [each.code for each in report.findings]
