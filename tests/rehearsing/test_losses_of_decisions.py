"""A loss of decisions gets the scores of which they were made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TRAINING = """\
import torch
from torch import nn
import torch.nn.functional as F
x, y = torch.randn(24, 5), {target}
net = nn.Linear(5, {width})
loss_fn = {loss}
for epoch in range(3):
    scores = net(x){squeezed}
    {decided}
    loss = loss_fn({given})
    loss.backward()
    print(epoch, (guess == y).float().mean())
"""


@pytest.mark.parametrize(
    ("target", "width", "loss", "squeezed", "decided", "given", "fix"),
    [
        ("torch.randint(3, (24,))", 3, "nn.CrossEntropyLoss()", "",
         "guess = torch.softmax(scores, dim=1).argmax(dim=1).float()", "guess, y",
         "`loss_fn(scores, y)`"),
        ("torch.randint(3, (24,)).float()", 3, "nn.CrossEntropyLoss()", "",
         "guess = scores.argmax(1).type(torch.float32)", "guess, y",
         "`loss_fn(scores, y.long())`"),
        ("torch.randint(2, (24,)).float()", 1, "nn.BCEWithLogitsLoss()",
         ".squeeze(1)", "guess = torch.round(torch.sigmoid(scores))", "guess, y",
         "`loss_fn(scores, y)`"),
        ("torch.randint(2, (24,)).float()", 1, "nn.BCELoss()",
         ".squeeze(1).sigmoid()", "guess = scores.round()", "guess, y",
         "`loss_fn(scores, y)`"),
        ("torch.randint(3, (24,))", 3, "F.cross_entropy", "",
         "_, guess = torch.max(scores, 1)", "guess.float(), y",
         "`loss_fn(scores, y)`"),
    ],
    ids=["classes", "float targets", "logits", "probabilities", "max"],
)  # fmt: skip
def test_the_scores_are_given(
    target: str, width: int, loss: str, squeezed: str, decided: str, given: str,
    fix: str, tmp_path: Path,
) -> None:  # fmt: skip
    text = TRAINING.format(
        target=target, width=width, loss=loss, squeezed=squeezed, decided=decided,
        given=given,
    )  # fmt: skip
    (finding,) = rehearsed(tmp_path, text).findings
    assert [f.message for f in finding.fixes if f.checked][:1] == [fix]


def test_decisions_of_another_net_are_no_scores(tmp_path: Path) -> None:
    text = """\
    import torch
    from torch import nn
    net, teacher = nn.Linear(5, 3), nn.Linear(5, 3)
    x = torch.randn(24, 5)
    for step in range(2):
        scores = net(x)
        labels = teacher(x).argmax(1)
        nn.functional.cross_entropy(scores, labels).backward()
    """
    assert rehearsed(tmp_path, text).findings == ()
