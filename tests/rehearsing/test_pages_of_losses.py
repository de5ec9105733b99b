"""The pages of losses and masks: wrong examples are found, right ones quiet."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent

import pytest

from shapewright.findings.codes import find_page
from tests.rehearsing.rehearsed import rehearsed

BEFORE = """\
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.distributions import Categorical
from torch.utils.data import DataLoader, TensorDataset

vocab, sigma, temperature, n = 9, 0.3, 0.5, 8
"""
WRITER = """
class WriterForCausalLM(Reader):
    def forward(self, tokens, labels=None):
        logits = super().forward(tokens)
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())

"""
BOXES = """
def box_convert(boxes, in_fmt, out_fmt):
    x, y, w, h = boxes.unbind(-1)
    return torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], dim=-1)

def box_iou(boxes, others):
    sizes, other_sizes = boxes[:, 2:] - boxes[:, :2], others[:, 2:] - others[:, :2]
    upper = torch.maximum(boxes[:, None, :2], others[None, :, :2])
    lower = torch.minimum(boxes[:, None, 2:], others[None, :, 2:])
    shared = (lower - upper).clamp(min=0).prod(2)
    return shared / (sizes.prod(1)[:, None] + other_sizes.prod(1)[None] - shared)

"""
LOOP = """
for x, tokens, mask in DataLoader(data, batch_size=8):
{body}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
DATA = """
data = TensorDataset(
    torch.rand(32, 6), torch.randint(vocab, (32, 7)), torch.randint(2, (32, 7))
)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(vocab, 8), nn.Linear(8, vocab)
        self.rnn = nn.GRU(8, 8, batch_first=True)

    def forward(self, tokens):
        return self.head(self.rnn(self.embedding(tokens))[0])


"""
MODEL = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
AROUND = {
    "padded-last-step": (
        "model = nn.Embedding(vocab, 8)\n"
        "layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)\n"
        "encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)\n"
        "parameters = [*model.parameters(), *encoder.parameters()]\n"
        "optimizer = torch.optim.SGD(parameters, lr=0.1)\n"
        "sequences = [torch.randint(1, vocab, (n,)) for n in (3, 5, 4)]\n",
        "",
        "loss = out.square().sum()\n",
    ),
    "padded-mean": (
        "model = nn.Embedding(vocab, 8)\n"
        "layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)\n"
        "encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)\n"
        "parameters = [*model.parameters(), *encoder.parameters()]\n"
        "optimizer = torch.optim.SGD(parameters, lr=0.1)\n"
        "sequences = [torch.randint(1, vocab, (n,)) for n in (3, 5, 4)]\n",
        "",
        "loss = out.square().sum()\n",
    ),
    "float-mask": (
        "model = nn.Embedding(vocab, 8)\n"
        "layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)\n"
        "encoder = nn.TransformerEncoder(layer, 1)\n"
        "parameters = [*model.parameters(), *encoder.parameters()]\n"
        "optimizer = torch.optim.SGD(parameters, lr=0.1)\n",
        "",
        "loss = out.square().sum()\n",
    ),
    "weak-mask": (
        "model = nn.Embedding(vocab, 8)\n" + MODEL,
        "q = k = model(tokens)\nmask = mask[:, None]\n",
        "loss = weights.square().sum()\n",
    ),
    "result-dropped": (
        "model = nn.Embedding(vocab, 8)\n" + MODEL,
        "q = k = model(tokens)\nmask = mask[:, None]\n",
        "loss = weights.square().sum()\n",
    ),
    "mixed-reductions": (
        "model, decoder = nn.Linear(6, 16), nn.Linear(8, 6)\n"
        "parameters = [*model.parameters(), *decoder.parameters()]\n"
        "optimizer = torch.optim.SGD(parameters, lr=0.1)\n",
        "mu, logvar = model(x).chunk(2, dim=1)\n"
        "decoded = decoder(mu + torch.exp(0.5 * logvar) * torch.randn_like(mu))\n",
        "",
    ),
    "focal-on-mean": (
        "model = nn.Linear(6, 3)\n" + MODEL,
        "labels = tokens[:, 0] % 3\n",
        "",
    ),
    "wrapped-difference": ("model = nn.Linear(3, 2)\n" + MODEL, "", ""),
    "inverted-integers": ("model = nn.Linear(6, 2)\n" + MODEL, "", ""),
    "same-tensor-kept": ("model = nn.Linear(6, 1)\n" + MODEL, "", ""),
    "weights-not-tied": ("model = Reader()\n" + MODEL, "", ""),
    "other-padding": (
        "model = nn.Embedding(vocab, 8, padding_idx=0)\n" + MODEL,
        "",
        "",
    ),
    "centred-axis": ("model = nn.Linear(6, 4)\n" + MODEL, "", ""),
    "several-labels": ("model = nn.Linear(6, 3)\n" + MODEL, "", ""),
    "logit-threshold": (
        "model = nn.Linear(6, 1)\n" + MODEL,
        "y = torch.ones(len(x), 1)\n",
        "",
    ),
    "unshifted-target": ("model = Reader()\n" + MODEL, "", ""),
    "unrelated-noise": ("model = nn.Linear(6, 6)\n" + MODEL, "", ""),
    "advantage-with-graph": (
        "model = nn.Linear(6, 4)\n" + MODEL,
        "logits, values = model(x).split([3, 1], dim=1)\n"
        "values, returns = values.squeeze(1), x.sum(1)\n"
        "dist = Categorical(logits=logits)\nlog_probs = dist.log_prob(dist.sample())\n",
        "",
    ),
    "minimized-entropy": (
        "model = nn.Linear(6, 3)\n" + MODEL,
        "dist = Categorical(logits=model(x))\nadvantage = x.sum(1)\n"
        "log_prob = dist.log_prob(dist.sample())\n",
        "",
    ),
    "variance-as-scale": (
        "model, decoder = nn.Linear(6, 4), nn.Linear(2, 6).requires_grad_(False)\n"
        + MODEL,
        "mu, logvar = model(x).chunk(2, dim=1)\n",
        "",
    ),
    "adversarial-labels": (
        "model, G, bce = nn.Linear(6, 1), nn.Linear(6, 6), nn.BCEWithLogitsLoss()\n"
        "opt_g = torch.optim.SGD(G.parameters(), lr=0.1)\n" + MODEL,
        "",
        "loss = bce(model(x), ones)\n",
    ),
    "scaled-labels": (
        "def to_tensor(picture):\n"
        "    return torch.from_numpy(picture / np.float32(255))\n\n\n"
        "model = nn.Linear(6, vocab)\n" + MODEL,
        "",
        "",
    ),
    "minimized-overlap": ("model = nn.Linear(6, 6)\n" + MODEL, "", ""),
    "index-as-value": ("model = nn.Linear(6, 3)\n" + MODEL, "", ""),
    "reversed-divergence": (
        "model, decoder = nn.Linear(6, 4), nn.Linear(2, 6).requires_grad_(False)\n"
        + MODEL,
        "mu, logvar = model(x).chunk(2, dim=1)\n",
        "",
    ),
    "uniform-noise": (
        "model, decoder = nn.Linear(6, 4), nn.Linear(2, 6).requires_grad_(False)\n"
        + MODEL,
        "mu, logvar = model(x).chunk(2, dim=1)\n",
        "",
    ),
    "reversed-policy": (
        "model = nn.Linear(6, 3)\n" + MODEL,
        "dist = Categorical(logits=model(x))\nreturns = x.sum(1)\n"
        "log_prob = dist.log_prob(dist.sample())\n",
        "",
    ),
    "nan-in-data": (
        "model = nn.Linear(2, 1)\n" + MODEL,
        "",
        "",
    ),
    "equal-steps": (
        "layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)\n"
        "decoder = model = nn.TransformerDecoder(layer, 1)\n" + MODEL,
        "memory = torch.randn(8, 5, 8)\ny = torch.randn(8, 6, 8)\n",
        "",
    ),
    "equal-units": (
        "model = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 1))\n" + MODEL,
        "",
        "loss = model(x).mean()\n",
    ),
    "temperature-cancels": (
        "model = nn.Linear(6, 5)\n" + MODEL,
        "logits = model(x).detach()\n",
        "loss = model(x).mean()\n",
    ),
    "score-scale": (
        "model = nn.Linear(6, 5)\n" + MODEL,
        "",
        "loss = model(x).mean()\n",
    ),
    "log-of-zero": ("model = nn.Linear(3, 1)\n" + MODEL, "", ""),
    "limit-after-log": (
        "model = nn.Linear(6, 4)\n" + MODEL,
        "power = model(x).square()\n",
        "loss = bands.mean()\n",
    ),
    "root-of-zero": ("model = nn.Linear(6, 4)\n" + MODEL, "", ""),
    "mean-of-none": (
        "model = nn.Linear(6, 4)\n" + MODEL,
        "y = torch.randint(4, (len(x),))\n",
        "",
    ),
    "ignored-labels-counted": ("model = nn.Linear(6, vocab)\n" + MODEL, "", ""),
    "quantiles-swapped": ("model = nn.Linear(6, 1)\n" + MODEL, "", ""),
    "masked-targets": ("model = Reader()\n" + MODEL, "", ""),
    "shifted-twice": (WRITER + "model = WriterForCausalLM()\n" + MODEL, "", ""),
    "box-format": (BOXES + "model = nn.Linear(6, 4)\n" + MODEL, "", ""),
    "partial-norm": ("model = nn.Linear(6, 1)\n" + MODEL, "", ""),
    "unscaled-pixels": ("model = nn.Linear(6, 1)\n" + MODEL, "", ""),
    "self-as-candidate": (
        "model = nn.Linear(6, 8)\n" + MODEL,
        "z1, z2 = model(x), model(x.flip(1))\n",
        "",
    ),
}
"""What stands around the examples of each page: the model, and lines of the loop."""


def write_examples(code: str) -> tuple[str, str]:
    """Return the wrong example of a page, and the right one, as programs."""
    model, before, after = AROUND[code]
    found = re.findall(r"```python\n(.*?)```", find_page(code) or "", re.DOTALL)
    wrong, right = (
        BEFORE + DATA + model + LOOP.format(body=indent(before + text + after, "    "))
        for text in found
    )
    return wrong, right


@pytest.mark.parametrize("code", AROUND)
def test_the_wrong_example_of_a_page_is_found(code: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write_examples(code)[0])
    assert [each.code for each in report.findings] == [code]
    assert report.complete


@pytest.mark.parametrize("code", AROUND)
def test_nothing_is_found_in_the_right_example(code: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write_examples(code)[1])
    assert [each.message for each in report.findings] == []
    assert report.complete


@pytest.mark.parametrize("code", AROUND)
def test_torch_runs_both(code: str) -> None:
    for text in write_examples(code):
        exec(compile(text, "example.py", "exec"), {"__name__": "example"})
