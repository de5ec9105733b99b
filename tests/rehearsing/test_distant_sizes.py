"""Sizes that are set far from the call that fails: by default, before a name was set
anew, in another order, of a whole for a part.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.analysis.fixes.default_sizes import is_alike
from tests.rehearsing.rehearsed import rehearsed

BY_DEFAULT = """\
import argparse
import torch
from torch import nn

class Patches(nn.Module):
    def __init__(self, dim, image_size=32, patch=4):
        super().__init__()
        self.proj = nn.Conv2d(3, dim, patch, patch)
        self.pos = nn.Parameter(torch.zeros(1, (image_size // patch) ** 2, dim))
    def forward(self, x):
        return (self.proj(x).flatten(2).transpose(1, 2) + self.pos).mean(1)

{settings}
model = Patches({dim})
x = torch.rand(4, 3, {size}, {size})
model(x).sum().backward()
"""
PARSED = """\
parser = argparse.ArgumentParser()
parser.add_argument("--img-size", type=int, default=28)
parser.add_argument("--dim", type=int, default=16)
args = parser.parse_args()
"""
REBOUND = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width, out, cond):
        super().__init__()
        self.main, self.cond = nn.Linear(width, out), nn.Linear(cond, out)
    def forward(self, x, c):
        return torch.relu(self.main(x) + self.cond(c))

class Net(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.embed = nn.Linear(1, dim * 4)
        self.down = nn.ModuleList()
        for m in (1, 2):
            self.down.append(Block(dim, dim * m, dim * 4))
            {step}
        self.mid = Block(dim, dim, dim * 4)
    def forward(self, x, t):
        c = self.embed(t)
        for block in self.down:
            x = block(x, c)
        return self.mid(x, c)

Net()(torch.rand(4, 8), torch.rand(4, 1)).sum().backward()
"""
REVERSED = """\
import torch
from torch import nn

class Net(nn.Module):
    widths = [8, 16, 32]
    def __init__(self):
        super().__init__()
        sizes = [3, *self.widths]
        self.stages = nn.ModuleList(
            nn.Conv2d(a, b, 3, 2, 1) for a, b in zip(sizes, sizes[1:])
        )
        self.lateral = nn.ModuleList()
        for width in {widths}:
            self.lateral.append(nn.Conv2d(width, 8, 1))
    def forward(self, x):
        maps = []
        for stage in self.stages:
            x = stage(x)
            maps.insert(0, x)
        return [layer(x).mean() for layer, x in zip(self.lateral, maps)]

sum(Net()(torch.rand(2, 3, 32, 32))).backward()
"""
TABLE = """\
import numpy as np
import torch
from torch import nn

def load():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 7)).astype("float32")

def split(table):
    return table[:, :6], table[:, 6:]

table = load()
{count}
X, y = split(table)
X, y = torch.from_numpy(X), torch.from_numpy(y)
model = nn.Sequential(nn.Linear(n_inputs, 16), nn.ReLU(), nn.Linear(16, 1))
loss = nn.functional.mse_loss(model(X[:20]), y[:20])
loss.backward()
"""
SKIPS = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.downs = nn.ModuleList([nn.Conv2d(1, 4, 3, 2, 1), nn.Conv2d(4, 8, 3, 2, 1)])
        self.ups = nn.ModuleList(
            [nn.ConvTranspose2d(8, 8, 2, 2), nn.ConvTranspose2d(16, 4, 2, 2)]
        )
        self.mid = nn.Conv2d(8, 8, 3, 2, 1)
    def forward(self, x):
        skips = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
        x = self.mid(x)
        for {loop}:
            x = torch.cat([up(x), {skip}], dim=1)
        return x

Net()(torch.rand(2, 1, 32, 32)).sum().backward()
"""
HALVED = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, side=32, width=8):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.MaxPool2d(2), nn.MaxPool2d(2)
        )
        self.head = nn.Linear({inputs}, 5)
    def forward(self, x):
        return self.head(self.body(x).flatten(1))

Net()(torch.rand(2, 1, 32, 32)).sum().backward()
"""
CACHED = """\
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, dim=16, heads=2):
        super().__init__()
        self.heads, self.qkv = heads, nn.Linear(dim, 3 * dim)
    def forward(self, x, cache=None):
        b, t, d = x.shape
        q, k, v = [
            part.view(b, t, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, -1)
        ]
        if cache is not None:
            k, v = torch.cat([cache[0], k], {dim}), torch.cat([cache[1], v], {dim})
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return y.transpose(1, 2).reshape(b, t, d), (k, v)

model = Attention().eval()
with torch.no_grad():
    y, cache = model(torch.rand(3, 5, 16))
    y, cache = model(y[:, -1:], cache)
"""
RESIDUAL = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(cin, cout, 3, stride, 1), nn.Conv2d(cout, cout, 3, 1, 1)
        )
        self.short = {short}
    def forward(self, x):
        return torch.relu(self.main(x) + self.short(x))

net = nn.Sequential(Block(3, 8, 1), Block(8, 16, 2))
net(torch.rand(2, 3, 16, 16)).mean().backward()
"""
QUERIES = """\
import torch
from torch import nn

body = nn.Transformer(16, 2, 1, 1, 32)
queries = nn.Embedding(6, 16)
x = torch.rand(2, 16, 4, 5)
source = x.flatten(2).permute(2, 0, 1)
target = queries.weight.unsqueeze({dim}).repeat({times})
body(source, target).sum().backward()
"""
PAIRS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 8))
    def forward(self, pair):
        a, b = {first}, {second}
        return (self.body(a) - self.body(b)).pow(2).sum(1)

model = Twin()
data = TensorDataset(torch.rand(20, 2, 1, 8, 8), torch.arange(20) % 2)
for pair, same in DataLoader(data, batch_size=5):
    (model(pair) * same).mean().backward()
"""
HORIZONS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

LOOKBACK, HORIZON = 12, 6

class Windows(Dataset):
    def __init__(self, table, lookback=LOOKBACK, horizon=3):
        self.table, self.lookback, self.horizon = table, lookback, horizon
    def __len__(self):
        return len(self.table) - self.lookback - self.horizon
    def __getitem__(self, i):
        j = i + self.lookback
        return self.table[i:j].flatten(), self.table[j : j + self.horizon, 0]

model = nn.Linear(12 * 2, HORIZON)
for x, y in DataLoader({data}, batch_size=8, drop_last=True):
    nn.functional.mse_loss(model(x), y).backward()
"""
ROTARY = """\
import torch
from torch import nn

def build(width, steps):
    angles = torch.outer(torch.arange(steps), 100.0 ** -torch.linspace(0, 1, width))
    return angles.cos(), angles.sin()

class Attention(nn.Module):
    def __init__(self, dim=24, heads=3):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.q = nn.Linear(dim, dim)
        cos, sin = build({width}, 40)
        self.register_buffer("cos", cos)
        self.register_buffer("sin", sin)
    def forward(self, x):
        b, t, _ = x.shape
        q = self.q(x).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        q = q * self.cos[:t] + q.flip(-1) * self.sin[:t]
        return q.sum()

Attention()(torch.rand(2, 10, 24)).backward()
"""
CODES = """\
import torch
from torch import nn

class Codes(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.width, self.table = width, nn.Embedding(count, width)
    def forward(self, z):
        rows = z.permute(0, 2, 3, 1).reshape(-1, self.width)
        index = torch.cdist(rows, self.table.weight).argmin(1)
        b, _, h, w = z.shape
        q = self.table(index).view(b, h, w, self.width).permute(0, 3, 1, 2)
        return z + (q - z).detach()

class Net(nn.Module):
    def __init__(self, hidden=12, width=6):
        super().__init__()
        self.encode = nn.Conv2d(1, {channels}, 4, 4)
        self.codes = Codes(20, width)
        self.decode = nn.ConvTranspose2d(width, 1, 4, 4)
    def forward(self, x):
        return self.decode(self.codes(self.encode(x)))

Net()(torch.rand(2, 1, 16, 16)).mean().backward()
"""
BOXES = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Boxes(Dataset):
    def __init__(self, grid=7, boxes=2, classes=20):
        self.grid, self.boxes, self.classes = grid, boxes, classes
    def __len__(self):
        return 12
    def __getitem__(self, i):
        cells = torch.zeros(self.grid, self.grid, self.classes + 5 * self.boxes)
        cells[3, 4, {at}] = 1
        cells[3, 4, {box}] = torch.tensor([0.1, 0.2, 0.3, 0.4])
        return torch.rand(3, 14, 14), cells

net = nn.Conv2d(3, 14, 2, 2)
for x, y in DataLoader(Boxes({sizes}), batch_size=4):
    nn.functional.mse_loss(net(x).permute(0, 2, 3, 1), y).backward()
"""
COLUMNS = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, 4) for size in sizes)
    def forward(self, x):
        return torch.cat([table(x[:, at]) for at, table in enumerate(self.tables)], 1)

table = torch.tensor([[row % 40, row % 2, row % 9] for row in range(80)])
Net({sizes})(table).sum().backward()
"""
CASES = {
    "places of other classes": (
        BOXES.format(at="20", box="21:25", sizes="classes=4"),
        ["`cells[3, 4, self.classes]` and 2 more"],
    ),
    "places of the classes": (
        BOXES.format(
            at="self.classes",
            box="self.classes + 1:self.classes + 5",
            sizes="classes=4",
        ),
        None,
    ),
    "joins of a cache": (
        CACHED.format(dim="dim=1"), ["`dim=2` of each `cat` of the line"],
    ),
    "joins along the steps": (CACHED.format(dim="dim=2"), None),
    "a shortcut without stride": (
        RESIDUAL.format(short="nn.Conv2d(cin, cout, 1)"),
        ["`nn.Conv2d(cin, cout, 1, stride)`"],
    ),
    "a shortcut with stride": (
        RESIDUAL.format(short="nn.Conv2d(cin, cout, 1, stride)"), None,
    ),
    "queries with the batch first": (
        QUERIES.format(dim="0", times="2, 1, 1"), ["`target.transpose(0, 1)`"],
    ),
    "queries with the time first": (QUERIES.format(dim="1", times="1, 2, 1"), None),
    "two samples for a pair": (
        PAIRS.format(first="pair[0]", second="pair[1]"), ["`pair[:, 0], pair[:, 1]`"],
    ),
    "pairs": (PAIRS.format(first="pair[:, 0]", second="pair[:, 1]"), None),
    "a horizon by default": (
        HORIZONS.format(data="Windows(torch.rand(60, 2))"),
        ["`Windows(torch.rand(60, 2), horizon=HORIZON)`"],
    ),
    "one horizon": (
        HORIZONS.format(data="Windows(torch.rand(60, 2), horizon=HORIZON)"), None,
    ),
    "angles of the whole width": (
        ROTARY.format(width="dim"), ["`build(self.head_dim, 40)`"],
    ),
    "angles of a head": (ROTARY.format(width="self.head_dim"), None),
    "channels for several codes": (
        CODES.format(channels="hidden"), ["`nn.Conv2d(1, width, 4, 4)`"],
    ),
    "channels of a code": (CODES.format(channels="width"), None),
    "tables in another order": (
        COLUMNS.format(sizes="[2, 40, 9]"), ["`[40, 2, 9]`"],
    ),
    "tables by name in another order": (
        COLUMNS.format(sizes='{"b": 2, "a": 40, "c": 9}.values()'),
        ['`{"a": 40, "b": 2, "c": 9}`'],
    ),
    "tables in the order of the columns": (COLUMNS.format(sizes="[40, 2, 9]"), None),
    "maps from the first": (
        SKIPS.format(loop="up, skip in zip(self.ups, skips)", skip="skip"),
        ["`skips[::-1]`"],
    ),
    "maps popped from the first": (
        SKIPS.format(loop="up in self.ups", skip="skips.pop(0)"), ["`skips.pop()`"],
    ),
    "maps by number": (
        SKIPS.format(loop="i, up in enumerate(self.ups)", skip="skips[i]"),
        ["`skips[-1 - i]`"],
    ),
    "maps from the last": (
        SKIPS.format(loop="up in self.ups", skip="skips.pop()"), None,
    ),
    "maps halved once more": (
        HALVED.format(inputs="width * (side // 2) * (side // 2)"),
        ["`nn.Linear(width * (side // 4) * (side // 4), 5)`"],
    ),
    "a squared side": (
        HALVED.format(inputs="width * (side // 2) ** 2"),
        ["`nn.Linear(width * (side // 4) ** 2, 5)`"],
    ),
    "an option of a parser": (
        BY_DEFAULT.format(settings=PARSED, dim="args.dim", size="args.img_size"),
        ["`Patches(args.dim, image_size=args.img_size)`"],
    ),
    "an entry of a dict": (
        BY_DEFAULT.format(settings='cfg = {"imageSize": 24}', dim="16",
                          size='cfg["imageSize"]'),
        ['`Patches(16, image_size=cfg["imageSize"])`'],
    ),
    "a constant": (
        BY_DEFAULT.format(settings="IMG_SIZE = 40", dim="16", size="IMG_SIZE"),
        ["`Patches(16, image_size=IMG_SIZE)`"],
    ),
    "a name set anew in a loop": (
        REBOUND.format(step="dim = dim * m"),
        ["`cond = dim * 4` above, and `cond` for `dim * 4`"],
    ),
    "a name multiplied in place": (
        REBOUND.format(step="dim *= m"),
        ["`cond = dim * 4` above, and `cond` for `dim * 4`"],
    ),
    "a name that stays": (REBOUND.format(step="width = dim").replace(
        "(1, 2)", "(1, 1)"), None),
    "widths in the other order": (
        REVERSED.format(widths="self.widths"), ["`self.widths[::-1]`"],
    ),
    "widths in the order of the maps": (REVERSED.format(widths="self.widths[::-1]"),
                                        None),
    "columns counted too early": (
        TABLE.format(count="n_inputs = table.shape[1]"),
        ["`nn.Linear(X.shape[1], 16)`"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_size_is_mended_where_it_was_set(name: str, tmp_path: Path) -> None:
    program, fixes = CASES[name]
    findings = rehearsed(tmp_path, program).findings
    errors = [finding for finding in findings if finding.severity == "error"]
    assert len(errors) == (fixes is not None)
    if fixes is not None:
        assert [fix.message for fix in errors[0].fixes] == fixes
        assert errors[0].fixes[0].checked


@pytest.mark.parametrize(
    ("left", "right", "alike"),
    [
        ("image_size", "img_size", True),
        ("num_classes", "n_classes", True),
        ("num_classes", "nClasses", True),
        ("max_len", "max_length", False),  # of common words alone
        ("seq_len", "sequence_length", True),
        ("dim", "hidden_dim", False),
        ("in_channels", "out_channels", False),
        ("vocab_size", "vocabulary_size", True),
        ("batch_size", "image_size", False),
        ("depth", "width", False),
    ],
)
def test_names_that_speak_of_the_same(left: str, right: str, alike: bool) -> None:
    assert is_alike(left, right) == is_alike(right, left) == alike
