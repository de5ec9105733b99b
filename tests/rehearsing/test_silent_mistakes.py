"""Mistakes of which a run shows nothing, each beside legal programs that look alike."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader, TensorDataset

images = torch.rand(32, 1, 8, 8)
data = TensorDataset(torch.rand(32, 6), torch.randint(0, 3, (32,)), images)
encoder, predictor, other = nn.Linear(6, 4), nn.Linear(4, 4), nn.Linear(6, 4)
rnn, head, net = nn.GRU(2, 4, batch_first=True), nn.Linear(4, 3), nn.Conv2d(1, 1, 1)
times, tie, alphas = nn.Embedding(50, 8), True, torch.rand(50)
layers = nn.ModuleList([encoder, predictor, other, rnn, head, net, times])
optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)


class Denoiser(nn.Module):
    def forward(self, x, t):
        return net(x) + times(t)[:, None, None]


class Classes(nn.Module):
    def forward(self, x):
        return head(encoder(x))


denoise, classify, criterion = Denoiser(), Classes(), nn.CrossEntropyLoss()
memory = []
for x, y, image in DataLoader(data, batch_size=8):
    several, one_hot = (x[:, :3] > 0.5).float(), F.one_hot(y, 3).float()
    t = torch.randint(0, 50, (8,))
    z1, z2 = encoder(x), encoder(x.flip(1))
    p1, p2 = predictor(z1), predictor(z2)
    lengths = torch.randint(1, 4, (8,))
    steps = x.view(8, 3, 2)
{body}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
COSINES = (
    "a = F.cosine_similarity(p1, {a}).mean()\nb = F.cosine_similarity(p2, {b}).mean()\n"
)
SORTED = (
    "lengths, order = lengths.sort(descending=True)\n"
    "packed = pack_padded_sequence(steps[order], lengths, batch_first=True)\n"
    "out = head(rnn(packed)[1][-1])\n"
)
LOSS = "\nloss = F.cross_entropy(classify(x), y)"
WRONG = {
    "cosines": ("teacher-with-graph",
        COSINES.format(a="z2", b="z1") + "loss = -(a + b) / 2"),
    "squares": ("teacher-with-graph", "loss = F.mse_loss(p1, z2)"),
    "products": ("teacher-with-graph",
        "loss = -(F.normalize(p1, dim=1) * F.normalize(z2, dim=1)).sum(1).mean()"),
    "sorted": ("paired-rows", SORTED + "loss = F.cross_entropy(out, y)"),
    "sorted by argsort": ("paired-rows",
        "order = lengths.argsort(descending=True)\n"
        "rows = steps.index_select(0, order)\n"
        "packed = pack_padded_sequence(rows, lengths[order], batch_first=True)\n"
        "loss = F.cross_entropy(head(rnn(packed)[1][-1]), y)"),
    "coefficients": ("outer-broadcast",
        "loss = denoise(alphas[t] * image, t).square().mean()"),
    "gathered": ("outer-broadcast",
        "loss = denoise(image * alphas.gather(0, t), t).square().mean()"),
    "several labels": ("several-labels",
        "logits = classify(x)\nloss = criterion(logits, several)\n"
        "right = ((logits.sigmoid() > 0.5) == several.bool()).sum()"),
    "a rounded sigmoid": ("several-labels",
        "loss = F.cross_entropy(classify(x), several)\n"
        "chosen = torch.sigmoid(classify(x)).round()"),
    "a memory": ("same-tensor-kept",
        "state = torch.zeros(6)\nfor step in range(5):\n    state.copy_(x[step])\n"
        "    memory.append(state)\nloss = encoder(torch.stack(memory)).mean()\n"
        "memory.clear()"),
    "views": ("same-tensor-kept",
        "state = torch.zeros(2, 6)\nfor step in range(5):\n    state[0] = x[step]\n"
        "    memory.append(state[0])\nloss = encoder(torch.stack(memory)).mean()\n"
        "memory.clear()"),
    "frames": ("view-mixes-dims",
        "frames = image.repeat(1, 5, 1, 1).view(40, 1, 8, 8)\n"
        "features = net(frames).relu().flatten(1).view(5, 8, -1)\n"
        "loss = features.cumsum(0).mean()"),
    "a copy": ("weights-not-tied",
        "if tie:\n    other.weight.data.copy_(encoder.weight.data)" + LOSS),
    "a new parameter": ("weights-not-tied",
        "# tied\nother.weight = nn.Parameter(encoder.weight.clone())" + LOSS),
}  # fmt: skip
RIGHT = {
    "detached": COSINES.format(a="z2.detach()", b="z1.detach()") + "loss = -a - b",
    "another network": "loss = F.mse_loss(p1, other(x))",
    "another term": "loss = F.mse_loss(p1, z2) + F.cross_entropy(head(z1), y)",
    "no predictor": "loss = F.mse_loss(z1, z2) - z1.std(0).mean()",
    "put back": SORTED + "loss = F.cross_entropy(out[order.argsort()], y)",
    "put back by a sort": SORTED
        + "_, back = order.sort()\nloss = F.cross_entropy(out[back], y)",
    "targets sorted too": SORTED + "loss = F.cross_entropy(out, y[order])",
    "sorted by torch":
        "packed = pack_padded_sequence(steps, lengths, True, enforce_sorted=False)\n"
        "loss = F.cross_entropy(head(rnn(packed)[1][-1]), y)",
    "coefficients of images":
        "loss = denoise(alphas[t].view(-1, 1, 1, 1) * image, t).square().mean()",
    "columns": "columns = torch.randint(0, 50, (8,))\n"
               "loss = denoise(alphas[columns] * image, t).square().mean()",
    "one of several": "loss = criterion(classify(x), one_hot)\n"
                      "chosen = classify(x).softmax(1) > 0.5",
    "smoothed": "loss = criterion(classify(x), one_hot * 0.9 + 0.05)\n"
                "sure = torch.sigmoid(classify(x)) > 0.5",
    "frames": "frames = image.repeat(1, 5, 1, 1).view(40, 1, 8, 8)\n"
              "features = net(frames).relu().flatten(1).view(8, 5, -1)\n"
              "loss = features.transpose(0, 1).cumsum(0).mean()",
    "clones": "state = torch.zeros(6)\nfor step in range(5):\n"
              "    state.copy_(x[step])\n    memory.append(state.clone())\n"
              "loss = encoder(torch.stack(memory)).mean()\nmemory.clear()",
    "repeated": "state = torch.zeros(6)\nfor step in range(5):\n"
                "    state.copy_(x[step])\n"
                "loss = encoder(torch.stack([state] * 5)).mean()",
    "an initialization": "other.weight.data.copy_(encoder.weight.data)" + LOSS,
    "untied": "tie = False\nif not tie:\n"
              "    other.weight.data.copy_(encoder.weight.data)" + LOSS,
}  # fmt: skip
CODES = {code for code, _ in WRONG.values()}


@pytest.mark.parametrize("name", WRONG)
def test_each_mistake_is_found(name: str, tmp_path: Path) -> None:
    code, body = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(body=indent(body, "    ")))
    assert report.complete, report
    assert {f.code for f in report.findings} & CODES == {code}


@pytest.mark.parametrize("name", RIGHT)
def test_what_looks_alike_is_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(body=indent(RIGHT[name], "    ")))
    assert report.complete, report
    assert {f.code for f in report.findings} & CODES == set()


EDITS = {
    "coefficients": "`alphas[t].view(-1, 1, 1, 1)`",
    "several labels": "`nn.BCEWithLogitsLoss`",
    "squares": "`z2.detach()`",
}


@pytest.mark.parametrize("name", EDITS)
def test_the_edit_is_tried(name: str, tmp_path: Path) -> None:
    code, body = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(body=indent(body, "    ")))
    (finding,) = [f for f in report.findings if f.code == code]
    assert finding.fixes[0].message == EDITS[name]
    assert finding.fixes[0].checked
