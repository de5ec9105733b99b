"""The first fix of a mistake: what was meant, at the place where the mistake sits."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright import api

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn


"""

NET = """\
class Net(nn.Module):
    def __init__(self{parameters}):
        super().__init__()
{layers}

    def forward(self, {body}


def example_inputs():
    return ({inputs},)
"""


def program(layers: str, body: str, inputs: str, parameters: str = "") -> str:
    """A module of these layers, and the inputs to try it with."""
    rows = [f"        {line}" for line in layers.strip().split("\n")]
    return HEAD + NET.format(
        layers="\n".join(rows), body=body, inputs=inputs, parameters=parameters
    )


CASES = {
    "a dim that a mean moved": (
        program(
            "self.fc = nn.Linear(3, 2)",
            "x):\n        return self.fc(x.mean(2).mean(3))",
            "torch.randn(5, 3, 8, 8)",
        ),
        "`x.mean(2).mean(2)`",
    ),
    "lengths that are not sorted": (
        program(
            "self.rnn = nn.GRU(4, 8)",
            """x):
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 5, 2]))
        return self.rnn(packed)[1]""",
            "torch.randn(5, 3, 4)",
        ),
        "`enforce_sorted=False`",
    ),
    "lengths of samples that come second": (
        program(
            "self.rnn = nn.GRU(4, 8, batch_first=True)",
            """x):
        packed = nn.utils.rnn.pack_padded_sequence(
            x, torch.tensor([5, 3, 2]), batch_first=False)
        return self.rnn(packed)[1]""",
            "torch.randn(3, 5, 4)",
        ),
        "`batch_first=True`",
    ),
    "sizes of a state the other way round": (
        program(
            "self.rnn = nn.LSTM(4, 8, 2, batch_first=True)",
            """x):
        shape = (x.size(0), 2, 8)
        return self.rnn(x, (torch.zeros(shape), torch.zeros(shape)))[0]""",
            "torch.randn(3, 5, 4)",
        ),
        "`(2, x.size(0), 8)`",
    ),
    "a table made with another setting": (
        program(
            "self.pos = nn.Parameter(torch.zeros(1, heads, width))",
            "x):\n        return x + self.pos[:, : x.size(1)]",
            "torch.randn(3, 12, 16)",
            ", width=16, heads=4, longest=12",
        ),
        "`torch.zeros(1, longest, width)`",
    ),
    "targets without a column": (
        program(
            "self.fc = nn.Linear(4, 1)",
            """x):
        real = torch.ones(x.size(0))
        return F.binary_cross_entropy(self.fc(x).sigmoid(), real)""",
            "torch.randn(3, 4)",
        ),
        "`torch.ones(x.size(0), 1)`",  # as good as scores without their column
    ),
    "a mask longer than the sequence": (
        program(
            "self.register_buffer('mask', torch.ones(32, 32).tril())",
            """x):
        scores = x @ x.transpose(1, 2)
        return scores * self.mask""",
            "torch.randn(3, 20, 8)",
        ),
        "`self.mask[:scores.size(-2), :scores.size(-1)]`",
    ),
    "a stride that the shortcut lacks": (
        program(
            """\
self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
self.shortcut = nn.Conv2d(3, 8, 1)""",
            "x):\n        out = self.conv(x)\n        return out + self.shortcut(x)",
            "torch.randn(2, 3, 16, 16)",
        ),
        "`nn.Conv2d(3, 8, 1, stride=2)`",
    ),
    "a norm for images on sequences": (
        program(
            "self.norm = nn.BatchNorm2d(6)",
            "x):\n        return self.norm(x)",
            "torch.randn(4, 6, 9)",
        ),
        "`BatchNorm1d` for `BatchNorm2d`",
    ),
    "a flatten that takes the batch with it": (
        program(
            "self.fc = nn.Linear(48, 5)",
            "x):\n        x = torch.flatten(x)\n        return self.fc(x)",
            "torch.randn(4, 3, 4, 4)",
        ),
        "`torch.flatten(x, 1)`",
    ),
    "a loss for class numbers, given one of each": (
        program(
            "self.fc = nn.Linear(4, 6)",
            """x, y):
        scores = self.fc(x).log_softmax(dim=1)
        return F.nll_loss(scores, y)""",
            "torch.randn(7, 4), torch.eye(6)[torch.arange(7) % 6]",
        ),
        "`y.argmax(dim=1)`",
    ),
    "an index that loses its dim again": (
        program(
            "self.q = nn.Linear(4, 3)",
            """x, action, reward):
        return F.mse_loss(self.q(x).gather(1, action), reward)""",
            "torch.randn(8, 4), torch.randint(0, 3, (8,)), torch.randn(8)",
        ),
        "`self.q(x).gather(1, action.unsqueeze(1)).squeeze(1)`",
    ),
    "a channel for each pixel of a flat target": (
        program(
            "self.head = nn.Conv2d(3, 2, 1)",
            """x, mask):
        out = self.head(x).view(-1)
        return F.binary_cross_entropy_with_logits(out, mask.view(-1))""",
            "torch.randn(4, 3, 8, 8), torch.rand(4, 8, 8)",
        ),
        "`nn.Conv2d(3, 1, 1)`",
    ),
    "data are cast to what a model gives": (
        program(
            "self.net = nn.Linear(4, 3)",
            """x, points):
        out = self.net(x)
        return (torch.bmm(out, points.transpose(1, 2)) - points.sum()).mean()""",
            "torch.randn(8, 5, 4), torch.randn(8, 6, 3).double()",
        ),
        "`points.transpose(1, 2).float()`",
    ),
    "what grows is not written in place": (
        program(
            "self.slope = nn.Parameter(torch.ones(4, 1, 1), requires_grad=False)",
            """x):
        bias = torch.zeros(x.size(1), x.size(1))
        bias += self.slope * x[0] @ x[0].T
        return bias""",
            "torch.randn(2, 6, 6)",
        ),
        "`bias = bias + self.slope * x[0] @ x[0].T`",
    ),
    "a tensor of another layer": (
        program(
            """\
self.pool = nn.MaxPool2d(2, return_indices=True)
self.unpool = nn.MaxUnpool2d(2)""",
            """x):
        x, first = self.pool(x)
        x, second = self.pool(x)
        return self.unpool(x, first)""",
            "torch.randn(2, 3, 16, 16)",
        ),
        "`second` for `first`",
    ),
    "letters of an equation in another order": (
        program(
            "self.d = 6",
            """q, k):
        return torch.einsum("bhid,bhjd->bhij", q, k)""",
            "torch.randn(2, 7, 4, 6), torch.randn(2, 5, 4, 6)",
        ),
        "`bihd,bjhd->bhij`",
    ),
    "a batch of one where a norm needs more": (
        program(
            """\
self.pool = nn.AdaptiveAvgPool2d(1)
self.norm = nn.InstanceNorm2d(6)""",
            "x):\n        return x * self.norm(self.pool(x))",
            "torch.randn(2, 6, 8, 8)",
        ),
        "`nn.Identity()`",
    ),
    "too few numbers to repeat": (
        program(
            "self.size = 4",
            "z):\n        return z[:, :, None, None].repeat(1, 4, 4)",
            "torch.randn(2, 6)",
        ),
        "`repeat(1, 1, 4, 4)`",
    ),
    "what a shape is unpacked from": (
        program(
            "self.proj = nn.Conv2d(3, 8, 4, stride=4)\nself.fc = nn.Linear(8, 2)",
            """x):
        x = self.proj(x)
        b, n, c = x.shape
        return self.fc(x).view(b, n, 2)""",
            "torch.randn(2, 3, 16, 16)",
        ),
        "`self.proj(x).flatten(2).transpose(1, 2)`",
    ),
    "one mistake behind two failures": (
        program(
            """\
self.enc = nn.Conv1d(2, 8, 4, stride=2, padding=1)
self.mu = nn.Linear(16 * 6, 3)
self.var = nn.Linear(16 * 6, 3)""",
            """x):
        h = self.enc(x).flatten(1)
        return self.mu(h), self.var(h)""",
            "torch.randn(5, 2, 12)",
        ),
        "`nn.Conv1d(2, 16, 4, stride=2, padding=1)`",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_fix(name: str, tmp_path: Path) -> None:
    text, wanted = CASES[name]
    file = tmp_path / "net.py"
    file.write_text(text)
    report = api.check_target(f"{file}:Net")
    errors = [each for each in report.findings if each.severity == "error"]
    assert [fix.message for fix in errors[0].fixes[:1]] == [wanted]
    assert errors[0].fixes[0].checked


def test_a_view_without_a_copy_is_no_other_order(tmp_path: Path) -> None:
    """Turned back, or of another tensor of that shape, the view runs, and is wrong."""
    text = program(
        "self.out = nn.Linear(24, 24)",
        """x):
        b, n, c = x.shape
        q = x.view(b, n, 4, 6).transpose(1, 2)
        out = (q @ q.transpose(2, 3)).softmax(-1) @ q
        out = out.transpose(1, 2)
        return self.out(out.view(b, n, c))""",
        "torch.randn(2, 7, 24)",
    )
    file = tmp_path / "net.py"
    file.write_text(text)
    (finding,) = api.check_target(f"{file}:Net").findings
    assert finding.code == "not-contiguous"
    for fix in finding.fixes:
        assert "reshape" in fix.message or "contiguous" in fix.message
    assert len(finding.fixes) == 2


def test_what_only_seemed_to_follow_is_told_too(tmp_path: Path) -> None:
    text = program(
        "self.fc = nn.Linear(4, 6)",
        """x):
        x = self.fc(x.sum(dim=3))
        return F.cross_entropy(x, torch.zeros(5, dtype=torch.long))""",
        "torch.randn(3, 2, 4)",
    )
    file = tmp_path / "net.py"
    file.write_text(text)
    report = api.check_target(f"{file}:Net")
    lines = [text.split("\n")[each.span.line - 1] for each in report.findings]
    assert ["sum(dim=3)" in lines[0], "cross_entropy" in lines[1]] == [True, True]


def test_a_size_in_another_dim_is_no_excuse(tmp_path: Path) -> None:
    """Height and channels are of one size: the height is guessed, the channels not."""
    text = program(
        "self.conv = nn.Conv2d(32, 8, 1)",
        """x, y):
        both = torch.cat([x, y], dim=1)
        return self.conv(both)""",
        "torch.randn(2, 16, 33, 9), torch.randn(2, 17, 32, 9)",
    )
    file = tmp_path / "net.py"
    file.write_text(text)
    found = api.check_target(f"{file}:Net").findings
    assert [each.code for each in found] == ["joined-sizes-differ", "channel-mismatch"]


LEFT_OUT = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.two = nn.Linear(8, 9)

    def forward(self, x):
        x = self.norm(self.one(x))
        return self.norm(self.two(x))


def example_inputs():
    return (torch.randn(1, 4),)
"""


def test_a_layer_that_is_left_out_does_not_hide_its_other_calls(
    tmp_path: Path,
) -> None:
    file = tmp_path / "net.py"
    file.write_text(LEFT_OUT)
    report = api.check_target(f"{file}:Net")
    told = [(each.code, each.span.line) for each in report.findings if each.span]
    assert [line for _, line in told] == [13, 14]
    assert told[0][0] == "one-value-per-channel"


def test_two_edits_of_one_text_are_one_fix(tmp_path: Path) -> None:
    """`6` made a `7`, and `8 * 7 * 6` made `8 * 7 * 7`, write the same line."""
    source = program(
        "self.conv = nn.Conv2d(3, 8, 3)\nself.fc = nn.Linear(8 * 7 * 6, 5)",
        """x):
        return self.fc(F.max_pool2d(F.relu(self.conv(x)), 2).flatten(1))""",
        "torch.randn(2, 3, 16, 16)",
    )
    file = tmp_path / "model.py"
    file.write_text(source)
    finding = api.check_target(f"{file}:Net").findings[0]
    messages = [fix.message for fix in finding.fixes]
    assert any("8 * 7 * 7" in message for message in messages)
    assert len(messages) == len(set(messages))


CROPPED = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 8, batch_first=True)
        self.register_buffer("mask", torch.tril(torch.ones(64, 64)))
        self.conv = nn.Conv2d(3, 3, 3)

    def forward(self, x, images):
        out, h = self.rnn(x)
        {body}

def example_inputs():
    return (torch.randn(2, 5, 4), torch.randn(2, 3, 32, 32))
"""


@pytest.mark.parametrize(
    ("body", "cropped"),
    [
        ("return (out @ out.transpose(1, 2)) * self.mask", True),
        ("return torch.cat([h.repeat(10, 1, 1).transpose(0, 1), out], 2)", False),
        ("return out.softmax(-1) * torch.cat([x, x, x], 2)", False),
    ],
)
def test_only_tables_and_edges_are_cropped(
    body: str, cropped: bool, tmp_path: Path
) -> None:
    file = tmp_path / "net.py"
    file.write_text(CROPPED.replace("{body}", body))
    (finding,) = api.check_target(f"{file}:Net").findings
    assert any("[:" in fix.message for fix in finding.fixes) == cropped
