"""Methods and dtypes of NumPy where torch's are meant, and the other way round."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import numpy as np
import torch
from torch import nn

x, y = torch.randn(6, 4), torch.randint(0, 4, (6,))
net = nn.Linear(4, 4)
rows = np.random.rand(6, 4)
"""
CASES = {
    "right answers": (
        "hits = (net(x).argmax(1) == y).astype(float)\nprint(hits.mean().item())",
        "`(net(x).argmax(1) == y).float()`",
    ),
    "a dtype of NumPy": ("z = net(x.astype(np.float32))", "`x.float()`"),
    "a dtype by its name": ("z = net(x.astype('float32'))", "`x.float()`"),
    "a dtype as a keyword": ("z = y.astype(dtype=np.int64) + 1", "`y.long()`"),
    "pixels": ("z = (x * 255).astype(np.uint8)", "`(x * 255).to(torch.uint8)`"),
    "pixels of an array": (
        "z = np.clip(x.detach().astype('uint8'), 0, 9)\nz.tobytes()",
        "`x.detach().numpy().astype('uint8')`",
    ),
    "in a chain over lines": (
        "z = (\n    (net(x).argmax(1) == y)\n    .astype(int)\n    .sum()\n)",
        "`(net(x).argmax(1) == y).long()`",
    ),
    "a copy": ("z = x.copy()\nz += 1", "`x.clone()`"),
    "a dtype of torch": (
        "z = torch.from_numpy(rows.astype(torch.float32))", "`np.float32`",
    ),
    "torch's other name": (
        "z = net(torch.from_numpy(rows.astype(torch.float)))", "`np.float32`",
    ),
    "zeros of a dtype of torch": (
        "z = torch.from_numpy(np.zeros((6, 4), dtype=torch.int64))", "`np.int64`",
    ),
    "a tensor to a dtype of NumPy": ("z = net(x.to(np.float32))", "`torch.float32`"),
    "zeros of a dtype of NumPy": (
        "z = torch.zeros(6, 4, dtype=np.float32)", "`torch.float32`",
    ),
    "a dtype in quotes": (
        "z = torch.tensor([1, 2], dtype='int64') + y[:2]", "`torch.int64`",
    ),
    "a type of NumPy": ("z = net(x.type(np.float32))", "`torch.float32`"),
}  # fmt: skip
QUIET = {
    "an array": "z = torch.from_numpy(rows.astype(np.float32)).mean()",
    "a tensor": "z = net(x.to(torch.float32)).to(float)",
    "an array of a tensor": "z = x.numpy().astype(np.float64).copy()",
}


@pytest.mark.parametrize("name", CASES)
def test_the_other_library_is_meant(name: str, tmp_path: Path) -> None:
    body, edit = CASES[name]
    report = rehearsed(tmp_path, f"{HEAD}{body}\n")
    finding = next(f for f in report.findings if f.severity == "error")
    assert [fix.message for fix in finding.fixes if fix.checked][:1] == [edit]


@pytest.mark.parametrize("name", QUIET)
def test_what_each_library_takes_is_right(name: str, tmp_path: Path) -> None:
    assert rehearsed(tmp_path, f"{HEAD}{QUIET[name]}\n").findings == ()


def test_a_dtype_that_numpy_lacks_has_no_edit(tmp_path: Path) -> None:
    text = f"{HEAD}z = rows.astype(torch.bfloat16)\n"
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.message.endswith("NumPy has none like it")
    assert finding.fixes == ()
