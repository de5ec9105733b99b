"""Models of transformers by name, without the network: their configurations."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.rehearsals.frameworks.test_frameworks import HERE, python

pytestmark = pytest.mark.zoo

CHECK = """\
import json
import transformers
from shapewright.runtime.absent.pretrained_models import CONFIGURATIONS

odd = []
for name, (kind, values) in CONFIGURATIONS.items():
    config = getattr(transformers, kind)(**values)
    odd += [(name, key) for key in values if not hasattr(type(config)(), key)]
    heads = getattr(config, "num_attention_heads", 1)
    width = getattr(config, "hidden_size", heads)
    odd += [(name, "heads")] * (width % heads > 0)
print(json.dumps(odd))
"""
TRAIN = """\
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

name = "bert-base-cased"
model = AutoModelForSequenceClassification.from_pretrained(name, num_labels=5)
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for step in range(2):
    ids = torch.randint(0, 28996, (2, 16))
    loss = model(ids, labels=torch.randint(0, 5, (2,))).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
batch = AutoTokenizer.from_pretrained("bert-base-cased")(["one", "two"])
print(torch.tensor(batch["input_ids"]).shape)
"""


def run(folder: Path, *words: str) -> str:
    source = str(HERE.parents[2] / "src")
    env = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    command = [python(), *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env)
    return done.stdout


def test_configurations_are_those_of_the_library(tmp_path: Path) -> None:
    assert json.loads(run(tmp_path, "-c", CHECK)) == []


def test_a_model_is_built_and_tokens_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    words = ("-m", "shapewright", "rehearse", "--format", "json", "train.py")
    report = json.loads(run(tmp_path, *words))
    (finding,) = report["findings"]
    assert finding["code"] == "not-here"
    assert finding["span"]["line"] == 15
    assert (
        "put its tokenizer files into the folder `bert-base-cased`"
        in (finding["message"])
    )
