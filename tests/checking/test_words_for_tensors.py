"""The words of a finding for the tensors of a call are those of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright import api

PROGRAMS = {
    "a method, lines below": (
        "x = torch.randn(8, 5)\n    (x\n        .t()\n        .view(3))",
        "`x.t()` (5, 8)",
    ),
    "a layer inside a container": (
        "x = torch.randn(8, 5)\n"
        "    nn.Sequential(nn.Linear(5, 6), nn.Conv1d(7, 2, 1))(x)",
        "got 8 in dim 0 of the input (8, 6)",
    ),
    "what is written": (
        "x, i, v = torch.randn(8, 5), torch.tensor([1, 2, 3]), torch.randn(4)\n"
        "    x[i] = v",
        "`[]=` writes into a part (3, 5) of `x` (8, 5), but `v` is (4,): 4 into 5",
    ),
    "what is written behind a slice": (
        "x, i, v = torch.randn(8, 5), torch.tensor([1, 2, 3]), torch.randn(4)\n"
        "    x[:, i] = v",
        "`[]=` writes into a part (8, 3) of `x` (8, 5), but `v` is (4,): 4 into 3",
    ),
    "keywords out of order": (
        "x, v = torch.randn(8, 5), torch.randn(4)\n"
        "    torch.matmul(other=x, input=v)",
        "`v` (4,)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_words_are_the_programs(name: str, tmp_path: Path) -> None:
    lines, words = PROGRAMS[name]
    file = tmp_path / "program.py"
    file.write_text(
        f"import torch\nfrom torch import nn\n\n\ndef run():\n    {lines}\n"
    )
    findings = api.check_target(f"{file}:run", "").findings
    assert words in findings[0].message
