"""Batches handed on whole, values that nobody unpacks, functions without `return`,
sizes that are floats: mended where they come from, and right programs quiet.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import math
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

"""
STEP = """
x, y = torch.randn(24, 6), torch.randint(3, (24,))
loader = DataLoader(TensorDataset(x, y), batch_size=8)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def step({takes}):
    loss = F.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

for {batch} in {loader}:
    step({handed})
"""
DETECTOR = """
class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 3), nn.Linear(6, 3)

    def forward(self, left, right):
        return (self.a(left) * self.b(right)).sum(1)

net = Pair()
for batch in DataLoader(TensorDataset(torch.randn(24, 6), torch.randn(24, 6)), 8):
    net({handed}).mean().backward()
"""
SPOTS = """
class Spots(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return torch.randn(6), i % 3, f"spot_{{i}}"

model = nn.Linear(6, 3)
loader = DataLoader(Spots(), batch_size=4)
for {head}:
    {first}
    F.cross_entropy(model(x), y).backward()
"""
ENCODE = """
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.spread = nn.Linear(6, 2), nn.Linear(6, 2)
        self.back = nn.Linear(2, 6)

    def encode(self, x):
        return self.mean(x), self.spread(x), x.norm(dim=1)

    def forward(self, x):
        {names} = self.encode(x)
        return self.back(mean + spread.exp())

Encoder()(torch.randn(4, 6)).mean().backward()
"""
JITTER = """
def jitter(x, sigma=0.1):
    noise = sigma * torch.randn_like(x)
    {last}

class Chain:
    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x

model, chain = nn.Linear(6, 3), Chain(torch.tanh, jitter)
for _ in range(2):
    x = chain(torch.randn(8, 6))
    model(x.flatten(1)).mean().backward()
"""
MLP = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(2))
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        {last}

net = Net()
for _ in range(2):
    loss = F.cross_entropy(net(torch.randn(8, 6)), torch.randint(3, (8,)))
    loss.backward()
"""
PROCEDURE = """
kept = {}

def keep(module, inputs, output):
    value = output.detach()
    kept["first"] = value

model = nn.Linear(6, 3)
model.register_forward_hook(keep)
model(torch.randn(8, 6)).mean().backward()
"""
WIDE = """
class Block(nn.Module):
    def __init__(self, width, ratio):
        super().__init__()
        {sized}
        self.layers = nn.Sequential({layers})

    def forward(self, x):
        return x + self.layers(x)

block = Block(8, {ratio})
block(torch.randn(4, 8)).mean().backward()
"""
TWO = "nn.Linear(width, inner), nn.Linear(inner, width)"
SPLIT = """
rows = [[float(i)] * 6 for i in range(30)]
{cut}
train, rest = rows[:cut], rows[cut:]
nn.Linear(6, 3)(torch.tensor(train)).mean().backward()
"""
MISTAKES = {
    "a batch as one argument": (
        STEP.format(
            takes="inputs, labels", batch="batch", loader="loader", handed="batch"
        ),
        "`batch` is one argument that holds 2 values, and `step` takes 2",
        "`step(*batch)`",
    ),
    "a batch as one argument of a model": (
        DETECTOR.format(handed="batch"),
        "`batch` is one argument that holds 2 values, and `net` takes 2",
        "`net(*batch)`",
    ),
    "a third value in a loop": (
        SPOTS.format(head="x, y in loader", first="pass"),
        "`x, y` takes 2 values, and `Spots.__getitem__` gives 3",
        "`for x, y, _ in loader`",
    ),
    "a third value of a numbered batch": (
        SPOTS.format(head="n, (x, y) in enumerate(loader)", first="pass"),
        "`(x, y)` takes 2 values, and `Spots.__getitem__` gives 3",
        "`for n, (x, y, _) in enumerate(loader)`",
    ),
    "a third value of a batch": (
        SPOTS.format(head="batch in loader", first="x, y = batch"),
        "`x, y` takes 2 values, and `Spots.__getitem__` gives 3",
        "`x, y, _ = batch`",
    ),
    "a third value of a method": (
        ENCODE.format(names="mean, spread"),
        "`mean, spread` takes 2 values, and `encode` gives 3",
        "`mean, spread, _ = self.encode(x)`",
    ),
    "a step without return": (
        JITTER.format(last="x = x + noise"),
        "`jitter` returns None: its last statement is not a `return`",
        "`return x` at the end of `jitter`",
    ),
    "a forward without return": (
        MLP.format(last="self.head(x)"),
        "`forward` returns None: its last statement is not a `return`",
        "`return self.head(x)` at the end of `forward`",
    ),
    "a forward that ends with a name": (
        MLP.format(last="x = self.head(x)"),
        "`forward` returns None: its last statement is not a `return`",
        "`return x` at the end of `forward`",
    ),
    "a width times a ratio": (
        WIDE.format(sized="inner = width * ratio", layers=TWO, ratio=1.5),
        "`inner` is 12.0, the float `width * ratio`, and a size is a whole number",
        "`inner = int(width * ratio)`",
    ),
    "a width of a conditional": (
        WIDE.format(sized="inner = max(4, width * ratio)", layers=TWO, ratio=1.5),
        "`inner` is 12.0, the float `width * ratio`, and a size is a whole number",
        "`int(width * ratio)`",
    ),
    "half a width": (
        WIDE.format(sized="inner = width / ratio", layers=TWO, ratio=2),
        "`width / ratio` is a float, and a size is a whole number",
        "`width // ratio`",
    ),
    "a width by a float": (
        WIDE.format(sized="inner = width / ratio", layers=TWO, ratio=0.5),
        "`width / ratio` is a float, and a size is a whole number",
        "`inner = int(width / ratio)`",
    ),
    "a share of the rows": (
        SPLIT.format(cut="cut = 0.8 * len(rows)"),
        "`cut` is 24.0, the float `0.8 * len(rows)`, and a size is a whole number",
        "`cut = int(0.8 * len(rows))`",
    ),
}
FRAMES = """\
class Pairs(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, 4)

    def forward(self, frames):
        b, t, d = frames.shape
        {body}
        return self.proj(pairs.mean(dim=2))


pairs = Pairs(5)(torch.randn(3, 8, 5))
pairs.sum().backward()
"""
HALF = "`t / 2` is a float, and a size is a whole number: `//` gives one"
FLOAT_SIZES = {
    "half in a view": ("pairs = frames.view(b, t / 2, 2, d)", HALF, "`t // 2`"),
    "half in a tuple": ("pairs = frames.view((b, t / 2, 2, d))", HALF, "`t // 2`"),
    "half by name": (
        "half = t / 2\n        pairs = frames.reshape(b, half, 2, d)",
        HALF,
        "`t // 2`",
    ),
    "half in a function": (
        "pairs = torch.reshape(frames * 0.5, (b, t / 2, 2, d))", HALF, "`t // 2`",
    ),
    "half of a difference": (
        "pairs = frames.view(b, (t - 2) / 3 + 2, 2, d)",
        "`(t - 2) / 3` is a float",
        "`(t - 2) // 3`",
    ),
    "half of made zeros": (
        "pairs = frames.new_zeros(t / 2, 2, 2, d)", HALF, "`t // 2`",
    ),
    "half of zeros": ("pairs = torch.zeros(t / 2, 2, 2, d)", HALF, "`t // 2`"),
    "half of random numbers": (
        "pairs = torch.randn(b, t / 2, 2, d)", HALF, "`t // 2`",
    ),
    "half of an expanded dim": (
        "pairs = frames[:, :4, None].expand(b, t / 2, 2, d)", HALF, "`t // 2`",
    ),
    "parts": ("pairs = torch.stack(frames.split(t / 2, 1), 2)", HALF, "`t // 2`"),
    "numbers of parts": (
        "pairs = torch.stack(frames.chunk(t / 4, 1), 2)",
        "`t / 4` is a float",
        "`t // 4`",
    ),
    "a share": (
        "pairs = frames.view(b, int(t * 0.5), 2 * 1.0, d)",
        "`2 * 1.0` is a float",
        "`int(2 * 1.0)`",
    ),
}  # fmt: skip
MISTAKES |= {
    name: (FRAMES.format(body=body), message, fix)
    for name, (body, message, fix) in FLOAT_SIZES.items()
}
UNMENDED = {
    "fewer values than names": (
        ENCODE.format(names="mean, spread, norm, rest"),
        "`mean, spread, norm, rest` takes 4 values, and `encode` gives 3",
    ),
}
QUIET = {
    "a batch with a star": STEP.format(
        takes="inputs, labels", batch="batch", loader="loader", handed="*batch"
    ),
    "a batch that is unpacked": STEP.format(
        takes="inputs, labels", batch="a, b", loader="loader", handed="a, b"
    ),
    "three values": SPOTS.format(head="x, y, _ in loader", first="pass"),
    "a step that returns": JITTER.format(last="return x + noise"),
    "a forward that returns": MLP.format(last="return self.head(x)"),
    "a hook": PROCEDURE,
    "a whole width": WIDE.format(
        sized="inner = int(width * ratio)", layers=TWO, ratio=1.5
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_mistake_is_mended(tmp_path: Path, name: str) -> None:
    text, message, fix = MISTAKES[name]
    (finding, *_) = rehearsed(tmp_path, HEAD + text).findings
    assert finding.message.startswith(message)
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", UNMENDED)
def test_what_is_missing_is_not_guessed(tmp_path: Path, name: str) -> None:
    text, message = UNMENDED[name]
    (finding, *_) = rehearsed(tmp_path, HEAD + text).findings
    assert finding.message.startswith(message)
    assert finding.fixes == ()


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_of_what_is_meant(tmp_path: Path, name: str) -> None:
    assert rehearsed(tmp_path, HEAD + QUIET[name]).findings == ()
