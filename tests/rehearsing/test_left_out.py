"""A head that is trained alone: on what was loaded, or on what nobody ever trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
    import torch
    from torch import nn

    x, y = torch.randn(12, 6), torch.randn(12, 1)


    def body():
        return nn.Sequential(
            nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)
        )


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = body(), nn.Linear(8, 1)

        def forward(self, x):
            return self.head(self.body(x))


    torch.save(body().state_dict(), "body.pt")
    torch.save(Net(), "net.pt")
    net = Net()
    {load}
    optimizer = torch.optim.SGD(net.head.parameters(), lr=0.1)
    for step in range(9):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
    {after}
"""


def severities(folder: Path, load: str, after: str = "pass") -> list[tuple[str, str]]:
    report = rehearsed(folder, HEAD.format(load=load, after=after))
    return [(each.code, each.severity) for each in report.findings]


@pytest.mark.parametrize(
    "load",
    [
        "pass",
        "nn.init.kaiming_uniform_(net.body[0].weight)",
        "nn.init.orthogonal_(net.body[0].weight)",
        "[p.data.copy_(q.data) for p, q in zip(net.parameters(), Net().parameters())]",
        "net.body[0].weight.data.copy_(torch.randn(8, 6) * 0.02)",
        "net.head.load_state_dict(nn.Linear(8, 1).state_dict())",
    ],
)
def test_layers_that_nobody_trained_are_warned_of(tmp_path: Path, load: str) -> None:
    assert severities(tmp_path, load) == [("not-in-optimizer", "warning")]


@pytest.mark.parametrize(
    "load",
    [
        "net.body.load_state_dict(torch.load('body.pt'))",
        "net = torch.load('net.pt', weights_only=False)",
        "net.body[0].weight.data.copy_(torch.tensor([[0.5] * 6] * 8).float() * 2)",
        "[p.data.copy_(q) for p, q in zip(net.body.parameters(), "
        "torch.load('body.pt').values())]",
        "net.body.load_state_dict(torch.hub.load_state_dict_from_url('https://a.b/c'))",
    ],
)
def test_layers_with_weights_of_their_own_are_a_note(tmp_path: Path, load: str) -> None:
    assert severities(tmp_path, load) == [("not-in-optimizer", "note")]


def test_what_is_loaded_behind_the_training_was_not_there(tmp_path: Path) -> None:
    after = "net.load_state_dict(torch.load('net.pt', weights_only=False).state_dict())"
    told = severities(tmp_path, "pass", after)
    assert told == [("not-in-optimizer", "warning")]


def test_frozen_layers_are_quiet(tmp_path: Path) -> None:
    assert severities(tmp_path, "net.body.requires_grad_(False)") == []
