"""Functions that a loop keeps and that read its variable later."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import functools

import torch
from torch import nn

model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
x = torch.randn(4, 6)
kept, fs, handles = {}, [], []


"""
WRONG = {
    "a hook": (
        "for name, layer in model.named_children():\n"
        "    layer.register_forward_hook(lambda m, i, o: kept.update({name: o}))\n"
        "model(x)\n",
        "`layer.register_forward_hook(lambda m, i, o, name=name:"
        " kept.update({name: o}))`",
    ),
    "a hook whose handle is kept": (
        "for name, layer in model.named_children():\n"
        "    def hook(module, args, output):\n"
        "        kept[name] = output\n"
        "    handles.append(layer.register_forward_hook(hook))\n"
        "model(x)\n",
        "`def hook(module, args, output, name=name):`",
    ),
    "under a condition, in a class": (
        "class Probe:\n"
        "    def __init__(self, net):\n"
        "        self.kept = {}\n"
        "        for i, layer in enumerate(net):\n"
        "            key = f'layer{i}'\n"
        "            if isinstance(layer, nn.Linear):\n"
        "                def save(*args):\n"
        "                    self.kept[key] = args[-1]\n"
        "                h = layer.register_forward_hook(save)\n"
        "                handles.append(h)\n\n\n"
        "Probe(model)\n"
        "model(x)\n",
        "`def save(*args, key=key):`",
    ),
    "of gradients": (
        "for name, p in model.named_parameters():\n"
        "    p.register_hook(lambda g: kept.update({name: g.norm()}))\n"
        "model(x).sum().backward()\n",
        "`p.register_hook(lambda g, name=name: kept.update({name: g.norm()}))`",
    ),
    "a list": (
        "for i in range(3):\n    fs.append(lambda: i * x)\nsum(f() for f in fs)\n",
        "`fs.append(lambda i=i: i * x)`",
    ),
    "a name in between": (
        "for i in range(3):\n"
        "    f = lambda v, k=2: v ** i + k\n"
        "    kept[i] = f\n"
        "sum(f(x) for f in kept.values())\n",
        "`f = lambda v, k=2, i=i: v ** i + k`",
    ),
    "a comprehension": (
        "fs = [lambda v: v * i for i in range(3)]\nsum(f(x) for f in fs)\n",
        "`fs = [lambda v, i=i: v * i for i in range(3)]`",
    ),
    "constraints": (
        "for i in range(3):\n"
        "    fs.append({'type': 'eq', 'fun': lambda v: v[i] - 1})\n"
        "sum(c['fun'](x) for c in fs)\n",
        "`fs.append({'type': 'eq', 'fun': lambda v, i=i: v[i] - 1})`",
    ),
    "schedules": (
        "opts = [torch.optim.SGD(model.parameters(), lr=0.1) for _ in range(2)]\n"
        "schedules = [\n"
        "    torch.optim.lr_scheduler.LambdaLR(opt, lambda e: 0.9 ** (e * i))\n"
        "    for i, opt in enumerate(opts)\n"
        "]\n",
        "`torch.optim.lr_scheduler.LambdaLR(opt, lambda e, i=i: 0.9 ** (e * i))`",
    ),
}
RIGHT = {
    "bound": (
        "for name, layer in model.named_children():\n"
        "    layer.register_forward_hook(\n"
        "        lambda m, i, o, name=name: kept.update({name: o})\n"
        "    )\n"
        "model(x)\n"
    ),
    "made by a function": (
        "def make_hook(name):\n"
        "    return lambda m, i, o: kept.update({name: o})\n\n\n"
        "for name, layer in model.named_children():\n"
        "    layer.register_forward_hook(make_hook(name))\n"
        "model(x)\n"
    ),
    "partial": (
        "def hook(name, m, i, o):\n"
        "    kept[name] = o\n\n\n"
        "for name, layer in model.named_children():\n"
        "    layer.register_forward_hook(functools.partial(hook, name))\n"
        "model(x)\n"
    ),
    "called at once by a lambda": (
        "for i in range(3):\n    fs.append((lambda i: lambda v: v * i)(i))\n"
    ),
    "called at once": (
        "rows = [[1, 2], [2, 1]]\n"
        "for i in range(2):\n"
        "    fs.append(sorted(rows, key=lambda row: row[i]))\n"
        "    kept[i] = list(map(lambda row: row[i], rows))\n"
        "    model.apply(lambda m: print(i))\n"
    ),
    "called in its turn": (
        "for name, layer in model.named_children():\n"
        "    h = layer.register_forward_hook(lambda m, i, o: kept.update({name: o}))\n"
        "    model(x)\n"
        "    h.remove()\n"
    ),
    "a hook of this step": (
        "for i in range(3):\n"
        "    out = model(x)\n"
        "    out.register_hook(lambda g: g * i)\n"
        "    out.sum().backward()\n"
    ),
    "a list of this turn": (
        "for i in range(3):\n"
        "    own = []\n"
        "    own.append(lambda v: v * i)\n"
        "    own[0](x)\n"
    ),
    "only the last": (
        "for i in range(3):\n"
        "    if i == 1:\n"
        "        fs.append(lambda v: v * i)\n"
        "        break\n"
        "fs[0](x)\n"
    ),
    "reads nothing of the loop": (
        "clip = 0.1\n"
        "for name, p in model.named_parameters():\n"
        "    p.register_hook(lambda g: g.clamp(-clip, clip))\n"
        "model(x).sum().backward()\n"
    ),
    "its own variable": (
        "for i in range(3):\n    fs.append(lambda v: [v * i for i in range(2)])\n"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_late_binding_is_reported(tmp_path: Path, name: str) -> None:
    body, edit = WRONG[name]
    findings = rehearsed(tmp_path, SCRIPT + body).findings
    finding = next(f for f in findings if f.code == "late-binding")
    assert [fix.message for fix in finding.fixes] == [edit]


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_bound_or_called_at_once_is_not(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, SCRIPT + RIGHT[name]).findings
    assert "late-binding" not in {f.code for f in findings}
