"""Errors whose cause is the form in which one call gets what it is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.analysis.refused_calls.single_calls import find_single_call
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,)))
loader = DataLoader(data, batch_size=8)
net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
"""
HF = """\
class Output:
    def __init__(self, loss, logits, hidden_states):
        self.loss, self.logits, self.hidden_states = loss, logits, hidden_states

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net

    def forward(self, x, labels=None, output_hidden_states=False):
        out = self.net(x)
        loss = None if labels is None else nn.functional.cross_entropy(out, labels)
        return Output(loss, out, (x, out) if output_hidden_states else None)

model = Model()
batch = {"x": torch.randn(8, 6), "labels": torch.randint(0, 3, (8,))}
"""
CASES = {
    "a list of modules": (
        "layers = [nn.Linear(6, 4), nn.ReLU()]\nbody = nn.Sequential(layers)",
        "`nn.Sequential(*layers)`",
    ),
    "a tensor as a key": (
        "names = {0: 'a', 1: 'b', 2: 'c'}\n"
        "for label in torch.tensor([0, 1]):\n    print(names[label])",
        "`label.item()`",
    ),
    "the root of a number": (
        "width = 64\nscores = torch.randn(2, 3) / torch.sqrt(width)",
        "`width ** 0.5`",
    ),
    "the logarithm of a number": (
        "import math\ncount = 10\nx = torch.log(count)",
        "`math.log(count)`",
    ),
    "a scheduler of a model": (
        "schedule = torch.optim.lr_scheduler.StepLR(net, 2)",
        "`optimizer`",
    ),
    "epochs without steps": (
        "schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, epochs=3)",
        "`steps_per_epoch=len(loader)`",
    ),
    "an optimizer of one tensor": (
        "z = torch.randn(3, requires_grad=True)\nsgd = torch.optim.SGD(z, lr=0.1)",
        "`[z]`",
    ),
    "a name that NumPy had": ("x = np.zeros(3, dtype=np.float)", "`np.float64`"),
    "a module that was a function": (
        "x = torch.randn(8)\ny = torch.fft(x)",
        "`torch.fft.fft(x)`",
    ),
    "the pattern in front": (
        "from einops import einsum\nq, k = torch.randn(2, 3), torch.randn(4, 3)\n"
        "x = einsum('n d, m d -> n m', q, k)",
        "`einsum(q, k, 'n d, m d -> n m')`",
    ),
    "an iterator at its end": (
        "batches = iter(loader)\nfor _ in range(9):\n    x, y = next(batches)",
        "`next(iter(loader))`",
    ),
    "next of a loader": ("x, y = next(loader)", "`next(iter(loader))`"),
    "the method next": (
        "batches = iter(loader)\nx, y = batches.next()",
        "`next(batches)`",
    ),
    "a dict that its loop cuts": (
        "state = net.state_dict()\nfor key in state.keys():\n"
        "    if key.startswith('2.'):\n        state.pop(key)",
        "`list(state.keys())`",
    ),
    "a dict that its loop renames": (
        "state = net.state_dict()\nfor key, value in state.items():\n"
        "    state['module.' + key] = value\n    del state[key]",
        "`list(state.items())`",
    ),
    "a plain dict": (
        "counts = {'a': 1, 'b': 2}\nfor n, key in enumerate(counts):\n"
        "    if n == 0:\n        del counts[key]",
        "`list(counts)`",
    ),
    "a set": (
        "seen = {1, 2, 3}\nfor number in seen:\n    seen.discard(number)",
        "`list(seen)`",
    ),
    "a pair without a dim": (
        "_, classes = torch.max(net(torch.randn(8, 6)))",
        "`torch.max(net(torch.randn(8, 6)), dim=1)`",
    ),
    "a squeezed batch of one": (
        "one = nn.Linear(6, 1)\nfor x, _ in DataLoader(data, batch_size=39):\n"
        "    for score in one(x).squeeze():\n        print(score)",
        "`one(x).squeeze(-1)`",
    ),
    "a loss without labels": (
        f"{HF}out = model(batch['x'], output_hidden_states=True)\nloss = out.loss / 2",
        "`model(batch['x'], output_hidden_states=True, labels=batch[\"labels\"])`",
    ),
    "labels that were taken out": (
        f"{HF}labels = batch.pop('labels')\nout = model(**batch)\nout.loss.backward()",
        "`model(**batch, labels=labels)`",
    ),
    "hidden states": (
        f"{HF}out = model(x=batch['x'])\nlast = out.hidden_states[-1]",
        "`model(x=batch['x'], output_hidden_states=True)`",
    ),
    "a method that is saved": (
        "torch.save(net.state_dict, 'net.pt')\n"
        "net.load_state_dict(torch.load('net.pt'))",
        "`net.state_dict()`",
    ),
    "an own method of training": (
        "class Model(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n"
        "        self.net = net\n\n"
        "    def forward(self, x):\n        return self.net(x)\n\n"
        "    def train(self, batches):\n        for x, y in batches:\n"
        "            self(x).sum().backward()\n\n"
        "model = Model()\nmodel.train(loader)\nmodel.eval()",
        "another name, `fit`, for `train`",
    ),
    "items read by keys": (
        "class Pairs(torch.utils.data.Dataset):\n"
        "    def __len__(self):\n        return 8\n\n"
        "    def __getitem__(self, i):\n        image = torch.randn(6)\n"
        "        label = i % 3\n        return image, label\n\n"
        "def collate(items):\n"
        "    images = torch.stack([item['image'] for item in items])\n"
        "    labels = torch.tensor([item['label'] for item in items])\n"
        "    return images, labels\n\n"
        "for x, y in DataLoader(Pairs(), 4, collate_fn=collate):\n"
        "    nn.functional.cross_entropy(net(x), y).backward()",
        '`return {"image": image, "label": label}`',
    ),
    "entries of a sum": (
        "place = torch.tensor([[0, 1, 2], [1, 2, 0]])\n"
        "graph = torch.sparse_coo_tensor(place, torch.ones(3), (3, 3))\n"
        "graph = graph + torch.eye(3).to_sparse()\nrow, col = graph.indices()",
        "`(graph + torch.eye(3).to_sparse()).coalesce()`",
    ),
    "values of a tensor as it is made": (
        "place = torch.tensor([[0, 1, 2], [1, 2, 0]])\n"
        "print(torch.sparse_coo_tensor(place, torch.ones(3), (3, 3)).values())",
        "`torch.sparse_coo_tensor(place, torch.ones(3), (3, 3)).coalesce()`",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_call_gets_what_it_takes(name: str, tmp_path: Path) -> None:
    body, edit = CASES[name]
    report = rehearsed(tmp_path, f"{HEAD}{body}\n")
    finding = next(f for f in report.findings if f.severity == "error")
    checked = [fix.message for fix in finding.fixes if fix.checked]
    assert checked[:1] == [edit] * bool(edit)


SAID = {
    "accuracy_score(labels, scores)": (
        "ValueError: Classification metrics can't handle a mix of multiclass and"
        " continuous-multioutput targets",
        "`scores.argmax(axis=1)`",
    ),
    "roc_auc_score(labels, scores)": (
        "ValueError: multi_class must be in ('ovo', 'ovr')",
        '`roc_auc_score(labels, scores, multi_class="ovr")`',
    ),
    "x = scaler.fit_transform(windows)": (
        "ValueError: Found array with dim 3, while dim <= 2 is required",
        "`scaler.fit_transform(windows.reshape(-1, windows.shape[-1]))"
        ".reshape(windows.shape)`",
    ),
    "log = log.append(row, ignore_index=True)": (
        "AttributeError: 'DataFrame' object has no attribute 'append'",
        "`pd.concat([log, pd.DataFrame([row])], ignore_index=True)`",
    ),
    "x = torch.from_numpy(table[names])": (
        "TypeError: expected np.ndarray (got DataFrame)",
        "`table[names].to_numpy(copy=True)`",
    ),
    "net = timm.create_model('resnet18', in_channels=4)": (
        "TypeError: ResNet.__init__() got an unexpected keyword argument 'in_channels'",
        "`in_chans=4`",
    ),
    "config = ViTConfig(hidden_size=64)": (
        "ValueError: Make sure that the channel dimension of the pixel values match"
        " with the one set in the configuration. Expected 3 but got 1.",
        "`ViTConfig(hidden_size=64, num_channels=1)`",
    ),
    "jitted = torch.jit.trace(net, x)": (
        "RuntimeError: Encountering a dict at the output of the tracer",
        "`torch.jit.trace(net, x, strict=False)`",
    ),
}


class OneFile:
    """A program of one file, as far as it is asked for its text."""

    def __init__(self, text: str) -> None:
        self.source = SourceText("program.py", text)

    def text(self, file: str) -> SourceText:
        return self.source


@pytest.mark.parametrize("call", SAID)
def test_what_libraries_say(call: str) -> None:
    words, edit = SAID[call]
    span = Span("program.py", 1, 1, 1, len(call) + 1)
    finding = Finding("program-error", "error", words, span, torch_message=words)
    cause = find_single_call(OneFile(f"{call}\n"), finding)  # type: ignore[arg-type]
    assert cause is not None
    assert [fix.message for fix in cause.fixes] == [edit]


def test_an_error_of_a_key_that_is_missing_is_another(tmp_path: Path) -> None:
    text = f"{HEAD}names = {{0: 'a'}}\nprint(names[7])\n"
    (finding,) = rehearsed(tmp_path, text).findings
    assert "is a tensor" not in finding.message


STACKED = """\
layers = [nn.Linear(6, 8), nn.ReLU(), nn.Linear(9, 3)]
model = nn.Sequential(layers)
for x, y in loader:
    out = model(x)
    nn.functional.cross_entropy(out, y).backward()
_, classes = torch.max(out)
"""


def test_each_of_three_mistakes_has_its_edit(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + STACKED)
    errors = [f for f in report.findings if f.severity == "error"]
    firsts = [[fix.message for fix in f.fixes if fix.checked][:1] for f in errors]
    assert firsts == [
        ["`nn.Sequential(*layers)`"],
        ["`nn.Linear(8, 3)`"],
        ["`torch.max(out, dim=1)`"],
    ]
