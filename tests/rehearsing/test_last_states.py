"""States of all layers of a recurrent layer where that of the last one was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

TEXT = """\
    import torch
    from torch import nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.{layer}(6, 16, num_layers=2, batch_first=True)
            self.mix, self.fc = nn.Linear(32, 16), nn.Linear(16, 3)
        def forward(self, x):
            {body}
    loss = nn.functional.cross_entropy(Net()(torch.randn(8, 5, 6)), torch.arange(8) % 3)
    loss.backward()
    """
CASES = {
    "scores of all layers": (
        "LSTM",
        ("out, (h, c) = self.rnn(x)", "return self.fc(h)"),
        "`h[-1]` for `h`",
    ),
    "joined with the mean": (
        "GRU",
        (
            "out, h = self.rnn(x)",
            "z = torch.cat([h.transpose(0, 1), out.mean(1)], dim=-1)",
            "return self.fc(self.mix(z))",
        ),
        "`h[-1]` for `h.transpose(0, 1)`",
    ),
    "repeated for each step": (
        "GRU",
        (
            "out, h = self.rnn(x)",
            "h = h.repeat(out.size(1), 1, 1).transpose(0, 1)",
            "return self.fc(self.mix(torch.cat([h, out], 2)).mean(1))",
        ),
        "`h[-1]` for `h`",
    ),
}


def get_fixes(folder: Path, layer: str, body: tuple[str, ...]) -> list[str]:
    """The checked fixes of the first error."""
    text = TEXT.format(layer=layer, body=("\n" + " " * 12).join(body))
    report = rehearsed(folder, text)
    finding = next(f for f in report.findings if f.severity == "error")
    return [fix.message for fix in finding.fixes if fix.checked]


@pytest.mark.parametrize(("layer", "body", "first"), CASES.values(), ids=CASES.keys())
def test_the_state_of_the_last_layer_is_meant(
    layer: str, body: tuple[str, ...], first: str, tmp_path: Path
) -> None:
    assert get_fixes(tmp_path, layer, body)[0] == first


def test_states_side_by_side_are_kept(tmp_path: Path) -> None:
    body = (
        "out, h = self.rnn(x)",
        "return self.fc(h.transpose(0, 1).flatten(1))",
    )
    assert "[-1" not in "".join(get_fixes(tmp_path, "GRU", body))


WHOLE = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.{layer}
        self.head = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))
    def forward(self, x):
        {body}

data = TensorDataset(torch.randn(40, 12, 5), torch.randint(0, 3, {labels}))
net = Net()
for x, y in DataLoader(data, batch_size=8):
    scores = net(x)
    loss = nn.functional.cross_entropy({scores}, y)
    loss.backward()
"""
TWO_LINES = "out = self.rnn(x)\n        return self.head(out)"


@pytest.mark.parametrize(
    ("layer", "body", "fix"),
    [
        (
            "LSTM(5, 16, batch_first=True)",
            TWO_LINES,
            "`out, _ = self.rnn(x)` and `self.head(out[:, -1])`",
        ),
        (
            "GRU(5, 16, num_layers=2, batch_first=True)",
            "return self.head(self.rnn(x))",
            "`self.rnn(x)[0][:, -1]`",
        ),
        (
            "GRU(5, 16)",
            "out = self.rnn(x.transpose(0, 1))\n        return self.head(out)",
            "`out, _ = self.rnn(x.transpose(0, 1))` and `self.head(out[-1])`",
        ),
    ],
)
def test_a_whole_result_is_read_at_its_last_step_where_samples_have_one_label(
    layer: str, body: str, fix: str, tmp_path: Path
) -> None:
    text = WHOLE.format(layer=layer, body=body, labels="(40,)", scores="scores")
    (finding,) = rehearsed(tmp_path, text).findings
    assert [shown.message for shown in finding.fixes] == [fix]


def test_a_whole_result_is_read_at_all_steps_where_each_has_a_label(
    tmp_path: Path,
) -> None:
    text = WHOLE.format(
        layer="LSTM(5, 16, batch_first=True)",
        body=TWO_LINES,
        labels="(40, 12)",
        scores="scores.transpose(1, 2)",
    )
    (finding,) = rehearsed(tmp_path, text).findings
    assert [shown.message for shown in finding.fixes] == ["`out, _ = self.rnn(x)`"]
