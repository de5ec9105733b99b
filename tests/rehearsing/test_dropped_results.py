"""Results of out-of-place methods that are thrown away."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import time
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.rand(32, 6), torch.randint(0, 3, (32,)))
model, parts = nn.Linear(6, 3), nn.Module()
parts.relu, parts.quick = nn.ReLU(), nn.ReLU(inplace=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step(x, y):
    mask = x > 0.5
{body}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for x, y in DataLoader(data, batch_size=8):
    step(x, y)
"""
LOSS = "\nloss = F.cross_entropy(model(x), y)"
WRONG = {
    "masked": "x.masked_fill(mask, 0.0)" + LOSS,
    "a function": "torch.clamp(x, 0.1, 0.9)" + LOSS,
    "an activation": "h = model(x)\nF.relu(h)\nloss = F.cross_entropy(h, y)",
    "a layer": "h = model(x)\nparts.relu(h)\nloss = (h.sum(1) - y).square().mean()",
    "a dtype": "x = x.double()\nif x.dim() == 2:\n    x.float()\n"
               "loss = F.cross_entropy(model.double()(x), y)",
    "detached": "h = model(x)\nh.detach()\nloss = F.cross_entropy(h, y)",
    "gradients": "loss = F.cross_entropy(model(x), y)\nfor p in model.parameters():\n"
                 "    if p.grad is not None:\n        p.grad.data.clamp(-1, 1)",
    "values of parameters": "for p in model.parameters():\n"
                            "    p.data.clamp(-0.1, 0.1)" + LOSS,
    "added": "h = model(x)\nh.add(1.0)\nloss = F.cross_entropy(h, y)",
}  # fmt: skip
RIGHT = {
    "in place": "x.masked_fill_(mask, 0.0)" + LOSS,
    "a layer in place": "h = model(x)\nparts.quick(h)\nloss = F.cross_entropy(h, y)",
    "assigned": "x = x.masked_fill(mask, 0.0)" + LOSS,
    "a check": "try:\n    x.view(8, 6)\nexcept RuntimeError:\n    raise" + LOSS,
    "measured": "begin = time.perf_counter()\nx.relu()\n"
                "print(time.perf_counter() - begin)" + LOSS,
    "a model": "model.to('cpu')\nmodel.float()" + LOSS,
    "a model of one weight":
        "scale = nn.Linear(6, 6, bias=False)\nscale.double()\nscale.float()\n"
        "loss = F.cross_entropy(model(scale(x)), y)",
    "a model of doubles": "model.double()\nmodel.float()" + LOSS,
    "gradients in place": "loss = F.cross_entropy(model(x), y)\n"
                          "for p in model.parameters():\n"
                          "    if p.grad is not None:\n"
                          "        p.grad.data.clamp_(-1, 1)",
    "already there": "x.to('cpu')\nx.float()" + LOSS,
    "never read": "z = torch.zeros(3)\nz.relu()" + LOSS,
    "a reduction": "x.sum()" + LOSS,
}  # fmt: skip


def find_codes(folder: Path, body: str) -> list[str]:
    report = rehearsed(folder, SCRIPT.format(body=indent(body, "    ")))
    assert report.complete
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize("name", WRONG)
def test_a_result_that_is_thrown_away_is_found(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, WRONG[name]) == ["result-dropped"]


@pytest.mark.parametrize("name", RIGHT)
def test_calls_that_change_or_show_are_quiet(name: str, tmp_path: Path) -> None:
    assert "result-dropped" not in find_codes(tmp_path, RIGHT[name])


def test_the_result_of_a_layer_is_assigned(tmp_path: Path) -> None:
    body = indent(WRONG["a layer"], "    ")
    (finding,) = rehearsed(tmp_path, SCRIPT.format(body=body)).findings
    assert "`h` stays as it was" in finding.message
    assert finding.fixes[0].message == "`h = parts.relu(h)`"


def test_the_edit_assigns_the_result(tmp_path: Path) -> None:
    body = indent(WRONG["masked"], "    ")
    (finding,) = rehearsed(tmp_path, SCRIPT.format(body=body)).findings
    assert "`x` stays as it was" in finding.message
    assert [fix.message for fix in finding.fixes] == ["`x = x.masked_fill(mask, 0.0)`"]


OVERWRITTEN = {
    "by None": (
        "seen = mask & mask.flip(1)\nseen = None\n"
        "x = x if seen is None else x.masked_fill(seen, 0.0)" + LOSS,
        "without `seen = None`",
    ),
    "by the next layer": (
        "h = parts.relu(x)\nh = model(x)\nloss = F.cross_entropy(h, y)",
        "`h = model(h)`",
    ),
}
READ = {
    "by the next layer": "h = parts.relu(x)\nh = model(h)\n"
                         "loss = F.cross_entropy(h, y)",
    "between": "h = parts.relu(x)\nprint(h.shape)\nh = model(x)\n"
               "loss = F.cross_entropy(h, y)",
    "the same again": "h = model(x)\nh = model(x)\nloss = F.cross_entropy(h, y)",
    "in one case": "h = parts.relu(x)\nif x.dim() == 3:\n    h = None\n"
                   "loss = F.cross_entropy(model(h), y)",
}  # fmt: skip


@pytest.mark.parametrize("name", OVERWRITTEN)
def test_a_name_that_gets_another_value_at_once_is_told(
    name: str, tmp_path: Path
) -> None:
    body, edit = OVERWRITTEN[name]
    (finding,) = rehearsed(tmp_path, SCRIPT.format(body=indent(body, "    "))).findings
    assert finding.code == "result-dropped"
    assert "gets another value here" in finding.message
    assert [fix.message for fix in finding.fixes] == [edit]


@pytest.mark.parametrize("name", READ)
def test_a_value_that_is_read_or_computed_twice_is_quiet(
    name: str, tmp_path: Path
) -> None:
    assert "result-dropped" not in find_codes(tmp_path, READ[name])


COPIES = """\
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)


def load(seed):
    rows = np.random.rand(40, 3)
    names = list(range(40))
    values = np.arange(40)
    STATEMENT
    first = rows[values][names]
    return torch.tensor(first, dtype=torch.float32)


model = nn.Linear(3, 1)
loss = model(load(0)).square().mean()
loss.backward()
"""


@pytest.mark.parametrize(
    ("statement", "edit"),
    [
        ("rng.permutation(names)", "`names = rng.permutation(names)`"),
        ("np.random.permutation(values)", "`values = np.random.permutation(values)`"),
        ("np.append(values, 3)", "`values = np.append(values, 3)`"),
        ("sorted(names)", "`names = sorted(names)`"),
        ("rows.astype(np.float32)", "`rows = rows.astype(np.float32)`"),
    ],
)
def test_copies_that_are_thrown_away(statement: str, edit: str, tmp_path: Path) -> None:
    text = COPIES.replace("STATEMENT", statement)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "result-dropped"
    assert finding.fixes[0].message == edit


@pytest.mark.parametrize(
    "statement",
    [
        "names = rng.permutation(names)",
        "rng.shuffle(names)",
        "np.clip(values, 0, 39, out=values)",
        "sorted(rng.normal(size=4))",
        "names.append(3)",
        "np.flip(rows)\n    rows = np.ones((40, 3))",
    ],
)
def test_what_changes_in_place_is_no_copy(statement: str, tmp_path: Path) -> None:
    text = COPIES.replace("STATEMENT", statement)
    assert not rehearsed(tmp_path, text).findings


TABLE = """\
import pandas as pd
import torch
from torch import nn


def load():
    table = pd.DataFrame({"a": [float(i) for i in range(40)], "b": [1.0, 2.0] * 20})
    STATEMENT
    return torch.tensor(table.to_numpy(), dtype=torch.float32)


model = nn.Linear(2, 1)
loss = model(load()).square().mean()
loss.backward()
"""


@pytest.mark.parametrize(
    ("statement", "edit"),
    [
        ("table.dropna()", "`table = table.dropna()`"),
        ("table.sort_values('a')", "`table = table.sort_values('a')`"),
        ("table.drop(index=[0])", "`table = table.drop(index=[0])`"),
        ("table.dropna(inplace=True)", ""),
        ("table.drop(index=[0], inplace=True)", ""),
    ],
)
def test_tables_that_are_thrown_away(statement: str, edit: str, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    findings = rehearsed(tmp_path, TABLE.replace("STATEMENT", statement)).findings
    fixes = [finding.fixes[0].message for finding in findings]
    assert fixes == ([edit] if edit else [])
