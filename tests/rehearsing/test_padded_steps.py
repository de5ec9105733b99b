"""The last step of sequences that were padded behind their ends."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader


def collate(rows):
    lengths = torch.tensor([len(row) for row in rows])
    return pad_sequence(rows, batch_first=True{side}), lengths


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 8, padding_idx=0)
        self.attn = nn.MultiheadAttention(8, 2, batch_first=True)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.rnn = nn.GRU(8, 8, batch_first=True)
        self.head = nn.Linear(8, 5)
        self.token = nn.Parameter(torch.zeros(1, 1, 8))

    def forward(self, ids, lengths):
        x, pad = self.emb(ids), ids == 0
{body}
        return self.head(x)


rows = [torch.randint(1, 30, (COUNT,)) for i in range(40)]
model = Reader()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for ids, lengths in DataLoader(rows, batch_size=8, collate_fn=collate):
    loss = cross_entropy(model(ids, lengths), torch.arange(8) % 5)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
MASKED = "x = self.encoder(x, src_key_padding_mask=pad)\n"
PACKED = (
    "x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)\n"
    "x, _ = pad_packed_sequence(self.rnn(x)[0], batch_first=True)\n"
)
EDIT = "`x[torch.arange(x.size(0)), lengths - 1]`"
WRONG = {
    "an encoder": MASKED + "x = x[:, -1]",
    "attention": "x, _ = self.attn(x, x, x, key_padding_mask=pad)\nx = x[:, -1, :]",
    "by hand":
        "scores = (x @ x.transpose(1, 2)).masked_fill(pad[:, None], -1e9)\n"
        "x = scores.softmax(-1) @ x\nx = x[:, -1]",
    "packed": PACKED + "x = x[:, -1]",
    "single steps": "x = x[:, -1]",
}  # fmt: skip
RIGHT = {
    "the last of each": MASKED + "x = x[torch.arange(len(x)), lengths - 1]",
    "a mean": MASKED + "x = x.masked_fill(pad[..., None], 0).sum(1) / lengths[:, None]",
    "the first": MASKED + "x = x[:, 0]",
    "a recurrent layer that reads padding, and a mean":
        "x = self.rnn(x)[0]\nx = x[:, -1] + x.mean(1)\nassert len(lengths) == len(x)",
    "a decoder that goes on from its state":
        "_, h = self.rnn(x)\nx = self.rnn(x[:, :1], h)[0][:, 0] * len(lengths)",
    "a token at the end":
        "x = torch.cat([x, self.token.expand(len(x), -1, -1)], dim=1)\n"
        "pad = torch.cat([pad, torch.zeros(len(x), 1, dtype=torch.bool)], dim=1)\n"
        + MASKED + "x = x[:, -1]",
    "steps that are generated":
        "out = ids[:, :1]\nfor _ in range(ids.size(1)):\n"
        "    y, _ = self.attn(self.emb(out), x, x, key_padding_mask=pad)\n"
        "    out = torch.cat([out, self.head(y[:, -1]).argmax(-1)[:, None]], dim=1)\n"
        "x = self.emb(out)[:, 0]",
    "no mask": "x = self.encoder(x)[:, -1]",
}  # fmt: skip


def find(
    folder: Path, body: str, side: str = "", count: str = "4 + i % 9"
) -> list[tuple[str, str]]:
    """Code and first checked edit of each finding that is about padding."""
    text = SCRIPT.replace("{body}", indent(body, " " * 8)).replace("{side}", side)
    report = rehearsed(folder, text.replace("COUNT", count))
    assert report.complete
    return [
        (finding.code, finding.fixes[0].message if finding.fixes else "")
        for finding in report.findings
        if finding.code != "no-gradient"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_the_last_step_is_padding(tmp_path: Path, name: str) -> None:
    assert find(tmp_path, WRONG[name]) == [("padded-last-step", EDIT)]


@pytest.mark.parametrize("name", RIGHT)
def test_other_steps_are_quiet(tmp_path: Path, name: str) -> None:
    assert find(tmp_path, RIGHT[name]) == []


UNREAD = {
    "states": (
        "_, h = self.rnn(x)\nx = h[-1]",
        "`pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)`",
    ),
    "states beside outputs": ("y, h = self.rnn(x)\nx = h[-1] + y.mean()", ""),
    "the last step": (
        "y, _ = self.rnn(x)\nx = y[:, -1]",
        "`y[torch.arange(y.size(0)), lengths - 1]`",
    ),
    "the last step beside others": ("y, _ = self.rnn(x)\nx = y[:, -1] + y[:, 0]", ""),
}


@pytest.mark.parametrize("name", UNREAD)
def test_lengths_that_nobody_reads_are_told(tmp_path: Path, name: str) -> None:
    body, edit = UNREAD[name]
    assert find(tmp_path, body) == [("padded-last-step", edit)]


READ = {
    "the last step, in a function without lengths": (
        "y, _ = self.rnn(x)\nx = y[:, -1]",
        "`y[torch.arange(y.size(0)), (ids != 0).sum(1) - 1]`",
    ),
    "the last state": (
        "_, h = self.rnn(x)\nx = h[-1]",
        "`pack_padded_sequence(x, (ids != 0).sum(1), batch_first=True,"
        " enforce_sorted=False)`",
    ),
    "the state without its first dim": (
        "_, h = self.rnn(x)\nx = h.squeeze(0)",
        "`pack_padded_sequence(x, (ids != 0).sum(1), batch_first=True,"
        " enforce_sorted=False)`",
    ),
    "a step of a call": ("x = self.rnn(x)[0][:, -1]", ""),
}
NOT_READ = {
    "no declared padding": "y, _ = self.rnn(self.plain(ids))\nx = y[:, -1]",
    "steps of each": "y, _ = self.rnn(x)\nx = y[torch.arange(len(y)), 3]",
    "all steps": "y, _ = self.rnn(x)\nx = y[:, -1] + y.amax(1)",
    "turned first": "y, _ = self.rnn(x.flip(1))\nx = y[:, -1]",
}


def _without_lengths(body: str) -> str:
    """The script whose model gets ids only."""
    text = SCRIPT.replace("forward(self, ids, lengths)", "forward(self, ids)")
    text = text.replace("model(ids, lengths)", "model(ids)").replace("{side}", "")
    text = text.replace(
        "        self.rnn", "        self.plain = nn.Embedding(30, 8)\n        self.rnn"
    )
    return text.replace("{body}", indent(body, " " * 8)).replace("COUNT", "4 + i % 9")


@pytest.mark.parametrize("name", READ)
def test_padding_that_is_declared_and_read_is_told(tmp_path: Path, name: str) -> None:
    body, edit = READ[name]
    report = rehearsed(tmp_path, _without_lengths(body))
    (finding,) = (f for f in report.findings if f.code != "no-gradient")
    assert finding.code == "padded-last-step"
    assert [fix.message for fix in finding.fixes[:1]] == [edit] * bool(edit)


@pytest.mark.parametrize("name", NOT_READ)
def test_padding_that_may_be_meant_is_quiet(tmp_path: Path, name: str) -> None:
    report = rehearsed(tmp_path, _without_lengths(NOT_READ[name]))
    assert "padded-last-step" not in [finding.code for finding in report.findings]


def test_lengths_that_are_read_and_equal_ones_are_quiet(tmp_path: Path) -> None:
    body = (
        "x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)\n"
        "_, h = self.rnn(x)\nx = h[-1]"
    )
    assert find(tmp_path, body) == []
    assert find(tmp_path, UNREAD["states"][0], count="7") == []
    assert find(tmp_path, "y, _ = self.rnn(x)\nx = y.mean(1)") == []


def test_padding_in_front_and_equal_lengths_are_quiet(tmp_path: Path) -> None:
    body = WRONG["an encoder"]
    assert find(tmp_path, body, side=', padding_side="left"') == []
    assert find(tmp_path, body, count="7") == []


ZEROED = """\
import torch
from torch import nn
from torch.nn import functional as F

PAD = 0
net = nn.Sequential(nn.Embedding(9, 8), nn.Linear(8, 9))
ids = torch.tensor([[3, 4, 5, 0], [6, 7, 0, 0]])
losses = F.cross_entropy(net(ids).transpose(1, 2), ids, reduction="none")
padding = ids == PAD
words = (ids != PAD).float()
{loss}
loss.backward()
"""


@pytest.mark.parametrize(
    ("loss", "edit"),
    [
        (
            "losses = losses.masked_fill(padding, 0.0)\nloss = losses.mean()",
            "`losses.sum() / (~padding).sum()`",
        ),
        ("loss = (losses * words).mean()", "`(losses * words).sum() / words.sum()`"),
        (
            "loss = torch.mean(words * losses)",
            "`(words * losses).sum() / words.sum()`",
        ),
        ("loss = (losses * words).sum() / words.sum()", ""),
        ("loss = (losses * words).mean() / words.mean()", ""),
        ("loss = losses.mean()", ""),
        ("loss = (losses * words).sum(1).mean()", ""),
        ("loss = losses[ids != PAD].mean()", ""),
    ],
)
def test_a_mean_of_losses_that_were_set_to_zero(
    loss: str, edit: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, ZEROED.format(loss=loss))
    fixes = [
        fix.message
        for finding in report.findings
        if "set to zero" in finding.message
        for fix in finding.fixes
    ]
    assert fixes == [edit] * bool(edit)


SEQUENCES = """\
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

torch.manual_seed(0)
{lengths}
rows = [torch.randn(n, 4) for n in (3, 9, 5, 9, 2, 7)]
target = torch.stack([row[-1, :1] for row in rows])
batch = pad_sequence(rows, batch_first={first})
rnn, head = nn.LSTM(4, 8, batch_first={first}), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
for epoch in range(2):
    {states}
    loss = (head({last}) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TENSOR = "lengths = torch.tensor([3, 9, 5, 9, 2, 7])"
PLAIN = "out, _ = rnn(batch)"
OF_LENGTHS = {
    "a tensor": (TENSOR, True, "out[:, -1]",
                 "`out[torch.arange(out.size(0)), lengths - 1]`"),
    "a list": ("seq_lens = [3, 9, 5, 9, 2, 7]", True, "out[:, -1, :]",
               "`out[torch.arange(out.size(0)), torch.tensor(seq_lens) - 1]`"),
    "time first": (TENSOR, False, "out[-1]",
                   "`out[lengths - 1, torch.arange(out.size(1))]`"),
}  # fmt: skip
NO_LENGTHS = {
    "not known": ("seed = 0", PLAIN, "out[:, -1]"),
    "taken": (TENSOR, PLAIN, "out[torch.arange(6), lengths - 1]"),
    "a mean too": (TENSOR, PLAIN, "(out[:, -1] + out.mean(1))"),
    "packed": (
        TENSOR,
        "out, (h, _) = rnn(pack_padded_sequence(batch, lengths, batch_first=True,"
        " enforce_sorted=False))",
        "h[-1]",
    ),
}


def find_last_steps(folder: Path, **words: object) -> list[list[str]]:
    """The checked edits of each finding of a last step."""
    report = rehearsed(folder, SEQUENCES.format(**words))
    assert report.complete
    return [
        [fix.message for fix in finding.fixes if fix.checked]
        for finding in report.findings
        if finding.code == "padded-last-step"
    ]


@pytest.mark.parametrize("name", OF_LENGTHS)
def test_a_last_step_beside_known_lengths_is_told(tmp_path: Path, name: str) -> None:
    lengths, first, last, edit = OF_LENGTHS[name]
    words = {"lengths": lengths, "first": first, "states": PLAIN, "last": last}
    assert find_last_steps(tmp_path, **words) == [[edit]]


@pytest.mark.parametrize("name", NO_LENGTHS)
def test_other_steps_of_sequences_are_quiet(tmp_path: Path, name: str) -> None:
    lengths, states, last = NO_LENGTHS[name]
    words = {"lengths": lengths, "first": True, "states": states, "last": last}
    assert find_last_steps(tmp_path, **words) == []
