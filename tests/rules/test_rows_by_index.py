"""`scatter_add` by an index that is one column, expanded: the CPU adds whole rows."""

from __future__ import annotations

import pytest
import torch

import shapewright as sw


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("width", [4, 15, 16, 40])
@pytest.mark.parametrize("expanded", [True, False])
def test_what_torch_refuses_is_refused(
    dtype: torch.dtype, width: int, expanded: bool
) -> None:
    def add(rows: torch.Tensor) -> torch.Tensor:
        index = torch.zeros(6, dtype=dtype).unsqueeze(-1).expand(6, width)
        index = index if expanded else index.contiguous()
        return torch.zeros(4, width).scatter_add_(0, index, rows)

    rows = torch.randn(6, width)
    try:
        add(rows)
        refused = False
    except RuntimeError:
        refused = True
    report = sw.check(add, rows)
    assert any(f.severity == "error" for f in report.findings) == refused
