"""How people compare sizes in Python, and what each way tells."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from tests.guards.watching import compares

IDIOMS: dict[str, list[str]] = {
    # x is f32[2, 30, 8, 12], y is f32[30, 5]
    "assert x.shape[1] <= 1024": ["x1 <= 1024: true"],
    "B, T, H, W = x.shape\nassert T <= 1024": ["x1 <= 1024: true"],
    "assert x.size(1) <= 1024": ["x1 <= 1024: true"],
    "assert x.size(dim=-3) <= 1024": ["x1 <= 1024: true"],
    "assert x.size()[1] <= 1024": ["x1 <= 1024: true"],
    "assert 1024 >= x.shape[1]": ["x1 <= 1024: true"],
    "if x.shape[1] % 8: pass": ["x1 % 8 != 0: true"],
    "if not x.shape[2] % 8: pass": ["x2 % 8 != 0: false"],
    "if x.shape[2] % 8 == 0: pass": ["x2 % 8 == 0: true"],
    "t = min(x.shape[1], 512)": ["x1 > 512: false"],
    "t = max(1, x.shape[1] - 2)": ["x1 - 2 > 1: true"],
    "len(x) == 3": ["x0 == 3: false"],
    "if len(y) > 4 and y.shape[1] < 4: pass": ["y0 > 4: true", "y1 < 4: false"],
    "x.numel() > 100": ["x0 * x1 * x2 * x3 > 100: true"],
    "torch.numel(y) == 150": ["y0 * y1 == 150: true"],
    "x.stride(1) == 96": ["x2 * x3 == 96: true"],
    "x.stride()[-1] == 1": [],
    "x.ndim == 4; x.dim() > 2; len(x.shape) == 4": [],
    "h = x.shape[2]\nwhile h > 2:\n    h //= 2": [
        "x2 > 2: true", "x2 // 2 > 2: true", "x2 // 4 > 2: false",
    ],
    "h = x.shape[2]\nwhile h > 2:\n    h = h - 3": [
        "x2 > 2: true", "x2 - 3 > 2: true", "x2 - 6 > 2: false",
    ],
    "x.shape[1] == y.shape[0]": ["x1 == y0: true"],
    "x.shape[1:2] == y.shape[:1]": ["x1 == y0: true"],
    "assert x.shape == (2, 30, 8, 12)": [
        "x0 == 2: true", "x1 == 30: true", "x2 == 8: true", "x3 == 12: true",
    ],
    "if x.shape[2:] != y.shape: x = x + 1": ["x2 == y0: false"],
    "assert x.shape[0] in (1, 2)": ["x0 == 1: false", "x0 == 2: true"],
    "math.ceil(x.shape[2] / 3) > 2": ["ceil(x2 / 3) > 2: true"],
    "math.floor(x.shape[2] * 0.5) == 4": ["floor(x2 * 0.5) == 4: true"],
    "round(x.shape[2] * 1.3) == 10": ["round(x2 * 1.3) == 10: true"],
    "-(-x.shape[2] // 3) == 3": ["-(-x2 // 3) == 3: true"],
    "(x.shape[1] + 3) // 4 * 4 != x.shape[1]": ["(x1 + 3) // 4 * 4 != x1: true"],
    "(8 - x.shape[1] % 8) % 8 > 0": ["(8 - x1 % 8) % 8 > 0: true"],
    "q, r = divmod(x.shape[1], 4)\nif r: q += 1\nq > 7": [
        "x1 % 4 != 0: true", "x1 // 4 + 1 > 7: true",
    ],
    "x.shape[2] ** 2 > 50": ["x2 ** 2 > 50: true"],
    "x.shape[2] ** 0.5 == 4": ["x2 ** 0.5 == 4: false"],
    "(x.shape[2] / 4).is_integer()": ["x2 / 4 % 1 == 0: true"],
    "abs(x.shape[2] - x.shape[3]) > 1": ["abs(x2 - x3) > 1: true"],
    "n = x.shape[2]\nn & (n - 1) == 0": ["x2 & x2 - 1 == 0: true"],
    "1 << (x.shape[1] - 1).bit_length() == 32": ["1 << bit_length(x1 - 1) == 32: true"],
    "math.prod(x.shape[2:]) > 90": ["x2 * x3 > 90: true"],
    "sum(x.shape) > 10": ["x0 + x1 + x2 + x3 > 10: true"],
    "all(size % 2 == 0 for size in x.shape[2:])": [
        "x2 % 2 == 0: true", "x3 % 2 == 0: true",
    ],
    "sorted([x.shape[3], x.shape[2]])": ["x2 < x3: true"],
    "4 < x.shape[2] < 10": ["x2 > 4: true", "x2 < 10: true"],
    "h = x.shape[2] if x.shape[2] > x.shape[3] else x.shape[3]": ["x2 > x3: false"],
    "n = x.shape[2] or 1": ["x2 != 0: true"],
    "bool(x.shape[2])": ["x2 != 0: true"],
    "x.shape[2] * 1.5 >= 12": ["x2 * 1.5 >= 12: true"],
    "2 * x.shape[2] + 1 == 17": ["x2 * 2 + 1 == 17: true"],
    "'ab'[x.shape[0] > 1]": ["x0 > 1: true"],
    "a, b = x.chunk(2, 1)\na.shape[1] == 15": ["t.shape[1] == 15: true"],
    "x.shape[0] is None or x.shape[0] == 'a' or x.shape[0] == None": [],
    "cache = {2: 'two'}\ncache[x.shape[0]]; x.shape[0] in cache": [],
    "seen = {(x.shape[0], 'cpu'): 1}\nseen[(x.shape[0], 'cpu')]": [],
    "int(x.shape[2] / 3) == 2": ["int(x2 / 3) == 2: true"],
    "int(x.shape[2]) > 2": ["x2 > 2: true"],
    "float(x.shape[2]) > 2.5": ["float(x2) > 2.5: true"],
    "h = int((x.shape[0] * x.shape[2]) ** 0.5)\nassert h * h == 16": [
        "int((x0 * x2) ** 0.5) * int((x0 * x2) ** 0.5) == 16: true",
    ],
    "math.sqrt(x.shape[2]) > 2.5": ["sqrt(x2) > 2.5: true"],
    "round(log(x.shape[2])) == ceil(x.size(0) / 4)": [
        "round(log2(x2)) == ceil(x0 / 4): false",
    ],
    "math.log2(x.shape[2]) % 1 == 0": ["log2(x2) % 1 == 0: true"],
    "math.gcd(x.shape[2], x.shape[3]) == 4": ["gcd(x2, x3) == 4: true"],
    "import enum\nkind = enum.IntEnum('Kind', {'A': 2})\nx.shape[0] == kind.A": [
        "x0 == 2: true",
    ],
    "x.shape[0] == numpy.int64(2) and x.shape[1] < numpy.float32(40)": [
        "x0 == 2: true", "x1 < 40.0: true",
    ],
    "x.shape[0] < torch.tensor(3)": [],
    "torch.broadcast_shapes(x.shape, (1, 1))[1] > 4": ["x1 > 4: true"],
    "torch.Size(x.shape)[1] > 4": ["x1 > 4: true"],
    "x = F.interpolate(x, size=(x.shape[2] * 2, 7))": [],
    "torch.nn.GRU(12, 3)(x[0])": [],
    "x = x.view(x.shape[0], -1); y[:, : x.shape[0]]": [],
}  # fmt: skip


@pytest.mark.parametrize("body", IDIOMS)
def test_an_idiom_tells_what_it_compares(body: str, tmp_path: Path) -> None:
    found = compares(tmp_path, body, torch.zeros(2, 30, 8, 12), torch.zeros(30, 5))
    assert [re.sub(r"\bt\d+", "t", text) for text in found] == IDIOMS[body]
