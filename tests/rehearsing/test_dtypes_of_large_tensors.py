"""What torch refuses for its dtypes is refused, however large the tensors are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
    import torch
    import torch.nn.functional as F
    whole = torch.randint(0, 2, (64, 5, 64, 64))
    real = torch.rand(64, 5, 64, 64, requires_grad=True)
    rows, at = torch.zeros(500), torch.randint(500, (60_000,))
    {call}
    """
REFUSED = [
    "F.cross_entropy(whole, real)",
    "F.cross_entropy(whole, real.detach())",
    "F.log_softmax(whole, 1)",
    "whole.softmax(1)",
    "F.gelu(whole)",
    "F.silu(whole)",
    "torch.std(whole, 1)",
    "F.softplus(whole)",
    "F.glu(whole, 3)",
    "F.binary_cross_entropy(real, whole.double())",
    "1 - whole.bool()",
    "whole.bool().argmax(1)",
    "F.relu(whole.bool())",
    "rows.index_add_(0, at, at)",
    "rows.index_add(0, at, at)",
    "rows.index_copy_(0, at, at)",
    "rows.index_reduce_(0, at, at, 'mean')",
    "rows.put_(at, at)",
    "rows.index_put_((at,), at)",
    "rows[at] = at",
    "rows[at] = torch.tensor(3)",
    "rows[rows < 1] = torch.arange(500)",
]
TAKEN = [
    "F.cross_entropy(real, whole[:, 0])",
    "F.mse_loss(real, whole.double())",
    "torch.sqrt(whole)",
    "whole.sum(1)",
    "whole.float().softmax(1)",
    "whole.sigmoid()",
    "whole.bool().any(1)",
    "rows[10:20] = torch.arange(10)",
    "rows[at] = 3",
    "rows[rows < 1] = torch.tensor(3)",
    "rows.index_add_(0, at, at.float())",
    "rows.scatter_(0, at, 1)",
    "real.masked_fill(whole.bool(), 0.0)",
    "1 - whole",
    "whole.unique()",
    "real.unique(return_counts=True)[1].float().mean()",
    "torch.unique(real, dim=0, return_inverse=True)[1] + torch.zeros(64)",
]


@pytest.mark.parametrize("call", REFUSED)
def test_what_torch_refuses_is_refused(call: str, tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, SCRIPT.format(call=call)).findings
    codes = [finding.code for finding in findings if finding.code != "loss-input"]
    assert codes == ["dtype-mismatch"]  # behind it, of a loss of integers


@pytest.mark.parametrize("call", TAKEN)
def test_what_torch_takes_is_taken(call: str, tmp_path: Path) -> None:
    assert rehearsed(tmp_path, SCRIPT.format(call=call)).findings == ()
