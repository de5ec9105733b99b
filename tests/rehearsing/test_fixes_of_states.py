"""States of recurrent layers of another shape: all of them are mended at once, and the
layer stays what it is.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, hidden=32, layers=2):
        super().__init__()
        self.hidden, self.layers = hidden, layers
        self.rnn = nn.LSTM(6, hidden, layers, batch_first=True{flags})
        self.out = nn.Linear({features}, 3)
        {more}

    def start(self, rows):
        return (
            torch.zeros(self.layers, rows, self.hidden),
            torch.zeros(self.layers, rows, self.hidden),
        )

    def forward(self, x):
        {body}
        y, _ = self.rnn(x, state)
        return self.out(y.mean(1))


Net()(torch.randn(5, 7, 6)).sum().backward()
"""
TWO_WAYS = {"flags": ", bidirectional=True", "features": "2 * hidden"}
ONE_WAY = {"flags": "", "features": "hidden"}
CASES = {
    "two directions": (
        {**TWO_WAYS, "body": """\
h = torch.zeros(self.layers, x.size(0), self.hidden)
        c = torch.zeros(self.layers, x.size(0), self.hidden)
        state = h, c"""},
        "`torch.zeros(2 * self.layers, x.size(0), self.hidden)` and 1 more",
    ),
    "two directions, made by a method": (
        {**TWO_WAYS, "body": "state = self.start(x.size(0))"},
        "`torch.zeros(2 * self.layers, rows, self.hidden)` and 1 more",
    ),
    "batch and layers exchanged": (
        {**ONE_WAY, "body": """\
h = torch.zeros(x.size(0), self.layers, self.hidden)
        c = torch.zeros(x.size(0), self.layers, self.hidden)
        state = h, c"""},
        "`torch.zeros(self.layers, x.size(0), self.hidden)` and 1 more",
    ),
    "a batch that is written": (
        {**ONE_WAY, "body": "state = self.start(8)"}, "`self.start(x.size(0))`",
    ),
    "one state for all layers": (
        {**ONE_WAY, "more": "self.first = nn.Linear(6, hidden)", "body": """\
h = self.first(x[:, 0]).unsqueeze(0)
        state = h, torch.zeros_like(h)"""},
        "`self.first(x[:, 0]).unsqueeze(0).repeat(2, 1, 1)`",
    ),
}  # fmt: skip


def get_fixes(folder: Path, text: str, device: str = "cpu") -> list[str]:
    """The fixes that were checked of the only error of a script."""
    report = rehearsed(folder, text, device=device)
    (finding,) = (f for f in report.findings if f.severity == "error")
    return [fix.message for fix in finding.fixes if fix.checked]


@pytest.mark.parametrize("case", CASES)
def test_the_states_are_mended_and_not_the_layer(case: str, tmp_path: Path) -> None:
    words, wanted = CASES[case]
    text = NET.format(**{"more": "", **words})
    assert get_fixes(tmp_path, text) == [wanted]


def test_states_of_a_cell_lose_a_dim_together(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        cell = nn.LSTMCell(10, 20)
        x, h, c = torch.randn(6, 3, 10), torch.zeros(1, 3, 20), torch.zeros(1, 3, 20)
        for step in x:
            h, c = cell(step, (h, c))
        h.sum().backward()
        """
    assert get_fixes(tmp_path, text)[:1] == ["`torch.zeros(3, 20)` and 1 more"]


def test_a_layer_of_two_directions_keeps_both(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, hidden=24):
                super().__init__()
                self.rnn = nn.GRU(6, hidden, bidirectional=True, batch_first=True)
                self.out = nn.Linear(hidden, 3)
            def forward(self, x):
                y, _ = self.rnn(x)
                return self.out(y[:, -1])
        Net()(torch.randn(5, 7, 6)).sum().backward()
        """
    fixes = get_fixes(tmp_path, text)
    assert fixes[0] == "`nn.Linear(2 * hidden, 3)`"
    assert all("bidirectional" not in message for message in fixes)


def test_both_states_are_moved_to_the_device(tmp_path: Path) -> None:
    text = dedent(
        NET.format(
            **ONE_WAY,
            more="",
            body="""\
h = torch.zeros(self.layers, x.size(0), self.hidden)
        c = torch.zeros(self.layers, x.size(0), self.hidden)
        state = h, c""",
        )
    ).replace(
        "Net()(torch.randn(5, 7, 6))", "Net().cuda()(torch.randn(5, 7, 6).cuda())"
    )
    first = get_fixes(tmp_path, text, "cuda")[0]
    assert first == (
        "`torch.zeros(self.layers, x.size(0), self.hidden, device=x.device)` and 1 more"
    )


LISTS = """\
{imports}
class Net({nn}.Module):
    def __init__(self):
        super().__init__()
        self.convs = [
            {nn}.Conv1d(8, 4, 3),
            {nn}.Conv1d(8, 4, 5),
        ]
    def forward(self, x):
        return {torch}.cat([conv(x).amax(-1) for conv in self.convs], 1)
Net().cuda()({torch}.randn(2, 8, 16).cuda()).sum().backward()
"""
IMPORTS = {
    "import torch as th": ("th", "th.nn"),
    "import torch\nimport torch.nn as tnn": ("torch", "tnn"),
    "import torch\nfrom torch import nn": ("torch", "nn"),
    "import torch": ("torch", "torch.nn"),
}


@pytest.mark.parametrize("imports", IMPORTS)
def test_layers_in_a_list_are_registered(imports: str, tmp_path: Path) -> None:
    torch, nn = IMPORTS[imports]
    text = LISTS.format(imports=imports, torch=torch, nn=nn)
    assert get_fixes(tmp_path, text, "cuda")[0].startswith(f"`{nn}.ModuleList(")


def test_what_a_plain_class_keeps_is_made_on_its_device(tmp_path: Path) -> None:
    text = """\
        import torch
        class Losses:
            def __init__(self, device):
                self.device = device
                self.kept = torch.tensor([])
            def add(self, loss):
                self.kept = torch.cat([self.kept, loss.detach()])
        losses = Losses("cuda")
        losses.add(torch.rand(4, device="cuda"))
        """
    first = get_fixes(tmp_path, text, "cuda")[0]
    assert first == "`torch.tensor([], device=device)`"
