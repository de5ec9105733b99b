"""Causal language models whose labels are the tokens of a padded batch."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


class TinyForCausalLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn, self.head = (
            nn.Embedding(20, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 20))

    def forward(self, input_ids, attention_mask=None, labels=None):
        logits = self.head(self.rnn(self.emb(input_ids))[0])
        return F.cross_entropy(logits[:, :-1].transpose(1, 2), labels[:, 1:])


texts = [[(3 * i + j) % 19 + 1 for j in range(3 + i % 5)] for i in range(32)]


def collate(items):
{collate}


model = TinyForCausalLM()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in DataLoader(texts, batch_size=8, collate_fn=collate):
{step}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ROWS = """\
input_ids = torch.zeros(len(items), 9, dtype=torch.long)
attention_mask = torch.zeros(len(items), 9, dtype=torch.long)
for row, item in enumerate(items):
    input_ids[row, :len(item)] = torch.tensor(item)
    attention_mask[row, :len(item)] = 1
return {"input_ids": input_ids, "attention_mask": attention_mask}"""
SEQUENCE = """\
input_ids = pad_sequence([torch.tensor(i) for i in items], batch_first=True)
return {"input_ids": input_ids, "attention_mask": (input_ids != 0).long()}"""
WITH_LABELS = SEQUENCE.replace(
    "return {",
    """\
batch = {"input_ids": input_ids, "attention_mask": (input_ids != 0).long()}
batch["labels"] = batch["input_ids"].clone()
return batch
{""",
).rpartition("\n")[0]
EQUAL = 'return {"input_ids": torch.tensor([item[:3] for item in items])}'
OWN = 'loss = model(**batch, labels=batch["input_ids"])'
NAMES = """\
ids, mask = batch["input_ids"], batch["attention_mask"]
loss = model(input_ids=ids, attention_mask=mask, labels=ids)"""
PLAIN = """\
input_ids, attention_mask = batch["input_ids"], batch["attention_mask"]
loss = model(input_ids, attention_mask=attention_mask, labels=input_ids)"""
WHOLE = "loss = model(**batch)"
MASKED = """\
labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
loss = model(**batch, labels=labels)"""
WRITTEN = """\
labels = batch["input_ids"].clone()
labels[batch["attention_mask"] == 0] = -100
loss = model(**batch, labels=labels)"""
WHERE = """\
labels = torch.where(batch["attention_mask"] == 1, batch["input_ids"], -100)
loss = model(**batch, labels=labels)"""
SAMPLES = """\
samples = []
for item in items:
    ids = item + [19] * (9 - len(item))
    mask = [1] * len(item) + [0] * (9 - len(item))
    labels = LABELS
    samples.append({"input_ids": torch.tensor(ids), "labels": torch.tensor(labels),
                    "attention_mask": torch.tensor(mask)})
return {key: torch.stack([s[key] for s in samples]) for key in samples[0]}"""
LISTS = SAMPLES.replace("LABELS", "list(ids)")
IGNORED = SAMPLES.replace("LABELS", "item + [-100] * (9 - len(item))")
CLONES = LISTS.replace("torch.tensor(labels)", "torch.tensor(ids)").replace(
    "return {", "for s in samples:\n    s['labels'] = s['input_ids'].clone()\nreturn {"
)
SLICED = CLONES.replace(
    "].clone()\n",
    "].clone()\n    s['labels'][s['attention_mask'] == 0] = -100\n",
)
STACKED = (
    LISTS.replace('"labels": torch.tensor(labels),', "").replace(
        "return {", "batch = {"
    )
    + '\nbatch["labels"] = batch["input_ids"].clone()\nreturn batch'
)
LONG = "texts = [[(3 * i + j) % 19 + 1 for j in range(9)] for i in range(32)]"
WORDS = "the labels are the tokens with their padding"
WRONG = {
    "rows": (ROWS, OWN, 'batch["attention_mask"] == 0, -100)'),
    "pad_sequence": (SEQUENCE, OWN, 'batch["attention_mask"] == 0, -100)'),
    "a clone": (SEQUENCE, OWN.replace('"])', '"].clone())'), "== 0, -100)"),
    "labels of the batch": (WITH_LABELS, WHOLE, 'batch["attention_mask"] == 0, -100)'),
    "names": (SEQUENCE, PLAIN, "input_ids.masked_fill(attention_mask == 0, -100)"),
    "other names": (SEQUENCE, NAMES, ""),
    "lists of each sample": (LISTS, WHOLE, ""),
    "a clone of each sample": (CLONES, WHOLE, "-100)"),
    "a clone of lists that are stacked": (STACKED, WHOLE, "== 0, -100)"),
}
RIGHT = {
    "masked": (SEQUENCE, MASKED),
    "written": (ROWS, WRITTEN),
    "where": (SEQUENCE, WHERE),
    "equal lengths": (EQUAL, OWN),
    "lists of each sample": (IGNORED, WHOLE),
    "a clone of each sample": (SLICED, WHOLE),
}


def write_script(collate: str, step: str) -> str:
    parts = {"collate": indent(collate, "    "), "step": indent(step, "    ")}
    return SCRIPT.format(**parts)


@pytest.mark.parametrize("name", WRONG)
def test_labels_with_padding_are_found(name: str, tmp_path: Path) -> None:
    collate, step, fix = WRONG[name]
    report = rehearsed(tmp_path, write_script(collate, step))
    assert report.complete, report
    (finding,) = [f for f in report.findings if WORDS in f.message]
    assert finding.code == "padded-targets"
    assert [fix in option.message for option in finding.fixes] == [True] * bool(fix)
    assert all(option.checked for option in finding.fixes)


@pytest.mark.parametrize("name", RIGHT)
def test_labels_without_padding_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write_script(*RIGHT[name]))
    assert report.complete, report
    assert "padded-targets" not in [f.code for f in report.findings]


def test_samples_without_padding_are_quiet(tmp_path: Path) -> None:
    script = write_script(LISTS, WHOLE).replace(
        "texts = [[(3 * i + j) % 19 + 1 for j in range(3 + i % 5)] for i in range(32)]",
        LONG,
    )
    assert LONG in script
    report = rehearsed(tmp_path, script)
    assert report.complete, report
    assert "padded-targets" not in [f.code for f in report.findings]
