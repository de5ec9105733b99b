"""Numbers of classes that are fewer than the names that a program lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

NAMES = ["ant", "bee", "cat", "dog", "elk", "fox"]
{head}
y = {labels}
data = TensorDataset(torch.randn(60, 4), y)
loader = DataLoader(data, batch_size=20, shuffle={mixed})

def build({parameter}):
    return nn.Linear(4, {outputs})

model = build()
loss_fn = nn.CrossEntropyLoss()
for a, b in loader:
    loss_fn(model(a), b).backward()
"""
ALL = "torch.arange(60) % len(NAMES)"


def find_errors(folder: Path, **parts: str) -> list[Finding]:
    words = {"head": "", "labels": ALL, "mixed": "True", "parameter": "", **parts}
    findings = rehearsed(folder, PROGRAM.format(**words)).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize(
    "parts",
    [
        {"parameter": "num_labels=4", "outputs": "num_labels"},
        {"head": "NUM_CLASSES = 4", "outputs": "NUM_CLASSES"},
        {"head": 'CONFIG = {"n_classes": 4}', "outputs": 'CONFIG["n_classes"]'},
    ],
)
def test_the_names_are_counted(parts: dict[str, str], tmp_path: Path) -> None:
    (finding,) = find_errors(tmp_path, **parts)
    assert [fix.message for fix in finding.fixes] == ["`len(NAMES)` for `4`"]
    assert finding.fixes[0].checked


def test_labels_beyond_the_names_are_not_of_them(tmp_path: Path) -> None:
    parts = {"parameter": "num_labels=4", "outputs": "num_labels"}
    (finding,) = find_errors(tmp_path, labels="torch.arange(60) % 9", **parts)
    assert not any("len(NAMES)" in fix.message for fix in finding.fixes)


@pytest.mark.parametrize(
    ("mixed", "words"),
    [("True", "but `b` holds 4"), ("False", "but `b` at [4] is 4")],
)
def test_shuffled_batches_have_no_places(
    mixed: str, words: str, tmp_path: Path
) -> None:
    labels = "torch.arange(60) % 5"
    (finding,) = find_errors(tmp_path, mixed=mixed, labels=labels, outputs="4")
    assert finding.message.endswith(words)


NUMBERS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Samples(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, i):
        return torch.ones(4), i % 5 + 1

model = nn.Linear(4, 5)
for a, b in DataLoader(Samples(), batch_size=10, shuffle={mixed}):
    nn.CrossEntropyLoss()(model(a), b).backward()
"""


@pytest.mark.parametrize(
    ("mixed", "words"), [("True", "`b` holds 5"), ("False", "`b` at [4] is 5")]
)
def test_numbers_of_shuffled_items_have_no_places(
    mixed: str, words: str, tmp_path: Path
) -> None:
    (finding, *_) = rehearsed(tmp_path, NUMBERS.format(mixed=mixed)).findings
    assert words in finding.message


def test_as_many_outputs_as_names_are_quiet(tmp_path: Path) -> None:
    assert not find_errors(tmp_path, outputs="len(NAMES)")


CONFIGURED = """\
import torch
from transformers import {kind}Config, {kind}ForSequenceClassification

topic_names = ["sport", "tech", "health", "culture"]
{before}
config = {kind}Config(vocab_size=50, {sizes}{more})
model = {kind}ForSequenceClassification(config)
ids, labels = torch.randint(3, 50, (8, 6)), torch.arange(8) % {count}
model(input_ids=ids, labels=labels).loss.backward()
"""
WIDE = (
    "hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32"
)
NARROW = "dim=16, n_layers=1, n_heads=2, hidden_dim=32"


@pytest.mark.parametrize(
    ("kind", "sizes", "more"),
    [
        ("Bert", WIDE, ""),
        ("Bert", WIDE, ", pad_token_id=1,"),
        ("DistilBert", NARROW, ""),
    ],
    ids=["bert", "with a comma", "distilbert"],
)
def test_a_config_without_a_number_counts_the_names(
    kind: str, sizes: str, more: str, tmp_path: Path
) -> None:
    pytest.importorskip("transformers")
    text = CONFIGURED.format(kind=kind, sizes=sizes, more=more, before="", count=4)
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [finding for finding in findings if finding.severity == "error"]
    assert "num_labels=len(topic_names)" in finding.fixes[0].message
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    ("before", "more", "count"),
    [
        ("other_names = ['a', 'b', 'c', 'd', 'e']", "", 4),
        ("", ", num_labels=3", 4),
        ("", "", 9),
    ],
    ids=["two lists", "a number", "more labels"],
)
def test_a_config_that_may_mean_others_keeps_its_number(
    before: str, more: str, count: int, tmp_path: Path
) -> None:
    pytest.importorskip("transformers")
    text = CONFIGURED.format(
        kind="Bert", sizes=WIDE, more=more, before=before, count=count
    )
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [finding for finding in findings if finding.severity == "error"]
    assert not any(
        "num_labels=len(topic_names)" in fix.message for fix in finding.fixes
    )


DRAWN = """\
import random

import torch
from transformers import BertConfig, BertForSequenceClassification

KINDS = 4
config = BertConfig(
    vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=16{more})
model = BertForSequenceClassification(config)
labels = {labels}
model(input_ids=torch.ones(len(labels), 4).long(), labels=labels).loss.backward()
"""


@pytest.mark.parametrize(
    ("labels", "count"),
    [
        ("torch.arange(10) % 5", 5),
        ("torch.randint(0, 4, (8,))", 4),
        ("torch.tensor([0, 1, 2, 2])", 3),
        ("torch.tensor([random.randint(0, KINDS - 1) for _ in range(40)])", 4),
    ],
)
def test_a_config_gets_as_many_labels_as_there_are(
    labels: str, count: int, tmp_path: Path
) -> None:
    pytest.importorskip("transformers")
    findings = rehearsed(tmp_path, DRAWN.format(more="", labels=labels)).findings
    (finding,) = [finding for finding in findings if finding.severity == "error"]
    assert f"num_labels={count}" in finding.fixes[0].message
    assert finding.fixes[0].checked
    assert not any("% 1`" in fix.message for fix in finding.fixes)
    more = f", num_labels={count}"
    assert not rehearsed(tmp_path, DRAWN.format(more=more, labels=labels)).findings


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ("labels=labels", "`labels - 1`"),
        ("**batch", "`torch.randint(1, 4, (40,)) - 1`"),
    ],
)
def test_labels_from_1_of_a_library_begin_with_0(
    given: str, fix: str, tmp_path: Path
) -> None:
    pytest.importorskip("transformers")
    text = DRAWN.format(more=", num_labels=3", labels="torch.randint(1, 4, (40,))")
    text = text.replace("model(", 'batch = {"labels": labels}\nmodel(')
    text = text.replace("labels=labels)", f"{given})")
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked
