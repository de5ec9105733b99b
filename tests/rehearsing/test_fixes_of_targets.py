"""Targets of a loss and masks of attention: the edit that keeps the meaning of each
dim comes first, and what only fits is not shown.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

TOKENS = """\
    import torch
    from torch import nn
    import torch.nn.functional as F
    class Model(nn.Module):
        def __init__(self, words=60):
            super().__init__()
            self.embed = nn.Embedding(words, 16)
            self.rnn = nn.GRU(16, 32, batch_first={first})
            self.out = nn.Linear(32, words)
        def forward(self, x):
            y, _ = self.rnn(self.embed(x))
            return self.out(y)
    model = Model()
    tokens = torch.randint(0, 60, (4, 11))
    """
LOSSES = {
    "the target is whole": (
        "scores = model(tokens[:, :-1])\n"
        "F.cross_entropy(scores.reshape(-1, 60), tokens.reshape(-1)).backward()",
        "`tokens[:, 1:]`",
    ),
    "the target is whole and viewed": (
        "scores = model(tokens)[..., :-1, :].contiguous()\n"
        "F.cross_entropy(scores.view(-1, 60), tokens.view(-1)).backward()",
        "`tokens[:, 1:].reshape(...)`",
    ),
    "the model reads all": (
        "scores = model(tokens)\n"
        "wanted = tokens[:, 1:].contiguous().view(-1)\n"
        "F.cross_entropy(scores.view(-1, 60), wanted).backward()",
        "`tokens[:, :-1]`",
    ),
    "classes in dim 1": (
        "scores = model(tokens[:, :-1]).transpose(1, 2)\n"
        "F.cross_entropy(scores, tokens).backward()",
        "`tokens[:, 1:]`",
    ),
    "time first": (
        "tokens = tokens.t()\n"
        "scores = model(tokens[:-1])\n"
        "F.cross_entropy(scores.reshape(-1, 60), tokens.reshape(-1)).backward()",
        "`tokens[1:]`",
    ),
    "not flattened": (
        "scores = model(tokens)\n"
        "tags = torch.randint(0, 60, (4, 11))\n"
        "F.cross_entropy(scores.view(-1, 60), tags).backward()",
        "`tags.reshape(-1)`",
    ),
}


def get_fixes(folder: Path, text: str) -> list[str]:
    """The fixes that were checked of the only error of a script."""
    report = rehearsed(folder, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    return [fix.message for fix in finding.fixes if fix.checked]


@pytest.mark.parametrize("case", LOSSES)
def test_predicted_steps_and_targets_belong_together(case: str, tmp_path: Path) -> None:
    loss, wanted = LOSSES[case]
    head = dedent(TOKENS.format(first=case != "time first"))
    assert get_fixes(tmp_path, head + loss + "\n")[0] == wanted


def test_there_are_not_as_many_labels_as_merged_positions(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        net = nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 1, 7), nn.Sigmoid()
        )
        real = torch.ones(8)
        nn.BCELoss()(net(torch.randn(8, 1, 32, 32)).view(-1), real).backward()
        """
    assert all("800" not in message for message in get_fixes(tmp_path, text))


MASKS = {
    "a mask of the other sequence": (
        "tr = nn.Transformer(32, 4, 1, 1, 64, batch_first=True)\n"
        "def run(a, b):\n"
        "    mask = tr.generate_square_subsequent_mask(a.size(1))\n"
        "    return tr(a, b, tgt_mask=mask)\n"
        "run(torch.randn(3, 12, 32), torch.randn(3, 9, 32)).sum().backward()",
        "`b.size(1)`",
    ),
    "batch first": (
        "enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4), 2)\n"
        "hidden = torch.zeros(8, 20, dtype=torch.bool)\n"
        "enc(torch.randn(8, 20, 32), src_key_padding_mask=hidden).sum().backward()",
        "`nn.TransformerEncoderLayer(32, 4, batch_first=True)`",
    ),
    "a class token": (
        "layer = nn.TransformerEncoderLayer(32, 4, batch_first=True)\n"
        "enc = nn.TransformerEncoder(layer, 1)\n"
        "ids = torch.randint(0, 50, (8, 20))\n"
        "x = torch.cat([torch.zeros(8, 1, 32), nn.Embedding(50, 32)(ids)], dim=1)\n"
        "enc(x, src_key_padding_mask=ids == 0).sum().backward()",
        "`torch.nn.functional.pad(ids == 0, (1, 0), value=False)`",
    ),
    "memory of another length": (
        "layer = nn.TransformerDecoderLayer(32, 4)\n"
        "dec = nn.TransformerDecoder(layer, 1)\n"
        "dec(torch.randn(8, 10, 32), torch.randn(8, 15, 32)).sum().backward()",
        "`nn.TransformerDecoderLayer(32, 4, batch_first=True)`",
    ),
    "labels as factors": (
        "scores = torch.randn(4, 3, 16, 16, requires_grad=True)\n"
        "labels = torch.randint(0, 3, (4, 16, 16))\n"
        "(scores.softmax(1) * labels).sum().backward()",
        "`torch.nn.functional.one_hot(labels, 3).movedim(-1, 1)`",
    ),
    "rows read as steps": (
        "lstm, out = nn.LSTM(10, 20, batch_first=True), nn.Linear(20, 1)\n"
        "x = torch.randn(32, 10)\n"
        "y, _ = lstm(x)\n"
        "out(y[:, -1]).sum().backward()",
        "`lstm(x.unsqueeze(1))`",
    ),
    "a column that is joined": (
        "net = nn.Linear(5, 1)\n"
        "states, actions = torch.randn(32, 4), torch.randint(0, 2, (32,))\n"
        "net(torch.cat([states, actions], 1)).sum().backward()",
        "`actions.unsqueeze(1)`",
    ),
    "a row of padding for each sample": (
        "q = torch.randn(2, 4, 10, 8, requires_grad=True)\n"
        "keep = torch.ones(2, 10, dtype=torch.bool)\n"
        "scores = q @ q.transpose(-1, -2)\n"
        "scores = scores.masked_fill(keep == 0, -1e9)\n"
        "(scores.softmax(-1) @ q).sum().backward()",
        "`(keep == 0)[:, None, None, :]`",
    ),
}


@pytest.mark.parametrize("case", MASKS)
def test_masks_are_mended_where_they_are_made(case: str, tmp_path: Path) -> None:
    body, wanted = MASKS[case]
    text = f"import torch\nfrom torch import nn\n{body}\n"
    assert get_fixes(tmp_path, text) == [wanted]


def test_a_crop_does_not_cut_another_axis(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        table = torch.zeros(50, 1, 32)
        net = nn.Linear(32, 32)
        x = net(torch.randn(4, 10, 32))
        (x + table[:x.size(1)]).sum().backward()
        """
    fixes = get_fixes(tmp_path, text)
    assert fixes[0] == "`table[:x.size(1)].squeeze(1)`"
    assert all("size(-3)" not in message for message in fixes)
