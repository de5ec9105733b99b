"""Means over the other samples of a class, of which a sample may be the only one."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

model = nn.Linear(6, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.rand(48, 6), torch.randint(0, 9, (48,)))
for x, y in DataLoader(data, batch_size=8{loader}):
    z = F.normalize(model(x), dim=1)
{body}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SCORES = "scores = (z @ z.t()).log_softmax(1)\n"
SAME = "same = (y[:, None] == y[None]).float()\n"
MEAN = "loss = -((same * scores).sum(1) / {count}).mean()"
WRONG = {
    "without the diagonal": (
        SCORES + SAME + "same = same - torch.eye(8)\n"
        + MEAN.format(count="same.sum(1)"),
        "`same.sum(1).clamp(min=1)`",
    ),
    "a mask of truths": (
        SCORES + "rows = y.view(-1, 1)\nsame = torch.eq(rows, rows.T)\n"
        "same = (same & ~torch.eye(8, dtype=torch.bool)).float()\n"
        "count = same.sum(dim=1)\n" + MEAN.format(count="count"),
        "`count.clamp(min=1)`",
    ),
    "filled": (
        SCORES + SAME + "same = same.fill_diagonal_(0)\n"
        + MEAN.format(count="same.sum(1)"),
        "`same.sum(1).clamp(min=1)`",
    ),
}  # fmt: skip
OTHERS = "same = same - torch.eye(8)\n"
RIGHT = {
    "with the sample itself": SCORES + SAME + MEAN.format(count="same.sum(1)"),
    "a limit": SCORES + SAME + OTHERS + MEAN.format(count="same.sum(1).clamp(min=1)"),
    "a small number": (
        SCORES + SAME + OTHERS + MEAN.format(count="(same.sum(1) + 1e-6)")
    ),
    "two views": (
        "z, y = torch.cat([z, z * 0.9]), torch.cat([y, y])\n" + SCORES + SAME
        + "same = same - torch.eye(16)\n" + MEAN.format(count="same.sum(1)")
    ),
    "those alone": (
        SCORES + SAME + OTHERS + "count = same.sum(1)\nkept = count > 0\n"
        "loss = -((same * scores).sum(1)[kept] / count[kept]).mean()"
    ),
    "left out behind": (
        SCORES + SAME + OTHERS + "means = (same * scores).sum(1) / same.sum(1)\n"
        "loss = -means[same.sum(1) > 0].mean()"
    ),
    "the sum of all": (
        SCORES + SAME + OTHERS + "loss = -(same * scores).sum() / same.sum()"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_mean_of_no_sample_is_found(case: str, tmp_path: Path) -> None:
    body, fix = WRONG[case]
    text = HEAD.format(loader="", body=indent(body, "    "))
    findings = rehearsed(tmp_path, text).findings
    assert [finding.code for finding in findings] == ["mean-of-none"]
    assert [edit.message for edit in findings[0].fixes] == [fix]


@pytest.mark.parametrize("case", RIGHT)
def test_a_mean_of_some_is_right(case: str, tmp_path: Path) -> None:
    text = HEAD.format(loader="", body=indent(RIGHT[case], "    "))
    codes = [finding.code for finding in rehearsed(tmp_path, text).findings]
    assert "mean-of-none" not in codes


def test_the_batches_of_a_sampler_are_its_own(tmp_path: Path) -> None:
    sampler = ", sampler=torch.utils.data.RandomSampler(data)"
    text = HEAD.format(
        loader=sampler, body=indent(next(iter(WRONG.values()))[0], "    ")
    )
    assert not rehearsed(tmp_path, text).findings
