"""A script that makes its data itself is warned of as its model would be."""

from __future__ import annotations

from pathlib import Path

import pytest

from checking.hazards import HEAD
from shapewright import api

CAPSULES = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.W = nn.Parameter(0.05 * torch.randn(1, 10, 36, 8, 4))

    def forward(self, u):
        votes = torch.matmul(self.W, u[:, None, :, :, None]).squeeze(4)
        logits = torch.zeros(*votes.shape[:3], 1, device=u.device)
        for _ in range(2):
            weights = logits.softmax(dim=1)
            out = (weights * votes).sum(dim=2)
            logits = logits + torch.matmul(votes, out.unsqueeze(-1))
        return out


Model()(torch.rand(3, 36, 4))
"""
POSE = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 8, 3), nn.Linear(8, 4)

    def forward(self, frame):
        features = self.conv(frame).amax((2, 3), keepdim=True)
        return self.fc(features.squeeze())


Model()(torch.rand(1, 3, 24, 32))
"""
MASK = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 6)

    def forward(self, x, scale):
        scores = self.fc(x) @ x.transpose(1, 2) * scale
        mask = torch.full(scores.shape[1:], float("-inf")).triu(1)
        return (scores + mask).softmax(dim=-1) @ x


out = Model()(torch.randn(3, 5, 6), torch.full((3, 1, 1), 0.5))
loss = F.mse_loss(out, torch.zeros(3, 5, 6))
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CAPSULES, []),
        (POSE, [("warning", "lost-batch")]),
        (MASK, [("note", "cpu-tensor")]),
    ],
    ids=["parameters are no data", "one sample", "a tensor of forward"],
)
def test_what_a_script_is_warned_of(
    text: str, said: list[tuple[str, str]], tmp_path: Path
) -> None:
    file = tmp_path / "run.py"
    file.write_text(HEAD + text)
    found = api.check_target(str(file)).findings
    assert [(each.severity, each.code) for each in found] == said
