"""Fixes of a call whose mistake is at another line: a default, a name that was set
anew, another tensor, the order of a list, what was fitted twice.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

REDUCED = """\
import torch
from torch import nn

first, second = nn.Linear(8, 16), nn.Linear(16, 16)
links = (torch.rand(20, 20) > 0.5).float()
graph = torch.arange(4).repeat_interleave(5)
h = first(links @ torch.rand(20, 8)).relu()
g = torch.zeros(4, 16).index_add(0, graph, h)
h = second(links @ {name})
(h.mean() + g.mean()).backward()
"""
FITTED = """\
import numpy as np
import torch
from torch import nn

class Encoder:
    def fit_transform(self, names):
        self.names = sorted(set(names))
        return self.transform(names)
    def transform(self, names):
        return np.array([self.names.index(name) for name in names])

encoder = Encoder()
y = torch.from_numpy(encoder.fit_transform(["a", "b", "c", "d"] * 5))
test_y = torch.from_numpy(encoder.{way}(["a", "b", "c"] * 4))
model = nn.Linear(3, len(encoder.names))
nn.functional.cross_entropy(model(torch.rand(20, 3)), y).backward()
"""
COUNTED_EARLY = """\
import torch
from torch import nn

class Words:
    def __init__(self, texts):
        self.ids = {}
        for word in " ".join(texts).split():
            self.ids.setdefault(word, len(self.ids))
        self.count = len(self.ids)
        for extra in ("<s>", "</s>"):
            self.ids[extra] = len(self.ids)

words = Words(["a b c", "c d e"])
rows = torch.tensor([[words.ids[w] for w in ("<s>", "a", "b", "</s>")]] * 4)
table, out = nn.Embedding(words.count, 8), nn.Linear(8, words.count)
logits = out(table(rows[:, :-1]))
target = rows[:, 1:].reshape(-1)
nn.functional.cross_entropy(logits.reshape(-1, words.count), target).backward()
"""
FIELDS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset({fields})
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 6 * 6, 5))

def train(loader):
    for images, labels in loader:
        nn.functional.cross_entropy(model(images), labels).backward()

train(DataLoader(data, batch_size=4))
"""
IMAGES, NUMBERS = "torch.rand(12, 3, 8, 8)", "torch.arange(12) % 5"
LATE = """\
import torch
from torch import nn

policy, critic = nn.Linear(4, 2), nn.Linear(4, 1)
state, values, rewards = torch.rand(3, 4), [], []
for step in range(6):
    values.append(critic(state).squeeze(1))
    rewards.append(torch.rand(3))
    state = torch.rand(3, 4)
{late}
values, rewards = torch.stack(values), torch.stack(rewards)
(rewards - {values}).pow(2).mean().backward()
"""
WEIGHTED = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.rand(24, 5), torch.arange(24) % 2
weights = torch.rand(24)
loader = DataLoader(TensorDataset({data}), batch_size=8, shuffle=True)
model = nn.Linear(5, 2)
for {fields} in loader:
    losses = nn.functional.cross_entropy(model(a), b, reduction="none")
    (losses * {weight}).mean().backward()
"""
SETS = """\
import torch
from torch import nn
import torch.nn.functional as F

model = nn.Linear(6, 4)
y = torch.tensor([[0, 2], [1, 3], [2, 3]])
scores = model(torch.rand(3, 6))
F.binary_cross_entropy_with_logits(scores, {target}).backward()
"""
NUMBERED = """\
import torch
from torch import nn

features, edges = torch.rand(50, 6), torch.randint(0, 50, (2, 300))
layer = nn.Linear(6, 6)
for step in range(2):
    nodes = torch.randperm(50)[:20]
    kept = torch.isin(edges[0], nodes) & torch.isin(edges[1], nodes)
    part = edges[:, kept]
    {local}
    h = layer(features[nodes])
    messages = h[part[0]]
    h = torch.zeros_like(h).index_add(0, part[1], messages)
    h.sum().backward()
"""
CHANNELS = """\
import numpy as np
import torch
from torch import nn

MEAN, STD = np.array([0.5, 0.4, 0.3]), np.array([0.2, 0.2, 0.1])

def prepare(image):
    image = torch.from_numpy(image).permute(2, 0, 1) / 255.0
    return (image - torch.from_numpy(MEAN)) / torch.from_numpy(STD)

image = np.random.randint(0, 255, (16, 16, 3), dtype=np.uint8)
nn.Conv2d(3, 4, 3)(prepare(image).float()[None]).sum().backward()
"""
MIXED = """\
import torch
from torch import nn

class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 2)
    def forward(self, x):
        return self.a(x), self.b(x)

models = {models}
outs = [model(torch.rand(5, 4)) for model in models]
torch.stack(outs).mean(0).sum().backward()
"""
MERGED = """\
import torch
from torch import nn
from collections import Counter

names = [0, 1, 2, 3, 4] * 6
merged = [min(name, 3) for name in names]
counts = Counter({labels})
weight = torch.tensor([len(names) / counts[key] for key in sorted(counts)])
y = torch.tensor(merged)
model = nn.Linear(5, 4)
nn.CrossEntropyLoss(weight=weight)(model(torch.rand(30, 5)), y).backward()
"""
CASES = {
    "weights of other labels": (MERGED.format(labels="names"), ["`Counter(merged)`"]),
    "weights of these labels": (MERGED.format(labels="merged"), None),
    "the fields of a batch": (
        FIELDS.format(fields=f"{NUMBERS}, {IMAGES}"),
        ["`labels, images`, as they come"],
    ),
    "the fields in their order": (FIELDS.format(fields=f"{IMAGES}, {NUMBERS}"), None),
    "one value more": (
        LATE.format(late="values.append(critic(state).squeeze(1))", values="values"),
        ["`values[:-1]`"],
    ),
    "as many values": (LATE.format(late="", values="values"), None),
    "weights of all samples": (
        WEIGHTED.format(data="x, y", fields="a, b", weight="weights"),
        ["`TensorDataset(x, y, weights)`, and `batch_weights` of each batch"],
    ),
    "weights of the batch": (
        WEIGHTED.format(data="x, y, weights", fields="a, b, w", weight="w"), None,
    ),
    "numbers of classes": (
        SETS.format(target="y.float()"),
        ["`F.one_hot(y.float().long(), scores.size(1)).sum(1).float()`"],
    ),
    "truths of classes": (
        SETS.format(target="F.one_hot(y, 4).sum(1).float()"), None,
    ),
    "numbers of all nodes": (
        NUMBERED.format(local="pass"),
        ["`part = (part.unsqueeze(-1) == nodes).int().argmax(-1)` behind it"],
    ),
    "numbers of the part": (
        NUMBERED.format(
            local="part = (part.unsqueeze(-1) == nodes).int().argmax(-1)"
        ),
        None,
    ),
    "numbers of each channel": (
        CHANNELS, ["`torch.from_numpy(MEAN)[:, None, None]`"],
    ),
    "some models give two": (
        MIXED.format(models="[nn.Linear(4, 3), Two()]"),
        ["`[out[0] if isinstance(out, tuple) else out for out in outs]`"],
    ),
    "all models give two": (
        MIXED.format(models="[Two(), Two()]"), ["`[out[0] for out in outs]`"],
    ),
    "nodes for graphs": (REDUCED.format(name="g"), ["`h` for `g`"]),
    "nodes": (REDUCED.format(name="h"), None),
    "classes of a second fit": (
        FITTED.format(way="fit_transform"),
        ["`encoder.transform` for the second `encoder.fit_transform`"],
    ),
    "classes of the first fit": (FITTED.format(way="transform"), None),
    "words counted too early": (
        COUNTED_EARLY,
        ["`self.count = len(self.ids)` behind what adds to `self.ids`"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_mistake_is_mended_where_it_was_made(name: str, tmp_path: Path) -> None:
    program, fixes = CASES[name]
    findings = rehearsed(tmp_path, program).findings
    errors = [finding for finding in findings if finding.severity == "error"]
    assert len(errors) == (fixes is not None)
    if fixes is not None:
        assert [fix.message for fix in errors[0].fixes] == fixes
        assert errors[0].fixes[0].checked
