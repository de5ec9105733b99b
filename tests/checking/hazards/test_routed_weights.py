"""Weights of a softmax that are summed along another dim: wrong, but for the routing of
capsules, whose logits get the agreement of inputs and outputs in each turn.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from checking.hazards import HEAD, program, warned
from shapewright import api

ROUTED = {
    "a new tensor in each turn but the last": """
        logits = torch.zeros(votes.shape[:3])
        for turn in range(3):
            shares = F.softmax(logits, dim=2).unsqueeze(-1)  # here
            out = (shares * votes).sum(dim=1)
            if turn < 2:
                logits = logits + (votes * out.unsqueeze(1)).sum(-1)
        return out""",
    "in place": """
        logits = torch.zeros(votes.shape[:3])
        for turn in range(2):
            shares = F.softmax(logits, dim=2)  # here
            out = torch.tanh((shares.unsqueeze(-1) * votes).sum(dim=1))
            logits += (votes * out.unsqueeze(1)).sum(-1)
        return out""",
    "an agreement of detached votes": """
        logits = torch.zeros(votes.shape[:3])
        for turn in range(2):
            shares = logits.softmax(2)  # here
            out = F.normalize((shares.unsqueeze(-1) * votes).sum(dim=1), dim=-1)
            agreement = (votes.detach() * out.unsqueeze(1)).sum(-1)
            logits = agreement + logits
        return out""",
}
ATTENTION = """x:
        scores = torch.matmul(self.q(x), self.k(x).transpose(1, 2))
        scores = scores + self.bias
        weights = F.softmax(scores, dim=1)  # here
        return weights @ self.v(x)"""
LAYERS = """\
self.q, self.k, self.v = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6)
self.bias = nn.Parameter(torch.zeros(7, 7))"""


SCRIPT = """
class Capsules(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(1, 10, 3, 6, 4))

    def forward(self, u):
        votes = {votes}{body}


model = Capsules()
optimizer = torch.optim.Adam(model.parameters())
data = TensorDataset(torch.randn(12, 10, {width}), torch.randint(0, 3, (12,)))
for u, target in DataLoader(data, batch_size=4):
    out = model(u)
    is_class = F.one_hot(target, out.size(1)).float()
    length = out.norm(dim=-1)
    (is_class * F.relu(0.9 - length) ** 2).sum(dim=1).mean().backward()
    optimizer.step()
"""
LOADERS = "from torch.utils.data import DataLoader, TensorDataset\n"


LEARNED = {"votes": "(self.w @ u[:, :, None, :, None]).squeeze(-1)", "width": "4"}
OF_DATA = {"votes": "self.w.mean() * u", "width": "3, 6"}


def list_codes(folder: Path, body: str, votes: dict[str, str]) -> list[str]:
    file = folder / "run.py"
    file.write_text(HEAD + LOADERS + SCRIPT.format(body=body, **votes))
    return [finding.code for finding in api.rehearse_script(str(file)).findings]


@pytest.mark.parametrize("votes", [LEARNED, OF_DATA], ids=["learned", "of data"])
@pytest.mark.parametrize("body", ROUTED.values(), ids=ROUTED)
def test_routing_normalises_over_the_outputs(
    body: str, votes: dict[str, str], tmp_path: Path
) -> None:
    assert "wrong-axis" not in list_codes(tmp_path, body, votes)


def test_shares_that_nothing_is_added_to_are_weights(tmp_path: Path) -> None:
    body = """
        logits = votes.sum(-1)
        shares = F.softmax(logits, dim=2).unsqueeze(-1)
        return (shares * votes).sum(dim=1)"""
    assert "wrong-axis" in list_codes(tmp_path, body, OF_DATA)


def test_scores_with_a_bias_are_no_routing(tmp_path: Path) -> None:
    text = program(LAYERS, ATTENTION, "torch.randn(3, 7, 6)")
    assert [said for said in warned(tmp_path, text) if "wrong-axis" in said]


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize(
    "call", ["multinomial(weights, {}, True)", "topk(weights, {})[1]"]
)
def test_components_that_are_drawn_are_gathered(
    call: str, count: int, tmp_path: Path
) -> None:
    body = f"""x:
        weights, means = self.w(x).softmax(-1), self.m(x)
        chosen = torch.{call.format(count)}
        return means.gather(1, chosen)"""
    build = "self.w, self.m = nn.Linear(6, 4), nn.Linear(6, 4)"
    text = program(build, body, "torch.randn(32, 6)")
    assert not [said for said in warned(tmp_path, text) if "wrong-axis" in said]
