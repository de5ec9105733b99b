"""Settings that hold a wrong number, counts that lack a class, schedules that are too
short, keys of another width: mended where they are written, and in the program's names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import argparse
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

"""
CROSS = """
class Cross(nn.Module):
    def __init__(self, dim, {parameter}heads=2):
        super().__init__()
        {norm}
        self.attention = nn.MultiheadAttention(dim, heads{more}, batch_first=True)

    def forward(self, x, memory):
        return self.attention(x, memory, memory)[0]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.words = nn.Linear(6, 8), nn.Linear(6, {width})
        self.cross = Cross(8{argument})

    def forward(self, x):
        return self.cross(self.image(x), self.words(x)).mean()

net = Net()
for _ in range(2):
    net(torch.randn(4, 5, 6)).backward()
"""
NAMED = {"parameter": "text_dim, ", "norm": "self.norm = nn.LayerNorm(text_dim)"}
DISTILLED = """
{settings}

def distill(student, teacher, {parameters}):
    first = F.log_softmax(student, dim={dim})
    return F.kl_div(first, F.softmax(teacher, dim={dim}), reduction="batchmean")

student, teacher = nn.Linear(6, 3), nn.Linear(6, 3)
for _ in range(2):
    x = torch.randn(8, 6)
    distill(student(x), teacher(x).detach(){handed}).backward()
"""
CONFIG = "class Config:\n    temperature = 2.0\n    class_dim = {}"
HEADS = """
{settings}

class Net(nn.Module):
    def __init__(self{parameter}):
        super().__init__()
        self.body = nn.Linear(6, 32)
        self.head = nn.Linear({width}, 3)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))

net = Net({argument})
for _ in range(2):
    F.cross_entropy(net(torch.randn(8, 6)), torch.randint(3, (8,))).backward()
"""
FIELDS = """
class Fields:
    def __init__(self, hidden_size, inner_size, layers=2):
        self.hidden_size, self.inner_size = hidden_size, inner_size
config = Fields(hidden_size=32, inner_size=64)
"""
OPTIONS = """
parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=32)
parser.add_argument("--inner", type=int, default=64)
args = parser.parse_args([])
"""
TRAINED = """
def build(model, loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, {steps})
    return optimizer, schedule

loader = DataLoader(TensorDataset(torch.randn(24, 6), torch.randint(3, (24,))), 8)
model = nn.Linear(6, 3)
optimizer, schedule = build(model, loader, 2)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        schedule.step()
"""
WEIGHTED = """
{names}
labels = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2] * 3)
x = torch.randn(24, 6)
{counted}
weights = torch.as_tensor(1 / np.maximum(np.asarray(counts), 1), dtype=torch.float32)
model, criterion = nn.Linear(6, {outputs}), nn.CrossEntropyLoss(weight=weights)
for rows in torch.randperm(24).split(8):
    criterion(model(x[rows]), labels[rows]).backward()
"""
FOUR = "CLASSES = ['normal', 'murmur', 'extra', 'noise']"
RESIZED = """
class Up(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv3d(1, 4, 3, 2, 1), nn.Conv3d(4, 1, 1)

    def forward(self, volume):
        h = self.up(self.down(volume))
        size = volume.shape[{at}:]
        return F.interpolate(h, size=size, mode="trilinear", align_corners=True)

Up()(torch.randn(2, 1, 4, 8, 8)).mean().backward()
"""
GRAPH = """
class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.atom, self.pair = nn.Embedding(5, 4), nn.Linear(8, 4)

    def forward(self, kinds, edges):
        h = self.atom(kinds)
        src, dst = edges
        m = self.pair(torch.cat([h[src], h[dst]], dim=1))
        return torch.zeros_like(h).index_add(0, dst, m).sum()

net = Graph()
for _ in range(2):
    pairs = [torch.tensor([[0, 1], [1, 0]]) + at * {step} for at in range(3)]
    net(torch.arange(6) % 5, torch.cat(pairs, dim=1)).backward()
"""
CAUSAL = """
class Block(nn.Module):
    def __init__(self, dilation):
        super().__init__()
        self.filter = nn.Conv1d(4, 4, {kernel}, dilation=dilation)
        self.mixed = nn.Conv1d(4, 4, 1)

    def forward(self, x):
        z = torch.tanh(self.filter(x))
        return {residual} + self.mixed(z)

net = nn.Sequential(Block(1), Block(2), nn.Conv1d(4, 2, 1))
for _ in range(2):
    net(torch.randn(3, 4, 20)).mean().backward()
"""
MOLECULES = """
def join(sizes):
    edges, offset = [], 0
    for size in sizes:
        pairs = torch.tensor([[0, size - 1], [size - 1, 0]])
        edges.append(pairs + offset)
        offset += size{more}
    return torch.cat(edges, dim=1)

atom = nn.Embedding(5, 4)
for sizes in ([2, 3, 2], [3, 3, 4]):
    source, target = join(sizes)
    h = atom(torch.arange(sum(sizes)) % 5)
    torch.zeros_like(h).index_add(0, target, h[source]).sum().backward()
"""
EXCHANGED = """
class Cross(nn.Module):
    def __init__(self, text_dim=12, audio_dim=8, heads=2):
        super().__init__()
        self.attention = nn.MultiheadAttention({arguments}, batch_first=True)
        self.head = nn.Linear(text_dim, 3)

    def forward(self, text, audio):
        fused, _ = self.attention(text, audio, audio)
        return self.head((text + fused).mean(dim=1))

cross = Cross()
for _ in range(2):
    cross(torch.randn(4, 5, 12), torch.randn(4, 9, 8)).mean().backward()
"""
MISTAKES = {
    "widths that are exchanged": (
        EXCHANGED.format(
            arguments="audio_dim, heads, kdim=text_dim, vdim=text_dim",
        ),
        "`nn.MultiheadAttention(text_dim, ..., kdim=audio_dim, vdim=audio_dim)`",
    ),
    "widths that are exchanged by name": (
        EXCHANGED.format(
            arguments="embed_dim=audio_dim, num_heads=2, vdim=text_dim, kdim=text_dim",
        ),
        "`nn.MultiheadAttention(text_dim, ..., kdim=audio_dim, vdim=audio_dim)`",
    ),
    "keys of another width": (
        CROSS.format(**NAMED, more="", width=12, argument=", 12"),
        "`nn.MultiheadAttention(dim, heads, kdim=text_dim, vdim=text_dim,"
        " batch_first=True)`",
    ),
    "a dim in a class": (
        DISTILLED.format(
            settings=CONFIG.format(2),
            parameters="cfg",
            dim="cfg.class_dim",
            handed=", Config()",
        ),
        "`class_dim = 1`",
    ),
    "a dim in a dict": (
        DISTILLED.format(
            settings='cfg = {"t": 2.0, "axis": 2}',
            parameters="t=1",
            dim='cfg["axis"]',
            handed="",
        ),
        '`cfg = {"t": 2.0, "axis": 1}`',
    ),
    "a dim as a default": (
        DISTILLED.format(settings="", parameters="dim=2", dim="dim", handed=""),
        "`dim=1`",
    ),
    "a dim as a constant": (
        DISTILLED.format(settings="DIM = 2", parameters="t=1", dim="DIM", handed=""),
        "`DIM = -1`",
    ),
    "another field": (
        HEADS.format(
            settings=FIELDS,
            parameter=", config",
            width="config.inner_size",
            argument="config",
        ),
        "`nn.Linear(config.hidden_size, 3)`",
    ),
    "another key": (
        HEADS.format(
            settings='cfg = {"inner": 64, "dim": 32}',
            parameter=", cfg",
            width='cfg["inner"]',
            argument="cfg",
        ),
        '`nn.Linear(cfg["dim"], 3)`',
    ),
    "another option": (
        HEADS.format(settings=OPTIONS, parameter="", width="args.inner", argument=""),
        "`nn.Linear(args.width, 3)`",
    ),
    "a schedule of epochs": (
        TRAINED.format(steps="epochs=epochs, steps_per_epoch=1"),
        "`steps_per_epoch=len(loader)`",
    ),
    "a schedule of one epoch": (
        TRAINED.format(steps="total_steps=len(loader)"),
        "`total_steps=2 * len(loader)`",
    ),
    "a schedule of fewer epochs": (
        TRAINED.format(steps="epochs=1, steps_per_epoch=len(loader)"),
        "`epochs=2`",
    ),
    "counts of NumPy": (
        WEIGHTED.format(
            names=FOUR, counted="counts = np.bincount(labels.numpy())", outputs=4
        ),
        "`np.bincount(labels.numpy(), minlength=len(CLASSES))`",
    ),
    "counts of torch": (
        WEIGHTED.format(
            names="N_CLASSES = 4", counted="counts = labels.bincount()", outputs=4
        ),
        "`labels.bincount(minlength=N_CLASSES)`",
    ),
    "counts of what is there": (
        WEIGHTED.format(
            names="N_CLASSES = 4",
            counted="_, counts = torch.unique(labels, return_counts=True)",
            outputs=4,
        ),
        "`counts = torch.bincount(labels, minlength=N_CLASSES)`",
    ),
    "an output too many": (
        WEIGHTED.format(
            names="batch = 4", counted="counts = labels.bincount()", outputs=4
        ),
        "`nn.Linear(6, 3)`",
    ),
    "a residual of a causal stack": (
        CAUSAL.format(kernel=2, residual="x"),
        "`x[..., -z.size(-1):]`",
    ),
    "an offset of a node too many": (MOLECULES.format(more=" + 1"), "`offset += size`"),
    "two sizes for three": (RESIZED.format(at=-2), "`size = volume.shape[-3:]`"),
}
QUIET = {
    "widths of queries and keys": EXCHANGED.format(
        arguments="text_dim, heads, kdim=audio_dim, vdim=audio_dim"
    ),
    "keys of another width that is said": CROSS.format(
        **NAMED, more=", kdim=text_dim, vdim=text_dim", width=12, argument=", 12"
    ),
    "a schedule of all steps": TRAINED.format(
        steps="epochs=epochs, steps_per_epoch=len(loader)"
    ),
    "counts of all classes": WEIGHTED.format(
        names=FOUR, counted="counts = labels.bincount(minlength=4)", outputs=4
    ),
    "the last steps of a residual": CAUSAL.format(
        kernel=2, residual="x[..., -z.size(-1):]"
    ),
    "an offset of all nodes": MOLECULES.format(more=""),
    "three sizes": RESIZED.format(at=-3),
    "edges of the nodes": GRAPH.format(step=2),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_mistake_is_mended(tmp_path: Path, name: str) -> None:
    text, fix = MISTAKES[name]
    (finding,) = [
        finding
        for finding in rehearsed(tmp_path, HEAD + text).findings
        if finding.severity == "error"
    ]
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


def test_a_kernel_with_a_middle_is_not_cut_at_one_end(tmp_path: Path) -> None:
    text = HEAD + CAUSAL.format(kernel=3, residual="x")
    (finding,) = rehearsed(tmp_path, text).findings
    assert not any("-z.size(-1):" in fix.message for fix in finding.fixes)


def test_indices_of_one_tensor_are_one_mistake(tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, HEAD + GRAPH.format(step=3)).findings
    assert [finding.code for finding in findings] == ["index-out-of-range"]
    places = [related.message for related in findings[0].related]
    assert places.count("it goes beyond the end here, too") == 2


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_of_what_is_meant(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, HEAD + QUIET[name]).findings
    assert [finding for finding in findings if finding.severity == "error"] == []
