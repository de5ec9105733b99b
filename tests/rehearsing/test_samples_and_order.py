"""Samples taken for steps, rows out of order, conditions without effect: what is said
of each, and that nothing is said of what looks alike.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader, TensorDataset

"""
TEXTS = """\
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 8)
        self.rnn = nn.LAYER
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.embedding(x)
        x, _ = self.rnn(CALL)
        return self.head(x)

data = TensorDataset(torch.randint(30, (48, 6)), torch.randint(5, (48, 6)))
tagger = Tagger()
optimizer = torch.optim.Adam(tagger.parameters())
for words, tags in DataLoader(data, 16):
    loss = F.cross_entropy(tagger(words).transpose(1, 2), tags)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def write_tagger(layer: str, call: str = "x") -> str:
    """Return a tagger whose texts a loader gives, with a layer over the words."""
    return TEXTS.replace("LAYER", layer).replace("CALL", call)


PAIRS = """\
class Texts(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 8)
        self.rnn = nn.GRU(8, 12, batch_first=True)

    def forward(self, words, lengths):
        SORT
        packed = pack_padded_sequence(self.embedding(words), lengths, True)
        out, state = self.rnn(packed)
        RESULT

data = TensorDataset(
    torch.randn(48, 6), torch.randint(1, 30, (48, 7)), torch.randint(2, 8, (48,))
)
images, texts = nn.Linear(6, 12), Texts()
optimizer = torch.optim.Adam([*images.parameters(), *texts.parameters()])
for pictures, words, lengths in DataLoader(data, 16):
    left, right = images(pictures), texts(words, lengths)
    scores = SCORES
    loss = F.cross_entropy(scores, torch.arange(len(scores)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SORTS = "lengths, order = lengths.sort(descending=True); words = words[order]"
BY_ARGSORT = """\
order = lengths.argsort(descending=True)
        words, lengths = words[order], lengths[order]"""
LAST = """\
padded, _ = pad_packed_sequence(out, batch_first=True)
        last = (lengths - 1).view(-1, 1, 1).expand(-1, 1, padded.size(2))
        return padded.gather(1, last).squeeze(1)"""


def write_pairs(sort: str, result: str, scores: str = "left @ right.t()") -> str:
    """Return two encoders whose outputs are compared, one with sorted rows."""
    text = PAIRS.replace("SORT", sort).replace("RESULT", result)
    return text.replace("SCORES", scores)


NORM = """\
class NAME(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(WIDTH))
        self.bias = nn.Parameter(torch.zeros(WIDTH))

    def forward(self, z):
        BODY

norm, head = NAME(8), nn.Linear(8, 3)
data = TensorDataset(torch.randn(32, 5, 8), torch.randint(3, (32, 5)))
optimizer = torch.optim.Adam([*norm.parameters(), *head.parameters()])
for steps, classes in DataLoader(data, 16):
    loss = F.cross_entropy(head(norm(steps)).transpose(1, 2), classes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def write_norm(body: str, name: str = "LayerNorm", width: str = "width") -> str:
    """Return a training of a norm that the program writes itself."""
    text = NORM.replace("NAME", name).replace("WIDTH", width)
    return text.replace("BODY", body)


METRICS = """\
def accuracy(scores, labels):
    return np.sum(np.argmax(scores, axis=1) == labels) / float(labels.size)

metrics = {"accuracy": accuracy}
model = nn.Linear(6, 3).eval()
data = TensorDataset(torch.randn(ROWS, 6), torch.randint(3, (ROWS,)))
results, sizes = [], []
with torch.no_grad():
    for x, labels in DataLoader(data, 16):
        scores = model(x)
        RESULT
print(MEAN)
"""


def write_metrics(result: str, mean: str, rows: str = "53") -> str:
    """Return an evaluation that collects a dict for each batch."""
    text = METRICS.replace("ROWS", rows).replace("RESULT", result)
    return text.replace("MEAN", mean)


BY_NAME = """\
summary = {k: metrics[k](scores.numpy(), labels.numpy()) for k in metrics}
        summary["loss"] = F.cross_entropy(scores, labels).item()
        results.append(summary)"""
BY_HAND = 'results.append({"acc": (scores.argmax(1) == labels).float().mean().item()})'
PROBABILITIES = """\
encoder = nn.Linear(6, 4)
optimizer = torch.optim.Adam(encoder.parameters())
for x, in DataLoader(TensorDataset(torch.randn(32, 6)), 16):
    p = encoder(x)ACTIVATION
    index = torch.randint(4, (16, 3))
    loss = LOSS
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def write_loss(activation: str, loss: str) -> str:
    """Return a training with a loss of what an encoder gives."""
    return PROBABILITIES.replace("ACTIVATION", activation).replace("LOSS", loss)


BRANCHES = """\
def collect(model, of_bias=False):
    decayed, others = [], []
    for name, parameter in model.named_parameters():
        FIRST
    return [{"params": decayed, "weight_decay": 0.1}, {"params": others}]

model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(collect(model), lr=0.1)
model(torch.randn(4, 6)).square().mean().backward()
optimizer.step()
"""


def write_branches(first: str) -> str:
    """Return a program that sorts parameters into groups."""
    return BRANCHES.replace(
        "FIRST", dedent(first).strip().replace("\n", "\n" + " " * 8)
    )


WRONG = {
    "an LSTM over the samples": (write_tagger("LSTM(8, 8)"), "layout"),
    "a GRU of two layers over the samples": (
        write_tagger("GRU(8, 8, num_layers=2)"), "layout",
    ),
    "attention over the samples": (
        write_tagger("MultiheadAttention(8, 2)", "x, x, x"), "layout",
    ),
    "an encoder's last state in the order of lengths": (
        write_pairs(SORTS, "return state[-1]"), "paired-rows",
    ),
    "an encoder's last step in the order of lengths": (
        write_pairs(BY_ARGSORT, LAST), "paired-rows",
    ),
    "similarities of pairs in other orders": (
        write_pairs(
            SORTS, "return state[-1]",
            "torch.cat([(left * right).sum(1, keepdim=True), left], 1)",
        ), "paired-rows",
    ),
    "a layer norm over the steps": (
        write_norm(
            "return (z - z.mean(1, keepdim=True)) / (z.std(1, keepdim=True) + 1e-5)"
            " * self.gain + self.bias"
        ), "wrong-axis",
    ),
    "another name of a layer norm": (
        write_norm(
            "mu = torch.mean(z, dim=1, keepdim=True)\n"
            "        var = torch.var(z, dim=1, keepdim=True)\n"
            "        z = (z - mu) / torch.sqrt(var + 1e-5)\n"
            "        return self.gain.mul(z) + self.bias", "MyLayerNormalization",
        ), "wrong-axis",
    ),
    "accuracies of batches from a dict of functions": (
        write_metrics(BY_NAME, "[np.mean([r[k] for r in results]) for k in metrics]"),
        "mean-of-means",
    ),
    "accuracies of batches by a key": (
        write_metrics(BY_HAND, 'np.mean([r["acc"] for r in results])'),
        "mean-of-means",
    ),
    "probabilities behind a padding": (
        write_loss(
            ".softmax(-1)",
            "F.cross_entropy(F.pad(p, (1, 1)), torch.randint(6, (16,)))",
        ), "loss-input",
    ),
    "probabilities behind a gather": (
        write_loss(
            ".softmax(dim=1)",
            "F.cross_entropy(p.gather(1, index), torch.randint(3, (16,)))",
        ), "loss-input",
    ),
    "both branches to one list": (
        write_branches("""
            if of_bias:
                decayed.append(parameter)
            else:
                decayed.append(parameter)
        """), "same-branches",
    ),
    "one value for both": (
        write_branches("(decayed if of_bias else decayed).append(parameter)"),
        "same-branches",
    ),
}  # fmt: skip
RIGHT = {
    "an LSTM with the batch first": write_tagger("LSTM(8, 8, batch_first=True)"),
    "attention with the batch first": write_tagger(
        "MultiheadAttention(8, 2, batch_first=True)", "x, x, x"
    ),
    "a sequence of one sample": write_tagger("LSTM(8, 8, batch_first=True)").replace(
        "DataLoader(data, 16)", "DataLoader(data, 1)"
    ),
    "rows put back by argsort": write_pairs(SORTS, "return state[-1][order.argsort()]"),
    "rows put back by index": write_pairs(
        BY_ARGSORT,
        "back = torch.empty_like(order); back[order] = torch.arange(len(order))\n"
        "        return state[-1].index_select(0, back)",
    ),
    "images in the same order": write_pairs(
        SORTS, "return state[-1], order", "(left[right[1]] @ right[0].t())"
    ),
    "a layer norm over the features": write_norm(
        "return (z - z.mean(-1, keepdim=True)) / (z.std(-1, keepdim=True) + 1e-5)"
        " * self.gain + self.bias"
    ),
    "a norm of each series": write_norm(
        "return (z - z.mean(1, keepdim=True)) / (z.std(1, keepdim=True) + 1e-5)"
        " * self.gain + self.bias",
        "RevIN",
    ),
    "a layer norm with the channels first": write_norm(
        "return (z - z.mean(1, keepdim=True)) / (z.std(1, keepdim=True) + 1e-5)"
        " * self.gain[:, None] + self.bias[:, None]",
        width="5",
    ),
    "weights for the batches": write_metrics(
        BY_HAND + "; sizes.append(len(labels))",
        'np.average([r["acc"] for r in results], weights=sizes)',
    ),
    "batches of one size": write_metrics(
        BY_HAND, 'np.mean([r["acc"] for r in results])', "48"
    ),
    "dicts without an accuracy": write_metrics(
        'results.append({"top": scores.max().item()})',
        'np.mean([r["top"] for r in results])',
    ),
    "scores behind a padding": write_loss(
        "", "F.cross_entropy(F.pad(p, (1, 1)), torch.randint(6, (16,)))"
    ),
    "log-probabilities of choices": write_loss(
        ".log_softmax(1)", "-p.gather(1, index).mean()"
    ),
    "branches that differ": write_branches("""
        if of_bias:
            decayed.append(parameter)
        else:
            others.append(parameter)
    """),
    "a chain of cases": write_branches("""
        if parameter.ndim > 1:
            others.append(parameter)
        elif of_bias:
            decayed.append(parameter)
        else:
            decayed.append(parameter)
    """),
    "branches that pass": write_branches("""
        if of_bias:
            pass
        else:
            pass
        decayed.append(parameter)
    """),
}


def find_codes(folder: Path, text: str) -> set[str]:
    """Return the codes of what is found, notes left out."""
    report = rehearsed(folder, HEAD + text)
    return {each.code for each in report.findings if each.severity != "note"}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(name: str, tmp_path: Path) -> None:
    text, code = WRONG[name]
    assert code in find_codes(tmp_path, text)


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_what_looks_alike(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, RIGHT[name]) == set()


def test_rows_are_put_back_by_the_order_of_their_order(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + write_pairs(SORTS, "return state[-1]"))
    fixes = [fix.message for finding in report.findings for fix in finding.fixes]
    assert any("order.argsort()" in message for message in fixes)
