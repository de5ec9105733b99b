"""Values that break a training: NaN, logarithms and roots of 0, states and arrays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(0)
table = rng.normal(2.0, 0.3, (60, 5))
labels = torch.tensor(rng.integers(0, 3, 60))
"""
TRAINING = """
model = nn.Sequential(nn.Linear(features.shape[1], 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.Adam(model.parameters())
for x, y in DataLoader(TensorDataset(features, labels), 20, shuffle=True):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
BLANKS = "table[3, 1] = table[7, 2] = np.nan\n"


def list_codes(folder: Path, text: str) -> list[str]:
    report = rehearsed(folder, text)
    assert report.complete
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize(
    "line",
    [
        "features = torch.tensor(table, dtype=torch.float32)\n",
        "features = torch.from_numpy(table).float()\n",
        "features = torch.as_tensor(table.astype('float32'))\n"
        "features = (features - features.mean(0)) / features.std(0)\n",
        "features = torch.stack([torch.tensor(row).float() for row in table])\n",
    ],
)
def test_blank_cells_that_reach_a_layer(line: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + BLANKS + line + TRAINING)
    assert {finding.code for finding in report.findings} == {"nan-in-data"}
    assert "NaN" in report.findings[0].message


@pytest.mark.parametrize(
    "line",
    [
        "features = torch.nan_to_num(torch.tensor(table)).float()\n",
        "features = torch.tensor(table).float()\n"
        "features = torch.where(torch.isnan(features), 0.0, features)\n",
        "features = torch.tensor(table).float()\n"
        "features = torch.cat([features, features])[:60].nan_to_num(0.0)\n",
        "keep = ~np.isnan(table).any(1)\n"
        "features = torch.tensor(table[keep]).float()\nlabels = labels[keep]\n",
        "scores = torch.tensor(table).float()\nfeatures = torch.randn(60, 4)\n",
    ],
)
def test_nothing_is_said_of_blank_cells_that_are_replaced(
    line: str, tmp_path: Path
) -> None:
    assert list_codes(tmp_path, HEAD + BLANKS + line + TRAINING) == []


FRAME = """
class Frame:
    def __init__(self, rows):
        self.values = rows

    def mean(self):
        return np.nanmean(self.values, 0)

    def fillna(self, means):
        return Frame(np.where(np.isnan(self.values), means, self.values))


frame = Frame(table)
features = torch.tensor(frame.values, dtype=torch.float32)
"""


def test_a_table_that_is_filled_by_the_mean_of_its_columns(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + BLANKS + FRAME + TRAINING)
    (finding,) = report.findings
    assert finding.fixes[0].message == "`frame.fillna(frame.mean())`"


@pytest.mark.parametrize(
    "line",
    [
        "features = torch.log(torch.tensor(table).float())\n",
        "features = torch.from_numpy(table).abs().pow(2).float().log10()\n",
        "features = torch.stack([torch.tensor(row).float().log() for row in table])\n",
    ],
)
def test_logarithms_of_zeros_in_data(line: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + "table[:5] = 0.0\n" + line + TRAINING)
    (finding,) = report.findings
    assert finding.code == "log-of-zero"
    assert "minus infinity" in finding.message
    assert "clamp(min=1e-10)" in finding.fixes[0].message


@pytest.mark.parametrize(
    "line",
    [
        "features = torch.log(torch.tensor(table).float() + 1e-6)\n",
        "features = torch.log1p(torch.tensor(table).float())\n",
        "features = torch.tensor(table).float().clamp(min=1e-8).log()\n",
        "features = torch.tensor(table).float().log().clamp(min=-10)\n",
        "features = torch.tensor(table).float().exp().log()\n",
        "features = torch.tensor(table[5:]).float().log()\nlabels = labels[5:]\n",
    ],
)
def test_nothing_is_said_of_logarithms_that_are_limited(
    line: str, tmp_path: Path
) -> None:
    assert list_codes(tmp_path, HEAD + "table[:5] = 0.0\n" + line + TRAINING) == []


def test_zeros_that_stand_for_an_absent_file_are_not_data(tmp_path: Path) -> None:
    lines = "table = np.load('absent.npy')\n"
    lines += "features = torch.log(torch.tensor(table).float()).reshape(60, -1)\n"
    report = rehearsed(tmp_path, HEAD + lines + TRAINING)
    assert "log-of-zero" not in [finding.code for finding in report.findings]


DISTANCES = """
features = torch.tensor(table).float()
model = nn.Linear(5, 4)
optimizer = torch.optim.Adam(model.parameters())
for x, y in DataLoader(TensorDataset(features, labels), 20, shuffle=True):
    z = model(x)
    {0}
    same = y[:, None] == y[None]
    farthest, nearest = (d * same).max(1).values, d.masked_fill(same, 9.0).min(1).values
    loss = farthest.mean() - nearest.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "line",
    [
        "d = ((z[:, None] - z[None]) ** 2).sum(-1).sqrt()",
        "d = torch.sqrt((z.unsqueeze(0) - z.unsqueeze(1)).pow(2).sum(2))",
        "p = z @ z.T; s = p.diag(); d = (s[None] + s[:, None] - 2 * p).relu().sqrt()",
        "s = (z ** 2).sum(1); d = (s[:, None] + s[None] - 2 * z.mm(z.t())) ** 0.5",
    ],
)
def test_roots_of_the_distance_of_a_sample_to_itself(line: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + DISTANCES.format(line))
    (finding,) = report.findings
    assert finding.code == "root-of-zero"
    assert "clamp(min=1e-12)" in finding.fixes[0].message


@pytest.mark.parametrize(
    "line",
    [
        "d = torch.cdist(z, z)",
        "d = (z[:, None] - z[None]).norm(dim=-1)",
        "d = (((z[:, None] - z[None]) ** 2).sum(-1) + 1e-8).sqrt()",
        "d = ((z[:, None] - z[None]) ** 2).sum(-1).clamp(min=1e-9).sqrt()",
        "w = z.flip(0).detach(); d = ((z[:, None] - w[None]) ** 2).sum(-1).sqrt()",
        "d = ((z[:, None] - z[None]) ** 2).sum(-1)",
    ],
)
def test_nothing_is_said_of_other_distances(line: str, tmp_path: Path) -> None:
    assert list_codes(tmp_path, HEAD + DISTANCES.format(line)) == []


SAMPLING = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(9, 8), nn.Linear(8, 9)
        self.rnn = nn.LSTM(8, 8, batch_first=True)

    def forward(self, tokens, state=None):
        out, state = self.rnn(self.embedding(tokens), state)
        return self.head(out), state


model = Net()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    tokens = torch.randint(9, (4, 11))
    logits, _ = model(tokens[:, :-1])
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
model.eval()
token, state = torch.tensor([[1]]), None
with torch.no_grad():
    for _ in range(8):
        {0}
        token = logits[:, -1:].argmax(-1)
"""


def test_a_sampling_loop_that_drops_the_state(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path, HEAD + SAMPLING.format("logits, _ = model(token, state)")
    )
    (finding,) = report.findings
    assert finding.code == "state-dropped"
    assert finding.fixes[0].message == "`logits, state = model(..., state)`"


@pytest.mark.parametrize(
    "line",
    [
        "logits, state = model(token, state)",
        "token = torch.cat([token, token[:, -1:]], 1); logits, _ = model(token)",
    ],
)
def test_a_sampling_loop_that_hands_on_the_state_or_all_tokens(
    line: str, tmp_path: Path
) -> None:
    assert list_codes(tmp_path, HEAD + SAMPLING.format(line)) == []


METRICS = """
features = torch.tensor(table[:, 1:]).float()
targets = torch.tensor(table[:, 0]).float()
model = nn.Linear(4, 1)
model.eval()
predictions, truths = [], []
with torch.no_grad():
    for x, y in DataLoader(TensorDataset(features, targets), 20):
        predictions.append(model(x){0})
        truths.append(y{1})
{2}
"""
ARRAYS = "p, t = np.concatenate(predictions), np.concatenate(truths)\n"
TENSORS = "p, t = torch.cat(predictions), torch.cat(truths)\n"


@pytest.mark.parametrize(
    "line",
    ["e = np.abs(p - t).mean()", "e = 1 - ((t - p) ** 2).sum()", "e = (p == t).mean()"],
)
def test_arrays_of_all_batches_that_broadcast(line: str, tmp_path: Path) -> None:
    text = HEAD + METRICS.format(".numpy()", ".numpy()", ARRAYS + line)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "arrays-broadcast"
    assert "`p` (60, 1)" in finding.message
    assert finding.fixes[0].message == "`p.ravel()`"


@pytest.mark.parametrize(
    "line",
    [
        "e = np.abs(p.ravel() - t).mean()",
        "e = np.abs(p - t[:, None]).mean()",
        "e = np.abs(p - p.ravel()).mean()",
        "import copy, pickle\ne = pickle.loads(pickle.dumps(copy.deepcopy(p))) - p\n"
        "assert repr(p).startswith('array(')\n"
        "assert torch.from_numpy(p).shape == (60, 1)",
    ],
)
def test_nothing_is_said_of_arrays_of_one_shape(line: str, tmp_path: Path) -> None:
    text = HEAD + METRICS.format(".numpy()", ".numpy()", ARRAYS + line)
    assert list_codes(tmp_path, text) == []


def test_tensors_of_all_batches_that_broadcast(tmp_path: Path) -> None:
    text = HEAD + METRICS.format("", "", TENSORS + "e = (t - p).abs().mean()")
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "outer-broadcast"
    assert "each of the 60 samples" in finding.message


def test_nothing_is_said_of_tensors_of_one_shape(tmp_path: Path) -> None:
    text = HEAD + METRICS.format("[:, 0]", "", TENSORS + "e = (t - p).abs().mean()")
    assert list_codes(tmp_path, text) == []


MASKED = """
features = torch.tensor(table).float()
model = nn.Linear(5, 4)
optimizer = torch.optim.Adam(model.parameters())
keep = torch.ones(20, 4)
{0}
for x, y in DataLoader(TensorDataset(features, labels), 20, shuffle=True):
    p = model(x).softmax(-1)
    {1}
    loss = nn.functional.nll_loss(model(x).log_softmax(-1), y) - 0.1 * entropy.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SOME = "keep[::3, 2] = 0.0"


@pytest.mark.parametrize(
    ("mask", "line"),
    [
        (SOME, "p = p * keep; entropy = -(p * torch.log(p)).sum(-1)"),
        (SOME, "p = p * keep; p = p / p.sum(-1, keepdim=True); entropy = -p.log()"),
        (SOME, "p = p * keep; entropy = -(p * p.log()).nan_to_num()"),
        (SOME, "p = p * keep; e = -p.log(); entropy = torch.where(keep > 0, e, 0 * e)"),
    ],
)
def test_logarithms_of_masked_probabilities(
    mask: str, line: str, tmp_path: Path
) -> None:
    text = HEAD + MASKED.format(mask, line.replace("; ", "\n    "))
    findings = [f for f in rehearsed(tmp_path, text).findings if "log" in f.code]
    assert [finding.code for finding in findings] == ["log-of-zero"]
    assert "in backward NaN" in findings[0].message
    assert "clamp(min=1e-10)" in findings[0].fixes[0].message


@pytest.mark.parametrize(
    ("mask", "line"),
    [
        ("", "p = p * keep; entropy = -(p * torch.log(p)).sum(-1)"),
        (SOME, "p = p * keep; entropy = -(p * torch.log(p + 1e-8)).sum(-1)"),
        (SOME, "p = p * keep; entropy = -(p * p.clamp_min(1e-8).log()).sum(-1)"),
        (SOME, "p = p * keep; entropy = -torch.special.xlogy(p, p).sum(-1)"),
        (SOME, "entropy = -(p * p.log() * keep).sum(-1)"),
        (SOME, "p = (p * keep).sum(-1); entropy = -p.log()"),
        (SOME, "p = (p * keep)[keep > 0]; entropy = -(p * p.log())"),
    ],
)
def test_limited_or_chosen_probabilities_are_right(
    mask: str, line: str, tmp_path: Path
) -> None:
    text = HEAD + MASKED.format(mask, line.replace("; ", "\n    "))
    assert "log-of-zero" not in list_codes(tmp_path, text)
