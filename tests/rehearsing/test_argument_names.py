"""Arguments whose names say something else than the parameter that gets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import argparse

import torch
import torch.nn.functional as F
import torch.optim as optim
from torch import nn
from torch.optim import RMSprop

model = nn.Linear(6, 3)
params = model.parameters()
x = torch.randn(4, 6)


"""
WRONG = {
    "constants": (
        "LR, MOMENTUM, WEIGHT_DECAY = 0.1, 0.9, 5e-4\n"
        "torch.optim.SGD(params, LR, MOMENTUM, WEIGHT_DECAY)\n",
        "`weight_decay=WEIGHT_DECAY`",
    ),
    "a number": (
        "optim.SGD(params, 0.1, 0.9, 1e-4)\n",
        "`weight_decay=1e-4`",
    ),
    "a dict of settings": (
        "cfg = {'lr': 0.1, 'wd': 1e-4}\n"
        "optim.SGD(params, cfg['lr'], 0.9, cfg['wd'], nesterov=True)\n",
        "`weight_decay=cfg['wd']`",
    ),
    "two": (
        "wd, momentum = 1e-4, 0.9\n"
        "optim.SGD(params, 0.1, wd, momentum)\n",
        "`weight_decay=wd, momentum=momentum`",
    ),
    "eps of Adam": (
        "args = argparse.Namespace(weight_decay=0.01)\n"
        "optim.AdamW(params, 1e-3, (0.9, 0.98), args.weight_decay)\n",
        "`weight_decay=args.weight_decay`",
    ),
    "alpha of RMSprop": (
        "momentum = 0.9\n"
        "RMSprop(params, 1e-3, momentum)\n",
        "`momentum=momentum`",
    ),
    "rate of Adagrad": (
        "l2_reg = 1e-4\n"
        "optim.Adagrad(params, 1e-2, l2_reg)\n",
        "`weight_decay=l2_reg`",
    ),
    "kept": (
        "KEEP_PROB = 0.9\n"
        "nn.Dropout(KEEP_PROB)\n",
        "`1 - KEEP_PROB`",
    ),
    "kept, in a model": (
        "class Net(nn.Module):\n"
        "    def __init__(self, keep_prob=0.8):\n"
        "        super().__init__()\n"
        "        self.keep_prob = keep_prob\n"
        "        self.fc = nn.Linear(6, 3)\n\n"
        "    def forward(self, x):\n"
        "        h = self.fc(x)\n"
        "        return F.dropout(h, p=self.keep_prob, training=self.training)\n\n\n"
        "Net()(x)\n",
        "`1 - self.keep_prob`",
    ),
    "kept, of a recurrent layer": (
        "p_keep = 0.8\n"
        "nn.LSTM(6, 8, num_layers=2, dropout=p_keep)\n",
        "`1 - p_keep`",
    ),
    "one minus the share to drop": (
        "dropout = 0.1\n"
        "nn.Dropout(1 - dropout)\n",
        "`dropout`",
    ),
}  # fmt: skip
RIGHT = {
    "by name": "optim.SGD(params, 0.1, 0.9, weight_decay=1e-4)\n",
    "in its place": "wd = 1e-4\noptim.SGD(params, 0.1, 0.9, 0, wd)\n",
    "a dampening": "dampening = 0.01\noptim.SGD(params, 0.1, 0.9, dampening)\n",
    "a large number": "optim.SGD(params, 0.1, 0.9, 0.1)\n",
    "eps": "epsilon = 1e-6\noptim.Adam(params, 1e-3, (0.9, 0.99), epsilon)\n",
    "in the place of Adam": "wd = 0.1\noptim.Adam(params, 1, (0.9, 0.9), 1e-8, wd)\n",
    "a decay of averages": "decay = 0.9\noptim.RMSprop(params, 1e-3, decay)\n",
    "a decay of the rate": "lr_decay = 1e-3\noptim.Adagrad(params, 1e-2, lr_decay)\n",
    "a class of its own": (
        "class SGD:\n"
        "    def __init__(self, params, lr, momentum, weight_decay):\n"
        "        self.lr = lr\n\n\n"
        "weight_decay = 1e-4\n"
        "SGD(params, 0.1, 0.9, weight_decay)\n"
    ),
    "a share to drop": "p_drop = 0.1\nnn.Dropout(p_drop)\n",
    "one minus": "keep_prob = 0.9\nnn.Dropout(1 - keep_prob)\n",
    "half": "keep_prob = 0.5\nnn.Dropout(keep_prob)\n",
    "a small number under the name": "keep_prob = 0.1\nnn.Dropout(keep_prob)\n",
    "an argument of small value": (
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--keep_prob', type=float, default=0.2)\n"
        "args = parser.parse_args()\n"
        "nn.Dropout(args.keep_prob)\n"
    ),
    "a layer of its own": (
        "class Dropout(nn.Module):\n"
        "    def __init__(self, keep_prob):\n"
        "        super().__init__()\n"
        "        self.drop = nn.Identity()\n\n\n"
        "keep_prob = 0.9\n"
        "Dropout(keep_prob)\n"
    ),
    "a large share to drop": "dropout = 0.9\nnn.Dropout(1 - dropout)\n",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_misplaced_argument_is_reported(tmp_path: Path, name: str) -> None:
    body, edit = WRONG[name]
    findings = rehearsed(tmp_path, SCRIPT + body).findings
    finding = next(f for f in findings if f.code == "misplaced-argument")
    assert [fix.message for fix in finding.fixes] == [edit]


@pytest.mark.parametrize("name", RIGHT)
def test_an_argument_in_its_place_is_not_reported(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, SCRIPT + RIGHT[name]).findings
    assert "misplaced-argument" not in {f.code for f in findings}


LOSSES = """\
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(6, 3)
x, labels = torch.randn(4, 6), torch.rand(4, 3)
labels_a = labels / labels.sum(1, keepdim=True)


def soft_loss(logits, labels, weight=1.0):
    return -(labels * F.log_softmax(logits, dim=-1)).sum(-1).mean() * weight


def squared(pred, target):
    return (pred - target).square().mean()


class Soft(nn.Module):
    def forward(self, pred, target):
        return -(target * pred.log_softmax(-1)).sum(-1).mean()


criterion = Soft()
logits_a = model(x)
"""
EXCHANGED = {
    "a function": ("soft_loss(labels_a, logits_a, 0.5).backward()\n",
        "`logits_a, labels_a, 0.5`"),
    "a module": ("criterion(labels, logits_a).backward()\n", "`logits_a, labels`"),
    "in a class": (
        "class Trainer:\n"
        "    def __init__(self):\n"
        "        self.loss = Soft()\n\n"
        "    def step(self, x, targets):\n"
        "        preds = model(x)\n"
        "        self.loss(targets, preds).backward()\n\n\n"
        "Trainer().step(x, labels)\n",
        "`preds, targets`",
    ),
}  # fmt: skip
IN_ORDER = {
    "in its place": "soft_loss(logits_a, labels_a).backward()\n",
    "a symmetric function": "squared(labels, logits_a).backward()\n",
    "both ways": (
        "loss = soft_loss(logits_a, labels)\n"
        "(loss + soft_loss(labels, logits_a)).backward()\n"
    ),
    "by name": "soft_loss(labels=labels, logits=logits_a).backward()\n",
    "scores of both": (
        "label_logits = logits_a\nsoft_loss(label_logits, logits_a).backward()\n"
    ),
    "names of something else": (
        "student = logits_a\nsoft_loss(student, logits_a).backward()\n"
    ),
    "parameters that are named so": (
        "def turned(target, logits):\n"
        "    return -(logits * target.log_softmax(-1)).sum(-1).mean()\n\n\n"
        "turned(logits_a, labels).backward()\n"
    ),
}


@pytest.mark.parametrize("name", EXCHANGED)
def test_exchanged_labels_are_reported(tmp_path: Path, name: str) -> None:
    body, edit = EXCHANGED[name]
    findings = rehearsed(tmp_path, LOSSES + body).findings
    finding = next(f for f in findings if f.code == "misplaced-argument")
    assert [fix.message for fix in finding.fixes] == [edit]


@pytest.mark.parametrize("name", IN_ORDER)
def test_labels_in_their_place_are_not_reported(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, LOSSES + IN_ORDER[name]).findings
    assert "misplaced-argument" not in {f.code for f in findings}


OWN_FUNCTION = """\
import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def keep(self, hidden, query_len, memory_len):
        return hidden[max(0, memory_len - query_len):]

    def forward(self, hidden, query_len, memory_len):
        CALL
        return self.layer(kept)


model = Memory()
loss = model(torch.randn(9, 4), 3, 5).square().mean()
loss.backward()
"""


@pytest.mark.parametrize(
    ("call", "edits"),
    [
        ("kept = self.keep(hidden, memory_len, query_len)",
         ["`hidden, query_len, memory_len`"]),
        ("kept = self.keep(hidden, query_len, memory_len)", []),
        ("kept = self.keep(hidden, memory_len=memory_len, query_len=query_len)", []),
        ("kept = self.keep(hidden, memory_len, query_len);"
         " kept = kept + self.keep(hidden, query_len, memory_len)", []),
        ("total = 5; kept = self.keep(hidden, memory_len, total)", []),
    ],
    ids=["exchanged", "in order", "by name", "both ways", "another name"],
)  # fmt: skip
def test_two_arguments_that_have_changed_places(
    call: str, edits: list[str], tmp_path: Path
) -> None:
    findings = rehearsed(tmp_path, OWN_FUNCTION.replace("CALL", call)).findings
    told = [each for each in findings if each.code == "misplaced-argument"]
    assert [each.fixes[0].message for each in told] == edits
