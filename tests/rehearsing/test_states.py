"""States that are kept for later: those that follow the model, and copies."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

TRAINING = """\
import copy
import io
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.rand(40, 2), torch.rand(40, 1))
loader = DataLoader(data, 8)
model = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
other = copy.deepcopy(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
best, kept = float("inf"), None
for epoch in range(5):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    if loss.item() < best:
        best = loss.item()
KEEP
LOAD
"""


def told(folder: Path, keep: str, load: str) -> list[tuple[str, str]]:
    """Codes, and the text at which something is found."""
    text = TRAINING.replace("KEEP", indent(keep, "        "))
    text = text.replace("LOAD", dedent(load))
    report = rehearsed(folder, text)
    assert report.complete
    lines = text.splitlines()
    return [
        (found.code, lines[found.span.line - 1].strip() if found.span else "")
        for found in report.findings
    ]


@pytest.mark.parametrize(
    "keep",
    [
        "kept = model.state_dict()",
        "kept = dict(model.state_dict())",
        "kept = {n: value.cpu() for n, value in model.state_dict().items()}",
        "kept = model.state_dict().copy()",
    ],
)
def test_a_state_that_follows_the_model_is_found_where_it_is_kept(
    tmp_path: Path, keep: str
) -> None:
    found = told(tmp_path, keep, "model.load_state_dict(kept)")
    assert found == [("state-not-copied", keep)]


@pytest.mark.parametrize(
    "keep",
    [
        "kept = copy.deepcopy(model.state_dict())",
        "kept = {n: value.clone() for n, value in model.state_dict().items()}",
        "kept = {n: v.detach().cpu().clone() for n, v in model.state_dict().items()}",
        "kept = io.BytesIO(); torch.save(model.state_dict(), kept); kept.seek(0); "
        "kept = torch.load(kept)",
        "kept = copy.deepcopy(model).state_dict()",
        "other.load_state_dict(model.state_dict()); kept = other.state_dict()",
    ],
)
def test_a_copy_is_right(tmp_path: Path, keep: str) -> None:
    assert told(tmp_path, keep, "model.load_state_dict(kept)") == []


@pytest.mark.parametrize(
    "load",
    [
        "model.load_state_dict(model.state_dict())",
        """\
        state = model.state_dict()
        state.update({"0.weight": torch.zeros(8, 2)})
        model.load_state_dict(state)
        """,
        """\
        kept["0.weight"] = kept["0.weight"].clamp(-1, 1)
        model.load_state_dict(kept)
        """,
        "other.load_state_dict(kept)",
        "torch.save(kept, 'last.pt')",
        "model.load_state_dict(model.state_dict(keep_vars=True))",
    ],
)
def test_a_state_of_now_is_right(tmp_path: Path, load: str) -> None:
    assert told(tmp_path, "kept = model.state_dict()", load) == []


def test_a_state_before_training_that_is_loaded_before_it_is_right(
    tmp_path: Path,
) -> None:
    found = rehearsed(
        tmp_path,
        """\
        import torch
        from torch import nn

        x, y = torch.rand(20, 2), torch.rand(20, 1)
        for fold in range(3):
            model = nn.Linear(2, 1)
            model.load_state_dict(model.state_dict())
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(4):
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
        """,
    )
    assert [each.message for each in found.findings] == []


UNMET = """\
import copy
import torch
from torch import nn

x, y = torch.rand(40, 2), torch.rand(40, 1)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
best_score, best = 1e9, None


@torch.no_grad()
def score(model):
    return (model(x) > 0).float().mean().item()


for epoch in range(5):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    if score(model) > best_score:
        best_score = score(model)
        best = KEEP
ENDS
if best is not None:
    model.load_state_dict(best)
"""


@pytest.mark.parametrize(
    ("keep", "ends", "count"),
    [
        ("model.state_dict()", "", 1),
        ("copy.deepcopy(model.state_dict())", "", 0),
        ("{k: v.clone() for k, v in model.state_dict().items()}", "", 0),
        ("model.state_dict()", "        break", 0),
        ("dict(model.state_dict())", "", 1),
        ("model.state_dict().copy()", "", 1),
    ],
)
def test_a_state_is_kept_where_the_run_does_not_come(
    tmp_path: Path, keep: str, ends: str, count: int
) -> None:
    report = rehearsed(tmp_path, UNMET.replace("KEEP", keep).replace("ENDS", ends))
    codes = [finding.code for finding in report.findings]
    assert codes.count("state-not-copied") == count


IN_FUNCTIONS = """\
import copy
import torch
from torch import nn

x, y = torch.rand(40, 2), torch.rand(40, 1)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train():
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()


best_score, best = 1e9, None
for epoch in range(5):
    train()
    score = (model(x) > 0).float().mean().item()
    if score > best_score:
        best_score, best = score, KEEP
if best is not None:
    model.load_state_dict(best)
"""


@pytest.mark.parametrize(
    ("keep", "codes"),
    [
        ("model.state_dict()", ["state-not-copied"]),
        ("copy.deepcopy(model.state_dict())", []),
        ("model.state_dict()  # saved", ["state-not-copied"]),
    ],
)
def test_a_state_beside_its_score_in_a_loop_of_functions(
    keep: str, codes: list[str], tmp_path: Path
) -> None:
    text = IN_FUNCTIONS.replace("KEEP", keep)
    if "saved" in keep:
        text = text.replace(
            "model.load_state_dict(best)", "torch.save(best, 'best.pt')"
        )
    report = rehearsed(tmp_path, text)
    assert [finding.code for finding in report.findings] == codes
