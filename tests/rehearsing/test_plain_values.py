"""Plain values where tensors or parameters are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

ids = [[1, 2, 3], [4, 5], [6]]
rows = [np.ones(4, dtype=np.float32), np.zeros(4, dtype=np.float32)]
emb, fc = nn.Embedding(9, 4), nn.Linear(4, 3)
"""
LOAD = """\
def load(model, values):
    {body}
    return model

model = load(fc, torch.randn(3, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.randn(2, 4)).sum().backward()
"""
EINOPS = """\
from einops import reduce

rnn, x = nn.GRU(4, 5, batch_first=True), torch.randn(2, 3, 4)
{call}
z = reduce(hidden, "{end}", "max")
"""
TRAIN = """\
shift = {made}
optimizer = torch.optim.SGD([shift], lr=0.1)
fc(torch.randn(2, 4) + shift).sum().backward()
optimizer.step()
"""
ROUND = """\
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, levels):
        {save}
        return torch.round(x * levels) / levels

    @staticmethod
    def backward(ctx, grad):
        {read}
        return {result}, None

x = torch.rand(5, requires_grad=True)
Rounded.apply(x * 2, 7).sum().backward()
"""
CASES = {
    "names of classes": (
        "KINDS = ['cat', 'dog']\nrecords = [('a.png', 'dog'), ('b.png', 'cat')]\n"
        "y = torch.tensor([kind for _, kind in records])\n"
        "nn.functional.cross_entropy(torch.randn(2, 2), y)",
        "`KINDS.index(kind)`",
    ),
    "a list of names of classes": (
        "NUMBERS = {'cat': 0, 'dog': 1}\nlabels = ['dog', 'cat', 'cat']\n"
        "y = torch.tensor(labels)\n"
        "nn.functional.cross_entropy(torch.randn(3, 2), y)",
        "`[NUMBERS[each] for each in labels]`",
    ),
    "the name of a class": (
        "kinds = ('cat', 'dog')\nkind = 'dog'\ny = torch.as_tensor(kind)\n"
        "nn.functional.cross_entropy(torch.randn(2), y)",
        "`kinds.index(kind)`",
    ),
    "lists that are padded": (
        "z = emb(pad_sequence(ids, batch_first=True))",
        "`[torch.tensor(item) for item in ids]`",
    ),
    "lists by a keyword": (
        "z = emb(pad_sequence(sequences=ids))",
        "`[torch.tensor(item) for item in ids]`",
    ),
    "lists of a comprehension": (
        "z = emb(nn.utils.rnn.pad_sequence([i[:2] for i in ids]))",
        "`torch.tensor(i[:2])`",
    ),
    "arrays that are stacked": (
        "z = fc(torch.stack(rows))", "`[torch.from_numpy(item) for item in rows]`",
    ),
    "arrays that are joined": (
        "z = torch.cat([row[:2] for row in rows], dim=0)",
        "`torch.from_numpy(row[:2])`",
    ),
    "numbers that are stacked": (
        "losses = [fc(torch.randn(2, 4)).sum().item() for _ in range(3)]\n"
        "print(torch.stack(losses).mean())",
        "`torch.tensor(losses)`",
    ),
    "lists of tensors": (
        "pairs = [[torch.randn(4), torch.randn(4)] for _ in range(3)]\n"
        "z = fc(torch.stack(pairs))",
        "`[torch.stack(tuple(item)) for item in pairs]`",
    ),
    "one of several": (
        "z = torch.cat([torch.arange(3), [7, 8]])", "`torch.tensor([7, 8])`",
    ),
    "a weight": (
        LOAD.format(body="model.weight = values"), "`nn.Parameter(values)`",
    ),
    "a weight that is cloned": (
        LOAD.format(body="model.weight = values.clone()"),
        "`nn.Parameter(values.clone())`",
    ),
    "weights in a loop": (
        LOAD.format(
            body="for layer in [model]:\n        layer.bias = torch.zeros(3)"
        ),
        "`nn.Parameter(torch.zeros(3))`",
    ),
    "a weight that is clipped": (
        LOAD.format(body="model.weight = model.weight.clamp(-1, 1)"),
        "`with torch.no_grad(): model.weight.copy_(model.weight.clamp(-1, 1))`",
    ),
    "a weight that is optimized": (
        "optimizer = torch.optim.SGD(fc.parameters(), lr=0.1)\n"
        "fc.weight = torch.randn(3, 4)",
        "`with torch.no_grad(): fc.weight.copy_(torch.randn(3, 4))`",
    ),
    "a parameter by its name": (
        "class Scaled(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.register_parameter('scale', torch.ones(4))\n\n"
        "    def forward(self, x):\n        return x * self.scale\n\n"
        "Scaled()(torch.randn(2, 4)).sum().backward()",
        "`nn.Parameter(torch.ones(4))`",
    ),
    "whole numbers that are trained": (
        TRAIN.format(made="torch.tensor([0, -2, 1, 0], requires_grad=True)"),
        "`torch.tensor([0.0, -2.0, 1.0, 0.0], requires_grad=True)`",
    ),
    "whole numbers of a parameter": (
        TRAIN.format(made="nn.Parameter(torch.tensor(1))"), "`torch.tensor(1.0)`",
    ),
    "whole numbers by name": (
        TRAIN.format(made="torch.tensor([1, 2, 3, 4])\nshift.requires_grad_()"),
        "`torch.tensor([1.0, 2.0, 3.0, 4.0])`",
    ),
    "whole numbers by their flag": (
        TRAIN.format(made="torch.arange(4)\nshift.requires_grad = True"),
        "`torch.arange(4, dtype=torch.float32)`",
    ),
    "whole numbers by their dtype": (
        TRAIN.format(
            made="torch.zeros(4, dtype=torch.long, requires_grad=True)"
        ),
        "`dtype=torch.float32`",
    ),
    "a list of whole numbers": (
        "begin = [0, 1, 2, 3]\n"
        + TRAIN.format(made="torch.tensor(begin, requires_grad=True)"),
        "`torch.tensor(begin, requires_grad=True, dtype=torch.float32)`",
    ),
    "whole numbers that are filled": (
        TRAIN.format(made="torch.full((4,), 2, requires_grad=True)"),
        "`torch.full((4,), 2.0, requires_grad=True)`",
    ),
    "places that are kept": (
        "places = nn.Parameter(torch.arange(3))\nz = emb(places)",
        "`nn.Parameter(torch.arange(3), requires_grad=False)`",
    ),
    "the tuple of a layer in einops": (
        EINOPS.format(call="hidden = rnn(x)", end="b t d -> b d"),
        "`hidden, _ = rnn(x)`",
    ),
    "the tuple of a class in einops": (
        "class Reader(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.rnn = nn.LSTM(4, 5)\n\n"
        "    def forward(self, x):\n        out = self.rnn(x)\n"
        "        return einops.rearrange(out, 't b d -> b t d')\n\n"
        "import einops\nReader()(torch.randn(3, 2, 4)).sum().backward()",
        "`out, _ = self.rnn(x)`",
    ),
    "a number that is saved": (
        ROUND.format(
            save="ctx.save_for_backward(x, levels)",
            read="(x,) = ctx.saved_tensors[:1]",
            result="grad * (x > 0)",
        ),
        "`ctx.levels = levels`",
    ),
    "a number that is read": (
        ROUND.format(
            save="ctx.save_for_backward(x, levels)",
            read="x, levels = ctx.saved_tensors",
            result="grad * (x > 0) * levels / 7",
        ),
        "`ctx.levels = levels`",
    ),
    "a number alone": (
        ROUND.format(
            save="ctx.save_for_backward(levels)",
            read="(levels,) = ctx.saved_tensors",
            result="grad * levels / 7",
        ),
        "`ctx.levels = levels`",
    ),
    "a number by its place": (
        ROUND.format(
            save="ctx.save_for_backward(levels, x)",
            read="levels, x = ctx.saved_tensors[0], ctx.saved_tensors[1]",
            result="grad * (x > 0) * levels / 7",
        ),
        "`ctx.levels = levels`",
    ),
}  # fmt: skip
UNMENDED = {
    "a weight of another layer": (
        "other = nn.Linear(3, 4)\nfc.weight = other.weight.t()",
        "`fc.weight` is a parameter of its module",
    ),
    "a weight that is computed": (
        "class Computed(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.weight = nn.Parameter(torch.randn(3, 4))\n\n"
        "    def forward(self, x):\n"
        "        self.weight = torch.randn(3, 4) * 2\n"
        "        return x @ self.weight.t()\n\n"
        "Computed()(torch.randn(2, 4))",
        "`self.weight` is a parameter of its module",
    ),
    "saved tensors that are read otherwise": (
        ROUND.format(
            save="ctx.save_for_backward(x, levels)",
            read="saved = ctx.saved_tensors",
            result="grad * (saved[0] > 0)",
        ),
        "`save_for_backward` keeps tensors, and `levels` is of type `int`",
    ),
    "a name": (
        "z = torch.stack(['a', 'b'])",
        "`stack` takes tensors, and `['a', 'b']` holds a `str` at [0]",
    ),
}
QUIET = {
    "the output of a layer in einops": EINOPS.format(
        call="hidden, _ = rnn(x)", end="b t d -> b d"
    ),
    "tensors that are padded": "z = pad_sequence([torch.tensor(i) for i in ids])",
    "a parameter": LOAD.format(body="model.weight = nn.Parameter(values)"),
    "floats": TRAIN.format(made="torch.tensor([0.0, 1, 2, 3], requires_grad=True)"),
    "no parameter": LOAD.format(body="model.bias = None"),
    "a number of the context": ROUND.format(
        save="ctx.levels = levels", read="levels = ctx.levels", result="grad * levels"
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_tensor_or_parameter_is_made_of_it(name: str, tmp_path: Path) -> None:
    body, edit = CASES[name]
    report = rehearsed(tmp_path, f"{HEAD}{body}\n")
    finding = next(f for f in report.findings if f.severity == "error")
    assert [fix.message for fix in finding.fixes if fix.checked][:1] == [edit]


@pytest.mark.parametrize("name", UNMENDED)
def test_what_is_meant_is_not_guessed(name: str, tmp_path: Path) -> None:
    body, message = UNMENDED[name]
    report = rehearsed(tmp_path, f"{HEAD}{body}\n")
    finding = next(f for f in report.findings if f.severity == "error")
    assert finding.message.startswith(message)
    assert finding.fixes == ()


@pytest.mark.parametrize("name", QUIET)
def test_tensors_and_parameters_are_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, f"{HEAD}{QUIET[name]}\n")
    assert [f for f in report.findings if f.severity == "error"] == []
