"""One sample against a batch: where it is told, and where one target is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from checking.hazards import program, warned
from tests.rehearsing.rehearsed import rehearsed

TRUE = {
    "the first prediction": "F.mse_loss(out[0], y)  # here",
    "the first target": "F.l1_loss(out, y[0])  # here",
    "selected": "F.smooth_l1_loss(out.select(0, 0), y)  # here",
    "selected, then moved": "F.mse_loss(out[0].detach().clone(), y)  # here",
    "a layer's loss": "nn.MSELoss()(out[-1], y)  # here",
}

LEGAL = {
    "a number": "F.mse_loss(out, y.mean())",
    "one target for all": "F.mse_loss(out, self.target)",
    "one target, a dim in front": "F.mse_loss(out, self.target[None])",
    "the mean of the batch": "F.mse_loss(out, y.mean(0))",
    "sample by sample": "sum(F.mse_loss(out[i], y[i]) for i in range(len(y)))",
    "said so": "F.mse_loss(out, y[0].expand_as(out))",
    "a difference, as it is written": "(out - out[0]).pow(2).mean()",
    "a step of a sequence": "F.mse_loss(out[:, 0], y[:, 0])",
}


def model(loss: str) -> str:
    return program(
        "self.conv = nn.Conv2d(3, 3, 1)\n"
        'self.register_buffer("target", torch.zeros(3, 6, 6))',
        f"x, y:\n        out = self.conv(x)\n        return {loss}",
        "torch.randn(5, 3, 6, 6), torch.randn(5, 3, 6, 6)",
    )


@pytest.mark.parametrize("name", TRUE)
def test_one_sample_against_all_is_told(name: str, tmp_path: Path) -> None:
    assert warned(tmp_path, model(TRUE[name])) == [f"one-sample: return {TRUE[name]}"]


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_meant_for_all_is_quiet(name: str, tmp_path: Path) -> None:
    told = warned(tmp_path, model(LEGAL[name]))
    assert [each for each in told if "one-sample" in each] == []


STYLE = """\
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.data import DataLoader, TensorDataset

    loader = DataLoader(TensorDataset(torch.randn({items}, 3, 6, 6)), 3)
    net = nn.Conv2d(3, 4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


    def gram(y):
        b, c, h, w = y.size()
        flat = y.view(b, c, w * h)
        return flat.bmm(flat.transpose(1, 2)) / (c * h * w)


    style = gram(torch.randn(1, 4, 6, 6).repeat({times}, 1, 1, 1))
    for (x,) in loader:
        optimizer.zero_grad()
        F.mse_loss(gram(net(x)), {target}).backward()
        optimizer.step()
"""


def styled(folder: Path, items: int, times: int, target: str) -> list[str]:
    text = STYLE.format(items=items, times=times, target=target)
    return [each.code for each in rehearsed(folder, text).findings]


def test_a_last_batch_of_one_is_broadcast(tmp_path: Path) -> None:
    assert styled(tmp_path, 10, 3, "style") == ["one-sample"]


@pytest.mark.parametrize(
    ("items", "times", "target"),
    [
        (10, 3, "style[: len(x)]"),
        (9, 3, "style"),
        (10, 1, "style"),  # one style, for all of each batch
    ],
)
def test_other_last_batches_are_quiet(
    tmp_path: Path, items: int, times: int, target: str
) -> None:
    assert styled(tmp_path, items, times, target) == []


def test_a_last_batch_of_two_is_refused(tmp_path: Path) -> None:
    assert styled(tmp_path, 11, 3, "style") == ["target-shape"]
