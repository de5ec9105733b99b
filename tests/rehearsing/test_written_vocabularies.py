"""Vocabularies that are written to another file with more entries, where a table counts
those of the old one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import json
import os
import pickle
import tempfile
import torch
from torch import nn

TAGS = ["noun", "verb", "noun", "prep", "verb", "prep"]


def prepare(folder):
    with open(os.path.join(folder, "tags.json"), "w") as f:
        json.dump({{"none": 0, "noun": 1, "verb": 2}}, f)


def encode(folder):
    with open(os.path.join(folder, "tags.json")) as f:
        tags = json.load(f)
    ids = []
    for tag in TAGS:
        if tag not in tags:
            {grown}
        ids.append(tags.get(tag, 0))
    with open(os.path.join(folder, "more.json"), "w") as f:
        json.dump(tags, f)
    return torch.tensor(ids)


def train(folder, ids):
    {read}
    table = nn.Embedding(len(tags), 8)
    table(ids).mean().backward()


with tempfile.TemporaryDirectory() as work:
    prepare(work)
    ids = encode(work)
    train(work, ids)
"""
BLOCK = """\
with open(os.path.join(folder, "{}.json")) as f:
        tags = json.load(f)"""
OPENED = 'tags = json.load(open(os.path.join(folder, "{}.json")))'
GROWN = "tags[tag] = len(tags)"


def _find_errors(folder: Path, text: str) -> list[Finding]:
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize("read", [BLOCK, OPENED])
@pytest.mark.parametrize("grown", [GROWN, "tags.setdefault(tag, len(tags))"])
def test_the_file_with_more_entries_is_read(
    read: str, grown: str, tmp_path: Path
) -> None:
    text = SCRIPT.format(grown=grown, read=read.format("tags"))
    (finding,) = _find_errors(tmp_path, text)
    assert finding.code == "index-out-of-range"
    shown = [fix.message for fix in finding.fixes]
    assert shown == ['`"more.json"` for `"tags.json"`']
    assert finding.fixes[0].checked
    assert any(
        place.message.startswith("this reads 'tags.json'") for place in finding.related
    )


@pytest.mark.parametrize(
    ("grown", "name"), [(GROWN, "more"), ("pass", "tags"), ("pass", "more")]
)
def test_a_table_of_all_entries_is_quiet(grown: str, name: str, tmp_path: Path) -> None:
    assert not _find_errors(
        tmp_path, SCRIPT.format(grown=grown, read=BLOCK.format(name))
    )


def test_ids_beyond_a_file_that_nothing_writes_anew_get_no_file(
    tmp_path: Path,
) -> None:
    text = SCRIPT.format(grown=GROWN, read=BLOCK.format("tags"))
    text = text.replace('"more.json"', '"tags.json"').replace("json.dump(tags", "str((")
    text = text.replace("str((, f)", "str((tags, f))")
    for finding in _find_errors(tmp_path, text):
        assert all(".json" not in fix.message for fix in finding.fixes)
